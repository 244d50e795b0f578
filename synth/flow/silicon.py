"""An engine's area in 28 nm, from its area in 45 nm cells and the bits of its memories.

The paper gives 1.5 mm2 in 28 nm for eight engines and their buffer. Nangate45 is the process of our
figures, and there is no open library of 28 nm. So this is an estimate, with its assumptions here.
"""

from collections.abc import Mapping

#: Logic shrinks with the square of the feature size: no other process is that kind to a design.
LOGIC_SCALE = (28 / 45) ** 2
#: Area of a bit in um2: the 6T cell of TSMC's 28 nm HP, as Chipworks measured it in an AMD Radeon
#: HD 7970 ("A review of TSMC 28 nm process technology", 2012).
BIT_UM2 = 0.16
#: Part of a small memory's area that is bits; the rest is decoders, sense amplifiers and drivers.
#: An assumption: a compiler of memories knows it.
BIT_SHARE = 0.5
#: The paper's area in mm2, and the target.
PAPER_MM2, TARGET_MM2 = 1.5, 0.6


def areas(figures: Mapping) -> dict:
    """Estimated area of an engine in 28 nm.

    Parameters
    ----------
    figures : mapping
        ``area_um2`` in 45 nm cells, and ``ram_bits``.

    Returns
    -------
    dict
        ``logic``, ``bits`` (their cells alone), ``ram`` (with what surrounds them) and ``all``:
        logic and RAM. In mm2.
    """
    logic = figures["area_um2"] * LOGIC_SCALE / 1e6
    bits = figures["ram_bits"] * BIT_UM2 / 1e6
    ram = bits / BIT_SHARE
    return {"logic": logic, "bits": bits, "ram": ram, "all": logic + ram}
