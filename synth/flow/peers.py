"""Open hardware units with a part of the same function, measured with the flow of this folder.

Yosys 0.70, three seeds of nextpnr, Nangate45 typical. No unit computes masks, forms blocks,
packs and unpacks: the units are not equivalent to ours.
"""

from dataclasses import dataclass

from cdma.synth.flow.figures import asic_figures, bytes_per_cycle, ecp5_figures, record

#: One gate equivalent of Nangate45 in um2: the area of NAND2_X1.
NANGATE45_NAND2 = 0.798


@dataclass(frozen=True)
class Peer:
    """Figures of one unit.

    Parameters
    ----------
    name, source : str
        Name, and address of the source ("" for a unit that was written for the comparison).
    lanes, word_bits : int
        Words in a beat, bits in a word.
    lut4, flip_flops : int
        ECP5 area.
    fmax_mhz : float
        ECP5 clock, median of the seeds.
    area_um2, critical_ns : float
        Nangate45 area, and shortest period without wires, with ABC's default script.
    does : str
        Function of the unit.
    """

    name: str
    source: str
    lanes: int
    word_bits: int
    lut4: int
    flip_flops: int
    fmax_mhz: float
    area_um2: float
    critical_ns: float
    does: str

    def record(self) -> dict:
        """Figures as a record of a report."""
        width = bytes_per_cycle(self.lanes, self.word_bits)
        cells = {"lut4": self.lut4, "flip_flops": self.flip_flops}
        mapped = asic_figures(width, self.area_um2, None, self.critical_ns, NANGATE45_NAND2)
        return record(
            self.name,
            f"{self.lanes}x{self.word_bits}",
            self.lanes,
            self.word_bits,
            ecp5_figures(width, cells, [self.fmax_mhz]),
            {"library": "NangateOpenCellLibrary", "abc": mapped},
        )


_EBPC = "https://github.com/pulp-platform/stream-ebpc"
_NVDLA = "https://github.com/nvdla/hw"
_ZIPCPU = "https://github.com/ZipCPU/wb2axip"
_STREAM_PACKER = "https://github.com/QianfengClarkShen/stream_packer_rtl"

_BIT_PLANE = "zero runs and bit planes; better ratio at 8-bit words"
_EXPAND = "the expanding stage alone, mask given"
_PACK = "drops words by TKEEP; no masks"

PEERS = (
    Peer("stream-ebpc encoder", _EBPC, 1, 8, 737, 273, 126, 2957, 1.40, _BIT_PLANE),
    Peer("stream-ebpc decoder", _EBPC, 1, 8, 1139, 271, 116, 3250, 1.16, _BIT_PLANE),
    Peer("stream-ebpc encoder", _EBPC, 1, 16, 1582, 735, 79, 7670, 1.85, _BIT_PLANE),
    Peer("stream-ebpc encoder", _EBPC, 1, 32, 4132, 2421, 26, 23716, 3.59, _BIT_PLANE),
    Peer("NVDLA weight decompressor", _NVDLA, 8, 32, 1651, 856, 265, 7237, 0.61, _EXPAND),
    Peer("NVDLA weight decompressor", _NVDLA, 32, 8, 4071, 1018, 55, 12830, 1.68, _EXPAND),
    Peer("axispacker", _ZIPCPU, 8, 32, 7154, 1658, 95, 19999, 1.52, _PACK),
    Peer("stream_packer_rtl", _STREAM_PACKER, 8, 32, 1837, 819, 203, 12321, 0.73, _PACK),
    Peer(
        *("cellular-automaton collapse", "", 8, 32, 635, 825, 421, 4930, 0.50),
        "collapses a beat; no back-pressure, no packing",
    ),
    Peer("bare skid buffer", "", 8, 32, 586, 583, 316, 4467, 0.39, "one register stage"),
)
