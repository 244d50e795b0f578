"""Figures of the document."""

from collections.abc import Callable
from pathlib import Path

from cdma.errors import require
from cdma.files import make_folder, replacing
from cdma.offload.document import results as data
from cdma.offload.validate import vdnn

PREFIX = "offload_"
_TRACKS = {"compute": "#4292c6", "down": "#d95f0e", "up": "#238b45"}
_KINDS = {"bound": "#969696", "published": "#4292c6", "today": "#d95f0e"}
_TICKS = (2, 4, 8, 16, 32, 64)
_SHOWN = ("vdnn-all", "cdma-zv", "async", "async-zv")


def draw(folder: Path, densities: tuple[str, ...]) -> dict[str, str]:
    """Write the figures as SVG and give their names in the document.

    Raises
    ------
    MissingPackageError
        When matplotlib is not installed.
    """
    matplotlib = require("matplotlib", extra="study", verb="cdma offload document")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    images = make_folder(Path(folder) / "images")
    found = {}
    drawings: dict[str, Callable] = {
        "steps": _steps, "timeline": _timeline, "links": _links, "decisions": _decisions,
        "validation": _validation,
    }  # fmt: skip
    # The same results give the same bytes: no date, and no random names.
    with matplotlib.rc_context({"svg.hashsalt": "cdma", "svg.fonttype": "none", "font.size": 9}):
        for name, drawing in drawings.items():
            figure = Figure(layout="constrained")
            FigureCanvasAgg(figure)
            if not drawing(figure, densities):
                continue
            with replacing(images / f"{PREFIX}{name}.svg") as temporary:
                figure.savefig(temporary, format="svg", metadata={"Date": None})
            found[name] = f"images/{PREFIX}{name}.svg"
    return found


def _steps(figure, densities) -> bool:
    """Step time by system: compute, and what the copies add."""
    every = data.steps(densities)
    figure.set_size_inches(7, 4.2)
    axes = figure.subplots()
    titles = [each.scheme.title for each in every]
    compute = [
        1e3 * sum(e.end - e.start for e in each.step.events if e.track == "compute")
        for each in every
    ]
    whole = [1e3 * each.step.seconds for each in every]
    colors = [_KINDS[each.scheme.kind] for each in every]
    axes.barh(titles, compute, color=colors)
    rest = [max(a - b, 0) for a, b in zip(whole, compute, strict=True)]
    axes.barh(titles, rest, left=compute, color=colors, alpha=0.4)
    axes.invert_yaxis()
    axes.set_xlabel("step, ms (GoogLeNet, batch 128); pale: waits for copies")
    axes.set_xlim(0, 2 * whole[0])
    return True


def _timeline(figure, densities) -> bool:
    """Compute and copies of four systems on AlexNet."""
    every = {each.name: each for each in data.steps(densities, "alexnet")}
    figure.set_size_inches(7, 4.5)
    rows = figure.subplots(len(_SHOWN), 1, sharex=True)
    for axes, name in zip(rows, _SHOWN, strict=True):
        for place, (track, color) in enumerate(_TRACKS.items()):
            events = [e for e in every[name].step.events if e.track == track]
            spans = [(1e3 * e.start, 1e3 * (e.end - e.start)) for e in events]
            axes.broken_barh(spans, (place - 0.4, 0.8), color=color, edgecolor="white", lw=0.3)
        axes.set_yticks(range(3), ["compute", "out", "back"])
        axes.invert_yaxis()
        axes.set_title(every[name].scheme.title, loc="left", fontsize=9)
    rows[-1].set_xlabel("ms (AlexNet, batch 128)")
    return True


def _links(figure, densities) -> bool:
    """Gain of cDMA over vDNN and over async, by link."""
    figure.set_size_inches(7, 3.2)
    rows = figure.subplots(1, 2, sharey=True)
    for name, points in data.over_links(densities).items():
        for k, axes in enumerate(rows, 1):
            axes.plot([p[0] for p in points], [p[k] for p in points], marker=".", label=name)
    for axes, over in zip(rows, ("vDNN all", "async"), strict=True):
        axes.set_xscale("log", base=2)
        axes.set_xticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
        axes.axhline(0, color="#969696", lw=0.8)
        axes.set_xlabel("link, GB/s")
        axes.set_title(f"cDMA ZV over {over}, %", loc="left", fontsize=9)
    rows[0].legend(fontsize=7)
    return True


def _decisions(figure, densities) -> bool:
    """CSWAP by layer and stage: what compression saves."""
    names, steps, rows = data.decision_map(densities)
    if not rows:
        return False
    figure.set_size_inches(7, 2.6)
    axes = figure.subplots()
    most = max(abs(value) for row in rows for value in row)
    image = axes.imshow(rows, cmap="RdBu", vmin=-most, vmax=most, aspect="auto")
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=7)
    axes.set_yticks(range(len(steps)), [f"{step:g} %" for step in steps])
    axes.set_ylabel("training")
    figure.colorbar(image, label="ms saved")
    return True


def _validation(figure, densities) -> bool:
    """Modelled over published speed of vDNN's bars."""
    points = vdnn.points()
    if not points:
        return False
    figure.set_size_inches(4.5, 4.2)
    axes = figure.subplots()
    for net in dict.fromkeys(point["net"] for point in points):
        mine = [point for point in points if point["net"] == net]
        x = [point["published"] for point in mine]
        middle = [(point["low"] + point["high"]) / 2 for point in mine]
        half = [(point["high"] - point["low"]) / 2 for point in mine]
        axes.errorbar(x, middle, yerr=half, fmt="o", ms=3, label=net)
    axes.plot([0.6, 1.02], [0.6, 1.02], color="#969696", lw=0.8)
    axes.set_xlabel("published speed over its base")
    axes.set_ylabel("model, link of 12 to 13 GB/s")
    axes.legend(fontsize=7)
    return True
