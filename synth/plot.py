"""Area, clock and bytes per second against lanes, with the peers beside."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from cdma.errors import require
from cdma.files import replacing
from cdma.synth.columns import ECP5, Column, column_at
from cdma.synth.peers import PEERS

#: A row of panels for each technology.
PANELS = (
    ("ecp5.lut4", "ecp5.fmax_mhz", "ecp5.gb_per_s"),
    ("asic.abc.area_um2", "asic.abc.critical_ns", "asic.abc.gb_per_s"),
)


def draw(records: Sequence[Mapping], folder: Path) -> list[Path]:
    """Write ``area-fmax.png`` and ``area-fmax.svg`` and give their paths.

    One line for each unit and word width; panels for area and speed in each technology that the
    records have figures in, with the peers that were measured in it.

    Raises
    ------
    MissingPackageError
        When matplotlib is not installed.
    """
    paths = [Path(folder) / f"area-fmax.{kind}" for kind in ("png", "svg")]
    for path in paths:
        picture = render(records, path.suffix[1:])
        with replacing(path) as temporary:
            temporary.write_bytes(picture)
    return paths


def render(records: Sequence[Mapping], kind: str) -> bytes:
    """Give the plot as ``png`` or ``svg``, the same bytes each time.

    Raises as :func:`draw` does.
    """
    require("matplotlib", extra="synth", verb="the plot of cdma synth")
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = [[column_at(path) for path in row] for row in PANELS]
    rows = [row for row in rows if any(c.value(record) for c in row for record in records)]
    with matplotlib.rc_context({"svg.hashsalt": "cdma", "svg.fonttype": "none"}):
        figure = Figure(figsize=(14, 4.2 * len(rows)), layout="constrained")
        FigureCanvasAgg(figure)
        for line, row in zip(figure.subplots(len(rows), 3, squeeze=False), rows, strict=True):
            for axes, each in zip(line, row, strict=True):
                _panel(axes, each, records)
        target = io.BytesIO()
        dated = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
        figure.savefig(target, format=kind, dpi=120, metadata=dated)
    return target.getvalue()


def _panel(axes, column: Column, records: Sequence[Mapping]) -> None:
    lines: dict[tuple[str, int], list[tuple[int, float]]] = {}
    for record in records:
        value = column.value(record)
        if value is not None:
            lines.setdefault((record["unit"], record["word_bits"]), []).append(
                (record["lanes"], value)
            )
    axes.set_title(column.path.split(".")[0].upper())
    if not lines:
        axes.set_axis_off()
        axes.text(0.5, 0.5, f"{column.title}: not measured", ha="center")
        return
    # A color for each word width, a marker and a dash for each unit.
    units, widths = (list(dict.fromkeys(names)) for names in zip(*lines, strict=True))
    for (unit, bits), points in lines.items():
        axes.plot(
            *zip(*sorted(points), strict=True),
            color=f"C{widths.index(bits)}",
            marker="os^v"[units.index(unit) % 4],
            linestyle=("-", "--", ":", "-.")[units.index(unit) % 4],
            markersize=4,
            label=f"{unit}, {bits}-bit words",
        )
    for peer in _comparable(column, records):
        point = (peer["lanes"], column.value(peer))
        axes.plot(*point, marker="x", color="0.6", linestyle="none")
        axes.annotate(
            f"{peer['unit']} {peer['config']}",
            point,
            xytext=(4, 2),
            textcoords="offset points",
            fontsize=6,
            color="0.4",
        )
    lanes = sorted({2**power for power in range(7)} | {record["lanes"] for record in records})
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(0.7, 200)  # room for the names of the peers
    axes.set_xticks(lanes, labels=lanes)
    for which in (axes.yaxis.set_major_formatter, axes.yaxis.set_minor_formatter):
        which("{x:g}")
    axes.tick_params(which="both", labelsize=7)
    axes.set_xlabel("lanes")
    axes.set_ylabel(f"{column.title} ({column.better} is better)")
    axes.grid(visible=True, which="both", alpha=0.2)
    axes.legend(fontsize=7)


def _comparable(column: Column, records: Sequence[Mapping]) -> list[Mapping]:
    """Peers that were measured in the technology of the column."""
    peers = [peer.record() for peer in PEERS]
    if column in ECP5:
        return peers
    libraries = {record["asic"]["library"] for record in records if record["asic"]}
    return [peer for peer in peers if peer["asic"]["library"] in libraries]
