"""Plot area, clock and bytes per second over lanes, with the peers."""

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from cdma.errors import require
from cdma.files import replacing
from cdma.synth.flow.columns import ECP5, Column, column_at
from cdma.synth.flow.peers import PEERS

#: A row of panels for each technology.
PANELS = (
    ("ecp5.lut4", "ecp5.fmax_mhz", "ecp5.gb_per_s"),
    ("asic.abc.area_um2", "asic.abc.critical_ns", "asic.abc.gb_per_s"),
)

#: Panels with a reference line for the growth of area.
AREAS = ("ecp5.lut4", "asic.abc.area_um2")


def draw(records: Sequence[Mapping], folder: Path) -> list[Path]:
    """Write ``area-fmax.png`` and ``area-fmax.svg``, and return their paths.

    One line for each unit and word width. Panels for area and speed in each technology of the
    records, with the peers that are measured in this technology.

    For errors see :func:`render`.
    """
    paths = [Path(folder) / f"area-fmax.{kind}" for kind in ("png", "svg")]
    peers = [peer.record() for peer in PEERS]
    for path in paths:
        picture = render(records, path.suffix[1:], peers)
        with replacing(path) as temporary:
            temporary.write_bytes(picture)
    return paths


def render(records: Sequence[Mapping], kind: str, peers: Sequence[Mapping] = ()) -> bytes:
    """Give the plot as ``png`` or ``svg``, the same bytes each time.

    Parameters
    ----------
    records : sequence of mapping
    kind : "png" or "svg"
    peers : sequence of mapping
        Records that are shown as crosses with names.

    Raises
    ------
    MissingPackageError
        When matplotlib is not installed.
    """
    require("matplotlib", extra="synth", verb="the plot of cdma synth")
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = [[column_at(path) for path in row] for row in PANELS]
    rows = [row for row in rows if any(c.value(record) for c in row for record in records)]
    with matplotlib.rc_context({"svg.hashsalt": "cdma", "svg.fonttype": "none"}):
        figure = Figure(figsize=(12, 4 * len(rows) + 0.5), layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(len(rows), 3, squeeze=False)
        for line, row in zip(panels, rows, strict=True):
            for axes, column in zip(line, row, strict=True):
                _panel(axes, column, records, peers)
        handles = {}
        for axes in panels.flat:
            found, labels = axes.get_legend_handles_labels()
            handles |= dict(zip(labels, found, strict=True))
        figure.legend(
            handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize=8
        )
        target = io.BytesIO()
        dated = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
        figure.savefig(target, format=kind, dpi=120, metadata=dated)
    return target.getvalue()


def _panel(axes, column: Column, records: Sequence[Mapping], peers: Sequence[Mapping]) -> None:
    lines: dict[tuple[str, int], list[tuple[int, float]]] = {}
    for record in records:
        value = column.value(record)
        if value is not None:
            lines.setdefault((record["unit"], record["word_bits"]), []).append(
                (record["lanes"], value)
            )
    technology = "ECP5" if column in ECP5 else ", ".join(sorted(_libraries(records)))
    axes.set_title(f"{technology}: {column.title}", fontsize=9)
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
    for peer in peers:
        if column in ECP5 or peer["asic"]["library"] in _libraries(records):
            _cross(axes, f"{peer['unit']} {peer['config']}", peer["lanes"], column.value(peer))
    lanes = sorted({each["lanes"] for each in (*records, *peers)})
    if column.path in AREAS:
        # A reference line in the middle of the panel, to compare slopes.
        values = [value for points in lines.values() for _, value in points]
        bounds = [n * math.log2(n) for n in lanes if n > 1]
        scale = math.sqrt(min(values) * max(values) / bounds[0] / bounds[-1])
        bound = [scale * value for value in bounds]
        grown = [n for n in lanes if n > 1]
        axes.plot(grown, bound, color="0.5", linewidth=1, label="lanes x log2(lanes)")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(0.7 * lanes[0], (4 if peers else 1.4) * lanes[-1])  # room for names
    axes.set_xticks(lanes, labels=lanes)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(_few_ticks(axes))
    axes.tick_params(which="both", labelsize=7)
    axes.set_xlabel("lanes", fontsize=8)
    axes.set_ylabel(f"{column.title} ({column.better} is better)", fontsize=8)
    axes.grid(visible=True, which="both", alpha=0.2)


def _few_ticks(axes):
    """Labels for 2 and 5 of each decade. For a single decade, labels for all ticks."""
    low, high = axes.get_ylim()
    is_narrow = high < 10 * low

    def name(value, _):
        digit = f"{value:e}"[0]
        return f"{value:g}" if is_narrow or digit in "25" else ""

    return name


def _cross(axes, name: str, lanes: int, value: float) -> None:
    axes.plot(lanes, value, marker="x", color="0.6", linestyle="none")
    is_far = lanes > 8  # the name would not fit in the panel
    axes.annotate(
        name,
        (lanes, value),
        (-4 if is_far else 4, 2),
        textcoords="offset points",
        ha="right" if is_far else "left",
        fontsize=5.5,
        color="0.4",
    )


def _libraries(records: Sequence[Mapping]) -> set[str]:
    return {record["asic"]["library"] for record in records if record["asic"]}
