"""All proofs, by name: found in the modules of this folder."""

import importlib
import pkgutil
from functools import lru_cache

from cdma.verify import proofs
from cdma.verify.proofs.proof import Proof


@lru_cache
def registry() -> dict[str, Proof]:
    """Give every proof by its full name, ``kit/name``, in the order of the names.

    Raises
    ------
    ValueError
        When two of a kit have one name.
    """
    found = {}
    for module in pkgutil.walk_packages(proofs.__path__, f"{proofs.__name__}."):
        kit, *rest = module.name.removeprefix(f"{proofs.__name__}.").split(".")
        if not rest:
            continue
        for proof in getattr(importlib.import_module(module.name), "PROOFS", ()):
            name = f"{kit}/{proof.name}"
            if name in found:
                raise ValueError(f"Proof's name must be its own, not {name!r} twice")
            found[name] = proof
    return dict(sorted(found.items()))


def name_of(component) -> str:
    """What a report calls a component."""
    return component.__name__


def chosen(components: list[str]) -> dict[str, Proof]:
    """Proofs about any of the components, or of that name or kit; all where none is given.

    Raises
    ------
    ValueError
        When nothing has that name.
    """
    if not components:
        return registry()
    found = {}
    for wanted in components:
        about = {
            name: proof
            for name, proof in registry().items()
            if wanted in (name, name.partition("/")[0])
            or wanted in map(name_of, (*proof.components, *proof.parts))
        }
        if not about:
            raise ValueError(f"Component must be one that proofs are about, not {wanted!r}")
        found |= about
    return dict(sorted(found.items()))
