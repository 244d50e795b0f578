"""Results for readers: tables for a terminal or a Markdown document, counts and lists in a text."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real


class Marked(float):
    """A number that a table shows with an asterisk."""


def format_table(
    rows: Sequence[Mapping],
    columns: Sequence[str] | Mapping[str, str],
    style: str = "text",
) -> str:
    """Lay out ``rows`` as an aligned table, without a line feed at its end.

    Parameters
    ----------
    rows : sequence of mappings
        One mapping a line. Integers get thousands separators, other numbers three significant
        digits, booleans ``yes`` and ``no``; a key that is missing or ``None`` shows as ``-``.
        Text is not changed.
    columns : sequence of str, or mapping
        Keys to show, in order; a mapping gives the heading of each.
    style : "text" or "markdown"

    Raises
    ------
    ValueError
        When the style is none of these.
    """
    if style not in ("text", "markdown"):
        raise ValueError(f"Style must be 'text' or 'markdown', not {style!r}")
    headings = dict(columns) if isinstance(columns, Mapping) else {key: key for key in columns}
    numeric = [_is_numeric([row.get(key) for row in rows]) for key in headings]
    laid_out = []
    for (key, heading), right in zip(headings.items(), numeric, strict=True):
        values = [row.get(key) for row in rows]
        pad = " " if any(isinstance(value, Marked) for value in values) else ""
        marks = ["*" if isinstance(value, Marked) else pad for value in values]
        cells = [heading, *(_cell(value) + mark for value, mark in zip(values, marks, strict=True))]
        if style == "markdown":
            cells = [cell.replace("|", "\\|") for cell in cells]
        width = max(3, *map(len, cells))  # Markdown asks for three dashes
        rule = "-" * (width - 1) + ":" if right and style == "markdown" else "-" * width
        head, *body = (cell.rjust(width) if right else cell.ljust(width) for cell in cells)
        laid_out.append([head, rule, *body])
    lines = zip(*laid_out, strict=True)
    if style == "markdown":
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return "\n".join("  ".join(line).rstrip() for line in lines)


def _is_numeric(values: Sequence) -> bool:
    return all(
        value is None or (isinstance(value, Real) and not isinstance(value, bool))
        for value in values
    )


def _cell(value) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return f"{value:,}"
    if isinstance(value, Real):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)


def counted(count: int, noun: str) -> str:
    """A number and its noun, with an s unless the number is 1: ``1 stripe``, ``2,048 stripes``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def listed(items: Sequence[str]) -> str:
    """Items in a sentence: ``a``, ``a and b``, ``a, b and c``."""
    *most, last = items
    return f"{', '.join(most)} and {last}" if most else last
