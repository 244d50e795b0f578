"""Records of a report: the measured figures of a unit, and ratios of these figures."""

import statistics
from collections.abc import Sequence


def record(
    unit: str,
    config: str,
    lanes: int,
    word_bits: int,
    lattice: dict | None,
    silicon: dict | None,
    latency_cycles: int | None = None,
    **others: dict | None,
) -> dict:
    """Record of a unit: its size, and its figures in each technology or ``None``.

    Parameters
    ----------
    unit, config : str
        Names of the unit and of its configuration.
    lanes, word_bits : int
        Words in a beat, bits in a word.
    lattice : dict, optional
        :func:`ecp5_figures`.
    silicon : dict, optional
        ``library``, its name, and :func:`asic_figures` under the name of each script of ABC.
    latency_cycles : int, optional
        Documented latency.
    **others : dict, optional
        :func:`fpga_figures` under the name of each other FPGA.
    """
    return {
        "unit": unit,
        "config": config,
        "lanes": lanes,
        "word_bits": word_bits,
        "bytes_per_cycle": bytes_per_cycle(lanes, word_bits),
        "latency_cycles": latency_cycles,
        "ecp5": lattice,
        "asic": silicon,
        **others,
    }


def bytes_per_cycle(lanes: int, word_bits: int) -> int:
    """Bytes of uncompressed words in a beat."""
    return lanes * word_bits // 8


def ecp5_figures(width: int, cells: dict[str, int], clocks: Sequence[float]) -> dict:
    """:func:`fpga_figures` on ECP5, whose ``cells`` have ``lut4``, with the speed per LUT."""
    figures = fpga_figures(width, cells, clocks)
    speed, lut4 = figures["gb_per_s"], cells["lut4"]
    return figures | {"gb_per_s_per_klut": speed / (lut4 / 1e3) if speed and lut4 else None}


def fpga_figures(width: int, cells: dict[str, int], clocks: Sequence[float]) -> dict:
    """Figures on an FPGA. Without a clock, figures that depend on the clock are ``None``.

    Parameters
    ----------
    width : int
        Bytes per cycle.
    cells : dict of int
        Numbers of cells by kind.
    clocks : sequence of float
        Clock in MHz of each run of place-and-route.
    """
    median = statistics.median(clocks) if clocks else None
    speed = width * median / 1e3 if clocks else None
    return {
        **cells,
        "fmax_mhz": median,
        "fmax_mhz_min": min(clocks, default=None),
        "fmax_mhz_max": max(clocks, default=None),
        "seeds": len(clocks),
        "gb_per_s": speed,
    }


def asic_figures(
    width: int, area: float, storage: float | None, critical_ns: float | None, nand2_area: float
) -> dict:
    """Figures in standard cells. Figures that depend on an unknown figure are ``None``.

    Parameters
    ----------
    width : int
        Bytes per cycle.
    area : float
        Area in um2.
    storage : float, optional
        Area of the flip-flops in um2.
    critical_ns : float, optional
        Shortest period in ns.
    nand2_area : float
        Area in um2 of a gate equivalent.
    """
    speed = width / critical_ns if critical_ns else None
    return {
        "area_um2": area,
        "kge": area / nand2_area / 1e3,
        "logic_um2": None if storage is None else area - storage,
        "storage_um2": storage,
        "critical_ns": critical_ns,
        "gb_per_s": speed,
        "gb_per_s_per_mm2": speed / (area / 1e6) if speed else None,
    }
