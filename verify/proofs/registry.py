"""All proofs by name, found in the modules of this folder."""

import importlib
import pkgutil
from functools import lru_cache

from cdma.verify import proofs
from cdma.verify.proofs.proof import Proof


@lru_cache
def registry() -> dict[str, Proof]:
    """All proofs by full name, ``kit/name``, sorted by name.

    Raises
    ------
    ValueError
        When two proofs of a kit have the same name.
    """
    found = {}
    for module in pkgutil.walk_packages(proofs.__path__, f"{proofs.__name__}."):
        kit, *rest = module.name.removeprefix(f"{proofs.__name__}.").split(".")
        if not rest:
            continue
        for proof in getattr(importlib.import_module(module.name), "PROOFS", ()):
            name = f"{kit}/{proof.name}"
            if name in found:
                raise ValueError(f"Two proofs have the name {name!r}: each needs its own name")
            found[name] = proof
    return dict(sorted(found.items()))


def name_of(component) -> str:
    """Name of a component in reports."""
    return component.__name__


def chosen(components: list[str]) -> dict[str, Proof]:
    """Proofs selected by component, by proof name or by kit. Without a selection, all proofs.

    Raises
    ------
    ValueError
        When no component, proof or kit has the name.
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
            raise ValueError(
                f"Component must be the name of a component, proof or kit, not {wanted!r}"
            )
        found |= about
    return dict(sorted(found.items()))
