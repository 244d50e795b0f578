"""A proof into which mutants of a component are inserted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Elaboratable

from cdma.hdl.codecs import UnitConfig
from cdma.verify.formal import prover
from cdma.verify.proofs.registry import registry


@dataclass(frozen=True)
class Bench:
    """The proof for the mutants of one component.

    Parameters
    ----------
    proof : str
        Name of the proof in the registry.
    size : callable
        Gives the size of the proof for a configuration of the unit.
    cycles : int
        Bound of the search for a violation, in cycles.
    design : callable or None
        Makes the design for a configuration. By default, the design of the proof.
    seconds : int
        Time limit of the full proof, if it is one by ABC.
    has_merged : bool
        In the unit, some cells of the component are merged with equal ones of its neighbours. The
        mutants of such cells stay open.
    """

    proof: str
    size: Callable[[UnitConfig], Any] = lambda config: config
    cycles: int = 8
    design: Callable[[UnitConfig], Elaboratable] | None = None
    seconds: int = prover.PDR_SECONDS
    has_merged: bool = False

    def make(self, config: UnitConfig) -> Elaboratable:
        """Make the design for a configuration."""
        if self.design:
            return self.design(config)
        return registry()[self.proof].design(self.size(config))
