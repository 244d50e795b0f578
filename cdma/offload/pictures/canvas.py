"""Figures on disk: the same results give the same bytes."""

from collections.abc import Callable, Mapping
from pathlib import Path

from cdma.errors import require
from cdma.files import make_folder, replacing

#: Before the name of every file.
PREFIX = "offload_"
GREY = "#969696"
KINDS = {"bound": GREY, "published": "#4292c6", "today": "#d95f0e"}


def draw(folder: str | Path, drawings: Mapping[str, Callable], verb: str) -> dict[str, Path]:
    """Write figures as SVG and give their paths by name.

    Parameters
    ----------
    folder : str or Path
        Is made when it is not there.
    drawings : mapping
        Function by name; it gets a figure. One that gives False has nothing to show.
    verb : str
        Who needs matplotlib.

    Raises
    ------
    MissingPackageError
        When matplotlib is not installed.
    """
    matplotlib = require("matplotlib", extra="study", verb=verb)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    folder, found = make_folder(folder), {}
    # No date, and no random names.
    with matplotlib.rc_context({"svg.hashsalt": "cdma", "svg.fonttype": "none", "font.size": 9}):
        for name, drawing in drawings.items():
            figure = Figure(layout="constrained")
            FigureCanvasAgg(figure)
            if drawing(figure) is False:
                continue
            path = folder / f"{PREFIX}{name}.svg"
            with replacing(path) as temporary:
                figure.savefig(temporary, format="svg", metadata={"Date": None})
            found[name] = path
    return found
