"""Plot density over training."""

import io
from pathlib import Path

from cdma.errors import require
from cdma.files import replacing
from cdma.labels import plain


def draw(report: dict, folder: Path) -> list[Path]:
    """Write ``density.png`` and ``density.svg``, and return their paths.

    A line for each layer shows the density of its whole output at each measured step. Below, a
    panel for each noted number, such as the loss. The axis of the steps is logarithmic, because
    density changes most in the first steps.

    Parameters
    ----------
    report : dict
        Content of ``capture.json`` of ``cdma capture --torch``.
    folder : Path

    Raises
    ------
    MissingPackageError
        When matplotlib is not installed.
    """
    require("matplotlib", extra="study", verb="cdma capture --figures")
    paths = [folder / f"density.{kind}" for kind in ("png", "svg")]
    for path in paths:
        picture = _render(report, path.suffix[1:])
        with replacing(path) as temporary:
            temporary.write_bytes(picture)
    return paths


def _render(report: dict, kind: str) -> bytes:
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    history = report["history"]
    steps = [step + 1 for step in history["steps"]]
    kinds = {tensor["layer"]: tensor["kind"] for tensor in report["tensors"]}
    with matplotlib.rc_context({"svg.hashsalt": "cdma", "svg.fonttype": "none"}):
        notes = history["notes"]
        figure = Figure(figsize=(9, 5 + 2 * len(notes)), layout="constrained")
        FigureCanvasAgg(figure)
        heights = [5, *[2] * len(notes)]
        panels = figure.subplots(len(heights), sharex=True, squeeze=False, height_ratios=heights)
        densities, *others = panels[:, 0]
        for layer, values in history["density"].items():
            dashes = "--" if kinds.get(layer) == "pool" else "-"
            densities.plot(steps, _numbers(values), dashes, label=plain(layer), linewidth=1.2)
        densities.set_ylim(0, 1)
        densities.set_ylabel("density (share of non-zeros)")
        title = f"{report['name']}: density over training (pooling dashed)"
        densities.set_title(plain(title))
        densities.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
        for axes, (name, values) in zip(others, notes.items(), strict=True):
            axes.plot(steps, _numbers(values), color="black", linewidth=1)
            axes.set_ylabel(plain(name))
        for axes in panels[:, 0]:
            axes.grid(alpha=0.3)
        panels[-1, 0].set_xscale("log")
        panels[-1, 0].set_xlabel("training step, counted from 1")
        target = io.BytesIO()
        dated = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
        figure.savefig(target, format=kind, dpi=120, metadata=dated)
    return target.getvalue()


def _numbers(values: list) -> list[float]:
    return [float("nan") if value is None else value for value in values]
