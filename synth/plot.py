"""Area and clock against lanes, with the peers beside."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from cdma.errors import require
from cdma.files import replacing
from cdma.synth.peers import PEERS
from cdma.synth.report import ECP5, Column, asic_columns


def draw(records: Sequence[Mapping], folder: Path) -> list[Path]:
    """Write ``area-fmax.png`` and ``area-fmax.svg`` and give their paths.

    One line for each unit and word width; a panel for area and one for speed in each technology
    that the records have figures in, with the peers that were measured in it.

    Raises
    ------
    MissingPackageError
        When matplotlib is not installed.
    """
    require("matplotlib", extra="synth", verb="the plot of cdma synth")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    panels = [column for column in _panels() if any(map(column.value, records))]
    rows = (len(panels) + 1) // 2
    figure = Figure(figsize=(11, 4.2 * rows), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, column in zip(figure.subplots(rows, 2).flat, panels, strict=False):
        _panel(axes, column, records)
    paths = [Path(folder) / f"area-fmax.{kind}" for kind in ("png", "svg")]
    for path in paths:
        with replacing(path) as temporary:
            figure.savefig(temporary, format=path.suffix[1:], dpi=120)
    return paths


def _panels() -> list[Column]:
    columns = (*ECP5, *asic_columns("abc"))
    wanted = ("ecp5.lut4", "ecp5.fmax_mhz", "asic.abc.area_um2", "asic.abc.critical_ns")
    return [column for path in wanted for column in columns if column.path == path]


def _panel(axes, column: Column, records: Sequence[Mapping]) -> None:
    lines: dict[str, list[tuple[int, float]]] = {}
    for record in records:
        value = column.value(record)
        if value is not None:
            name = f"{record['unit']}, {record['word_bits']}-bit words"
            lines.setdefault(name, []).append((record["lanes"], value))
    for name, points in lines.items():
        axes.plot(*zip(*sorted(points), strict=True), marker="o", label=name)
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
    axes.set_title(column.path.split(".")[0].upper())
    axes.grid(visible=True, which="both", alpha=0.2)
    axes.legend(fontsize=7)


def _comparable(column: Column, records: Sequence[Mapping]) -> list[Mapping]:
    """Peers that were measured in the technology of the column."""
    peers = [peer.record() for peer in PEERS]
    if column in ECP5:
        return peers
    libraries = {record["asic"]["library"] for record in records if record["asic"]}
    return [peer for peer in peers if peer["asic"]["library"] in libraries]
