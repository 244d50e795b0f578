"""A proof: what is promised of which components, at which sizes, and what it must refute."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Elaboratable

from cdma.verify.formal import prover
from cdma.verify.formal.fault import Fault
from cdma.verify.formal.prover import BOUNDED, INDUCTION, MODES, PDR, Verdict

__all__ = ["BOUNDED", "INDUCTION", "PDR", "Broken", "Proof", "faults", "named", "swapped"]


@dataclass(frozen=True)
class Broken:
    """A design that breaks the promise: with a fault in it, or with a component swapped.

    Parameters
    ----------
    name : str
        What is wrong.
    cycles : int
        Cycles after reset within which the promise is broken.
    size : object
        Size of the design, of the proof's kind.
    fault : Fault or None
        What is forced in the design of that size.
    design : callable or None
        Makes the design with a component swapped, instead.
    """

    name: str
    cycles: int
    size: Any = None
    fault: Fault | None = None
    design: Callable[[], Elaboratable] | None = None


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A promise about components, and how it is proven.

    Parameters
    ----------
    name : str
        Short name, one of its kit.
    promise : str
        What is promised, a sentence.
    components : tuple
        Classes of the components that it is about; functions where it is about these.
    parts : tuple
        Classes of components inside that have no proof of their own: the invariants of this one,
        an induction, say what they hold and do.
    design : callable
        Makes the design to prove from a size.
    sizes : mapping
        Each size that is proven, by its name.
    slow : tuple of str
        Names of the sizes that take long.
    mode : str
        One of :data:`cdma.verify.formal.prover.MODES`.
    depth : int
        Cycles, see :func:`cdma.verify.formal.prover.prove`.
    broken : tuple of Broken
        What has to be refuted.
    """

    name: str
    promise: str
    components: tuple[Any, ...]
    parts: tuple[type, ...] = ()
    design: Callable[[Any], Elaboratable]
    sizes: Mapping[str, Any]
    slow: tuple[str, ...] = ()
    mode: str = INDUCTION
    depth: int = 1
    broken: tuple[Broken, ...]

    def __post_init__(self):
        if self.mode not in MODES:
            raise ValueError(f"Mode must be one of {', '.join(MODES)}, not {self.mode!r}")
        unknown = set(self.slow) - set(self.sizes)
        if unknown:
            raise ValueError(f"Slow sizes must be among the sizes, not {', '.join(unknown)}")

    def make(self, size: str) -> Elaboratable:
        """Make the design of a size."""
        return self.design(self.sizes[size])

    def prove(self, size: str, **options) -> Verdict:
        """Prove the promise at a size; ``options`` see :func:`cdma.verify.formal.prover.prove`."""
        return prover.prove(self.make(size), self.depth, mode=self.mode, **options)

    def refute(self, broken: Broken, **options) -> Verdict:
        """Look for what a broken design breaks."""
        design = broken.design() if broken.design else self.design(broken.size)
        return prover.prove(design, broken.cycles, mode=BOUNDED, fault=broken.fault, **options)


def named(*configs) -> dict[str, Any]:
    """Sizes by their configurations' names."""
    return {config.name: config for config in configs}


def faults(size, cycles: int, *forced: Fault) -> tuple[Broken, ...]:
    """Designs of one size, each with one signal forced."""
    return tuple(Broken(str(fault), cycles, size, fault) for fault in forced)


def swapped(cycles: int, designs: Mapping[str, Callable[[], Elaboratable]]) -> tuple[Broken, ...]:
    """Designs with a component swapped, by what is wrong with it."""
    return tuple(Broken(name, cycles, design=design) for name, design in designs.items())
