"""The figures of a report: their paths in a record, and the direction that is better."""

from collections.abc import Mapping
from dataclasses import dataclass

SMALLER, BIGGER = "smaller", "bigger"
_SIGN = {SMALLER: " (-)", BIGGER: " (+)"}


@dataclass(frozen=True)
class Column:
    """A figure in a table.

    Parameters
    ----------
    path : str
        Path in a record, with keys joined by dots.
    title : str
        Title with the unit of measurement.
    better : "smaller" or "bigger"
    tolerance : float, optional
        Relative change that counts as noise in :mod:`cdma.synth.flow.baseline`. ``None`` for a
        figure that is computed from others and is not compared.
    """

    path: str
    title: str
    better: str
    tolerance: float | None = None

    @property
    def heading(self) -> str:
        """Title and direction."""
        return self.title + _SIGN[self.better]

    def value(self, record: Mapping):
        """The figure in a record, ``None`` if the record does not have the figure."""
        for key in self.path.split("."):
            record = record.get(key) if record else None
        return record


# Mapping gives the same result on every run, but a change without effect on the logic changes the
# area a little, and the critical path by up to a gate. Place-and-route varies by up to 20 % over
# its seeds, the median of eight seeds by about 5 %.
_MAPPED, _TIMED, _PLACED = 0.01, 0.02, 0.05

LATENCY = Column("latency_cycles", "latency cycles", SMALLER, 0.0)
_WIDTH = Column("bytes_per_cycle", "bytes/cycle", BIGGER)

ECP5 = (
    _WIDTH,
    LATENCY,
    Column("ecp5.lut4", "LUT4", SMALLER, _MAPPED),
    Column("ecp5.flip_flops", "FF", SMALLER, _MAPPED),
    Column("ecp5.carries", "carry", SMALLER),
    Column("ecp5.lut_rams", "LUT RAM", SMALLER),
    Column("ecp5.block_rams", "block RAM", SMALLER, 0.0),
    Column("ecp5.multipliers", "multiplier", SMALLER, 0.0),
    Column("ecp5.fmax_mhz", "Fmax MHz", BIGGER, _PLACED),
    Column("ecp5.gb_per_s", "GB/s", BIGGER),
    Column("ecp5.gb_per_s_per_klut", "GB/s per kLUT", BIGGER),
)

#: Columns of the other FPGAs: figures that depend on the clock only where there is one.
OTHERS = {
    name: (
        _WIDTH,
        LATENCY,
        Column(f"{name}.luts", luts, SMALLER, _MAPPED),
        Column(f"{name}.flip_flops", "FF", SMALLER, _MAPPED),
        Column(f"{name}.carries", "carry", SMALLER),
        Column(f"{name}.lut_rams", "LUT RAM", SMALLER),
        Column(f"{name}.block_rams", "block RAM", SMALLER, 0.0),
        *clock,
    )
    for name, luts, clock in (
        ("xilinx", "LUT6", ()),
        (
            "gowin",
            "LUT4",
            (
                Column("gowin.fmax_mhz", "Fmax MHz", BIGGER, _PLACED),
                Column("gowin.gb_per_s", "GB/s", BIGGER),
            ),
        ),
    )
}


def asic_columns(flow: str) -> tuple[Column, ...]:
    """Columns of the figures in standard cells, mapped with one script of ABC."""
    return (
        _WIDTH,
        LATENCY,
        Column(f"asic.{flow}.area_um2", "area um2", SMALLER, _MAPPED),
        Column(f"asic.{flow}.kge", "kGE", SMALLER),
        Column(f"asic.{flow}.logic_um2", "logic um2", SMALLER),
        Column(f"asic.{flow}.storage_um2", "storage um2", SMALLER),
        Column(f"asic.{flow}.critical_ns", "critical ns", SMALLER, _TIMED),
        Column(f"asic.{flow}.gb_per_s", "GB/s", BIGGER),
        Column(f"asic.{flow}.gb_per_s_per_mm2", "GB/s per mm2", BIGGER, _MAPPED + _TIMED),
    )


FLOW_TITLES = {"abc": "ABC's own script", "tuned": "tuned script"}


def every_column() -> list[tuple[str, Column]]:
    """All columns, each with the name of its technology or ``""``."""
    groups = [("", (LATENCY, _WIDTH)), ("ECP5", ECP5[2:])]
    groups += [(name, columns[2:]) for name, columns in OTHERS.items()]
    groups += [(f"cells, {title}", asic_columns(flow)[2:]) for flow, title in FLOW_TITLES.items()]
    return [(name, column) for name, columns in groups for column in columns]


def column_at(path: str) -> Column:
    """The column with this path."""
    return next(column for _, column in every_column() if column.path == path)
