"""The ``formal`` fixture: proofs about the hardware, and what must not be proven."""

import inspect
import sys
import types

import pytest

from cdma.sim import formal as engine


class Formal:
    """Proves as the test's mark says, and refutes what is broken."""

    def __init__(self, mark, record):
        self._mark = mark
        self._record = record

    def __call__(self, design, **options):
        """All promises of a design hold, and all that it must be able to do is possible."""
        verdict = engine.prove(design, **self._how(), **options)
        self._record("seconds", verdict.seconds)
        assert verdict.outcome == "proven", verdict

    def refutes(self, design, depth: int | None = None):
        """A design's promises do not hold."""
        how = {"depth": depth or self._how()["depth"], "by_induction": False}
        verdict = engine.prove(design, **how)
        assert verdict.outcome == "refuted", verdict

    def _how(self):
        is_induction = "induction" in self._mark.kwargs
        depth = self._mark.kwargs["induction" if is_induction else "bounded"]
        return {"depth": depth, "by_induction": is_induction}


@pytest.fixture
def formal(request, record_property):
    """Function that proves a design by its test's mark ``proof``; see :class:`Formal`."""
    return Formal(request.node.get_closest_marker("proof"), record_property)


@pytest.fixture(scope="session")
def mutated():
    """Function that gives a component of ``cdma.hdl`` with a text in its module replaced."""

    def mutate(component: type, old: str, new: str) -> type:
        module = sys.modules[component.__module__]
        source = inspect.getsource(module)
        assert source.count(old) == 1, f"{old!r} is {source.count(old)} times in {module.__name__}"
        mutant = types.ModuleType(f"{module.__name__}_mutant")
        code = compile(source.replace(old, new), f"{module.__file__} with {new!r}", "exec")
        exec(code, mutant.__dict__)
        return getattr(mutant, component.__name__)

    return mutate
