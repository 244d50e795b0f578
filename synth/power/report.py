"""Energy of a unit for a tensor as a record and as a table."""

import sys
from collections.abc import Sequence

import numpy as np

from cdma.errors import UserError
from cdma.hdl.codecs import UnitConfig
from cdma.synth.flow import asic, measure
from cdma.synth.liberty import Liberty
from cdma.synth.power import energy
from cdma.tables import format_table
from cdma.toolchain.steps import Steps


def records(
    units: Sequence[str],
    packets: Sequence[tuple[str, UnitConfig, np.ndarray]],
    library: Liberty,
    steps: Steps,
) -> list[dict]:
    """A :func:`record` of each unit for each packet: name, configuration and words."""
    return [
        {"unit": unit, "tensor": name.rpartition("/")[2]}
        | record(unit, config, words, library, steps)
        for name, config, words in packets
        for unit in units
    ]


def record(
    unit: str, config: UnitConfig, words: np.ndarray, library: Liberty, steps: Steps
) -> dict:
    """Energy and power of a unit while the unit processes words.

    Parameters
    ----------
    unit : str
        ``compressor`` or ``decompressor``.
    config : UnitConfig
        Size of the unit.
    words : np.ndarray
        Words of the uncompressed packet, shape (n,).
    library : Liberty
        Library to map onto.
    steps : Steps
        Runs the tools.

    Raises
    ------
    UserError
        When a tool is missing or fails.
    """
    design = measure.generated(unit, config)
    flow = (steps, design.label, design.top)
    mapped = asic.synthesise(*flow, design.for_cells, library, "abc")
    steps.announce(f"{design.label}: netlist in Icarus Verilog")
    figures = energy.measure(mapped, unit, config, words, library, steps.folder)
    try:
        period = asic.critical_path(*flow, mapped, library, "abc").period_ns
    except UserError as error:
        print(f"{error}; power left out", file=sys.stderr)
    else:
        figures |= energy.at_clock(figures, period)
    density = int((words != 0).sum()) / words.size
    return {"config": config.name, "library": library.name, "density": density, **figures}


def table(records: list[dict], style: str = "text") -> str:
    """Format energies and powers. Two numbers are without and with glitches."""
    rows = []
    for record in records:
        settled, glitches = record["settled"], record["with_glitches"]
        row = {
            "unit": record["unit"],
            "config": record["config"],
            "tensor": record["tensor"],
            "non-zero": f"{record['density']:.0%}",
            "pJ/byte": f"{settled['pj_per_byte']:.2f} .. {glitches['pj_per_byte']:.2f}",
            "clock, storage, logic": ", ".join(
                f"{settled[part]:.0%}" for part in ("clock", "storage", "logic")
            ),
        }
        if "mhz" in record:
            row |= {
                "MHz": f"{record['mhz']:.0f}",
                "mW": f"{record['settled_mw']:.1f} .. {record['with_glitches_mw']:.1f}",
                "idle mW": f"{record['idle_mw']:.1f}",
                "leakage mW": f"{record['leakage_mw']:.2f}",
            }
        rows.append(row)
    headings = list(dict.fromkeys(key for row in rows for key in row))
    return format_table(rows, headings, style)
