"""Netlists of Yosys: cells counted by rules, and what nextpnr reports about one."""

import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from cdma.errors import UserError


@dataclass(frozen=True)
class Area:
    """Cells of a unit on an FPGA.

    Parameters
    ----------
    luts : int
        LUTs, with those that carry chains and LUT RAM occupy.
    flip_flops, carries, lut_rams, block_rams : int
        Cells of these kinds.
    """

    luts: int
    flip_flops: int
    carries: int
    lut_rams: int
    block_rams: int


@dataclass(frozen=True)
class Rules:
    """Cell types of an FPGA family.

    Parameters
    ----------
    luts : mapping of str to int
        LUTs that a cell of a type occupies. A type that is in no rule is an error.
    flip_flops, carries, lut_rams, block_rams : collection of str
        Types of these kinds. Flip-flops and block RAM occupy no LUT.
    """

    luts: Mapping[str, int]
    flip_flops: Collection[str]
    carries: Collection[str]
    lut_rams: Collection[str]
    block_rams: Collection[str]

    def area(self, cells: Mapping[str, int]) -> Area:
        """Area of a netlist, from the number of cells by type. ValueError for an unknown type."""
        known = {*self.luts, *self.flip_flops, *self.block_rams}
        if unknown := sorted(set(cells) - known):
            raise ValueError(f"Cells must be of {sorted(known)}, not {unknown[0]!r}")
        kinds = (self.flip_flops, self.carries, self.lut_rams, self.block_rams)
        return Area(
            sum(self.luts.get(cell, 0) * count for cell, count in cells.items()),
            *(sum(cells.get(cell, 0) for cell in kind) for kind in kinds),
        )


def cells_of(netlist: str, top: str) -> Counter:
    """Number of cells by type in the module ``top`` of a netlist that Yosys wrote as JSON."""
    module = json.loads(netlist)["modules"][top]
    return Counter(cell["type"] for cell in module["cells"].values())


def ports_of(netlist: str, top: str) -> dict[str, tuple[str, int]]:
    """Direction and bits of each port of the module ``top`` of the same netlist."""
    module = json.loads(netlist)["modules"][top]
    return {name: (port["direction"], len(port["bits"])) for name, port in module["ports"].items()}


@dataclass(frozen=True)
class Netlist:
    """A unit after synthesis.

    Parameters
    ----------
    area : dataclass
        Its cells by kind.
    harnessed : str, optional
        Netlist of unit and harness for nextpnr. ``None`` where nothing is placed.
    """

    area: Any
    harnessed: str | None


def clock_of(label: str, report: str) -> float:
    """Highest clock in MHz, from the report of nextpnr. UserError unless it has one clock."""
    clocks = json.loads(report)["fmax"]
    if len(clocks) != 1:
        raise UserError(f"{label}: expected one clock, nextpnr found {sorted(clocks)}")
    return next(iter(clocks.values()))["achieved"]
