"""Figures of the document."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from cdma.offload.document import results as data
from cdma.offload.pictures import canvas, schemes, sweeps, tuning
from cdma.offload.pictures.advice import draw_advice
from cdma.offload.validate import vdnn

_TICKS = (2, 4, 8, 16, 32, 64)
_TIMELINE = ("vdnn-all", "cdma-zv", "async", "async-zv")


def draw(folder: Path, densities: tuple[str, ...]) -> dict[str, str]:
    """Write the figures as SVG and give their names in the document.

    Raises
    ------
    MissingPackageError
        When matplotlib is not installed.
    """
    drawings: dict[str, Callable] = {
        "steps": _steps, "pareto": _pareto, "timeline": _timeline, "links": _links,
        "ratios": _ratios, "stages": _stages, "decisions": _decisions, "posterior": _posterior,
        "advice": _advice, "validation": _validation,
    }  # fmt: skip
    drawings = {name: partial(each, densities=densities) for name, each in drawings.items()}
    found = canvas.draw(Path(folder) / "images", drawings, "cdma offload document")
    return {name: f"images/{path.name}" for name, path in found.items()}


def _steps(figure, densities) -> None:
    schemes.steps(figure, data.steps(densities), "GoogLeNet, batch 128")


def _pareto(figure, densities) -> None:
    schemes.pareto(figure, data.steps(densities), "GoogLeNet, batch 128")


def _timeline(figure, densities) -> None:
    every = {each.name: each for each in data.steps(densities, "alexnet")}
    schemes.timeline(figure, [every[name] for name in _TIMELINE], "AlexNet, batch 128")


def _links(figure, densities) -> None:
    """Gain of cDMA over vDNN and over async, by link; dots are the knees."""
    figure.set_size_inches(7, 3.2)
    panels = figure.subplots(1, 2, sharey=True)
    for name, (knee, points) in data.over_links(densities).items():
        links = [p[0] for p in points]
        for k, axes in enumerate(panels, 1):
            gains = [p[k] for p in points]
            (line,) = axes.plot(links, gains, marker=".", ms=3, label=name)
            sweeps.mark(axes, links, gains, knee, line.get_color())
    for axes, over in zip(panels, ("vDNN all", "async"), strict=True):
        axes.set_xscale("log", base=2)
        axes.set_xticks(_TICKS, [f"{tick:g}" for tick in _TICKS])
        axes.axhline(0, color=canvas.GREY, lw=0.8)
        axes.set_xlabel("link, GB/s")
        axes.set_title(f"cDMA ZV over {over}, %", loc="left", fontsize=9)
    panels[0].legend(fontsize=7)


def _ratios(figure, densities) -> None:
    """Speed of cDMA over vDNN, and of async + ZV over the best baseline, by ratio and compute."""
    figure.set_size_inches(7.5, 3)
    panels = figure.subplots(1, 2)
    maps = data.over_ratio_and_compute()
    for axes, (title, table) in zip(panels, maps.items(), strict=True):
        values = [value for row in table for value in row]
        sweeps.heat(axes, table, data.SPEEDS, data.RATIOS, (min(values), max(values)))
        axes.set_title(title, loc="left", fontsize=9)
        axes.set_xlabel("compute speed over a Titan X")
        axes.set_ylabel("compression ratio")


def _stages(figure, densities) -> bool:
    """Gain of cDMA over training."""
    found = data.over_stages(densities)
    if not found:
        return False
    figure.set_size_inches(7, 3)
    axes = figure.subplots()
    for name, points in found.items():
        stages, ratios, gains = zip(*points, strict=True)
        axes.plot(stages, gains, marker=".", label=f"{name}: ratio {min(ratios):.1f} to "
                  f"{max(ratios):.1f}")  # fmt: skip
    axes.set_xlabel("training, %")
    axes.set_ylabel("cDMA ZV over vDNN all, %")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=7)
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


def _posterior(figure, densities) -> bool:
    """The tuner on the measured surface."""
    found = data.tuned()
    if found is None:
        return False
    tuning.draw_posterior(figure, *found)
    return True


def _advice(figure, densities) -> None:
    draw_advice(figure, data.advised(densities), speed=4)


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
    axes.plot([0.6, 1.02], [0.6, 1.02], color=canvas.GREY, lw=0.8)
    axes.set_xlabel("published speed over its base")
    axes.set_ylabel("model, link of 12 to 13 GB/s")
    axes.legend(fontsize=7)
    return True
