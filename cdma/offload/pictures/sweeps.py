"""A sweep as lines over one axis, or as maps over two."""

import math
from collections.abc import Mapping, Sequence

from cdma.errors import UserError

_REFERENCE = "vdnn-all"
_LABELS = {
    "link": "link, GB/s", "ratio": "compression ratio", "channels": "channels of the engine",
    "batch": "batch", "compute": "compute speed over the board's",
}  # fmt: skip


def drawn_axes(axes: Mapping[str, Sequence]) -> list[str]:
    """Axes of the figure of a sweep: those with several values.

    Raises
    ------
    UserError
        Unless there are one or two.
    """
    wide = [axis for axis, values in axes.items() if len(values) > 1]
    if len(wide) not in (1, 2):
        raise UserError(f"a figure needs one or two axes with several values, not {len(wide)}")
    return wide


def sweep(figure, rows: Sequence[Mapping], axes: Mapping[str, Sequence]) -> None:
    """Speed over vDNN if it was run, else the share of the oracle's speed.

    Over a link a dot marks the knee: see :func:`knee`.

    Raises
    ------
    UserError
        See :func:`drawn_axes`.
    """
    wide = drawn_axes(axes)
    schemes = list(dict.fromkeys(row["scheme"] for row in rows))
    name, values = _values(rows, tuple(axes))
    if _REFERENCE in schemes and len(schemes) > 1:
        schemes.remove(_REFERENCE)
    draw = _lines if len(wide) == 1 else _maps
    draw(figure, rows, values, schemes, wide, name)


def _values(rows: Sequence[Mapping], axes: tuple[str, ...]) -> tuple[str, list[float]]:
    """What the figure shows, and its value for each row."""
    slow = {_point(row, axes): row["step_ms"] for row in rows if row["scheme"] == _REFERENCE}
    if not slow or all(row["scheme"] == _REFERENCE for row in rows):
        return "share of the oracle's speed", [row["of_oracle"] for row in rows]
    return "speed over vDNN all", [slow[_point(row, axes)] / row["step_ms"] for row in rows]


def _point(row: Mapping, axes: tuple[str, ...]) -> tuple:
    return tuple(row[axis] for axis in axes)


def knee(row: Mapping) -> float:
    """Link in GB/s on which all copies, both ways, take as long as compute without waits.

    Below it a step is bound by the link; above it, compute can hide the copies.
    """
    oracle_ms = row["step_ms"] * row["of_oracle"]
    return 2 * row["link_mib"] * 2**20 / (1e6 * oracle_ms)


def _lines(figure, rows, values, schemes, wide, name) -> None:
    figure.set_size_inches(7, 3.6)
    axes, (axis,) = figure.subplots(), wide
    for scheme in schemes:
        mine = [(row[axis], y, row) for row, y in zip(rows, values, strict=True)
                if row["scheme"] == scheme]  # fmt: skip
        x, y, of = zip(*sorted(mine, key=lambda each: each[0]), strict=True)
        (line,) = axes.plot(x, y, marker=".", ms=4, label=of[0]["title"])
        if axis == "link":
            mark(axes, x, y, knee(of[0]), line.get_color())
    axes.set_xscale("log", base=2)
    axes.set_xticks(sorted({row[axis] for row in rows}))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel(_LABELS[axis] + ("; dots: copies take as long as compute" * (axis == "link")))
    axes.set_ylabel(name)
    axes.legend(fontsize=7)


def mark(axes, x: Sequence[float], y: Sequence[float], at: float, color: str) -> None:
    """A dot on a line through points over a logarithmic axis, unless it is outside of them."""
    if x[0] <= at <= x[-1]:
        k = next(k for k in range(1, len(x)) if at <= x[k])
        share = math.log(at / x[k - 1]) / math.log(x[k] / x[k - 1])
        axes.plot([at], [y[k - 1] + share * (y[k] - y[k - 1])], "o", ms=6, color=color)


def _maps(figure, rows, values, schemes, wide, name) -> None:
    figure.set_size_inches(0.6 + 3.4 * len(schemes), 3.2)
    panels = figure.subplots(1, len(schemes), squeeze=False)[0]
    low, high = min(values), max(values)
    across, up = wide
    columns, lines = (sorted({row[axis] for row in rows}) for axis in wide)
    for axes, scheme in zip(panels, schemes, strict=True):
        title = next(row["title"] for row in rows if row["scheme"] == scheme)
        found = {(row[up], row[across]): value for row, value in zip(rows, values, strict=True)
                 if row["scheme"] == scheme}  # fmt: skip
        table = [[found[line, column] for column in columns] for line in lines]
        image = heat(axes, table, columns, lines, (low, high))
        axes.set_title(title, loc="left", fontsize=9)
        axes.set_xlabel(_LABELS[across])
        axes.set_ylabel(_LABELS[up])
    figure.colorbar(image, ax=list(panels), label=name)


def heat(axes, table, columns, lines, limits) -> object:
    """A map with its numbers in it; gives the image."""
    image = axes.imshow(table, cmap="Blues", vmin=limits[0], vmax=limits[1], aspect="auto",
                        origin="lower")  # fmt: skip
    axes.set_xticks(range(len(columns)), [f"{value:g}" for value in columns])
    axes.set_yticks(range(len(lines)), [f"{value:g}" for value in lines])
    middle = (limits[0] + limits[1]) / 2
    for i, row in enumerate(table):
        for k, value in enumerate(row):
            color = "white" if value > middle else "black"
            axes.text(k, i, f"{value:.2f}", ha="center", va="center", fontsize=6, color=color)
    return image
