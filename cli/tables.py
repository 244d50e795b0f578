"""Tables of results, for a terminal or for a Markdown document."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real


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
        Text stays as it is.
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
    aligned = [
        _align([heading, *(_cell(row.get(key)) for row in rows)], _is_numeric(rows, key))
        for key, heading in headings.items()
    ]
    numeric = [_is_numeric(rows, key) for key in headings]
    head, *body = zip(*aligned, strict=True)
    widths = [len(cell) for cell in head]
    if style == "text":
        rule = ["-" * width for width in widths]
        return "\n".join("  ".join(line).rstrip() for line in (head, rule, *body))
    rule = [
        "-" * (width - 1) + ":" if right else "-" * width
        for width, right in zip(widths, numeric, strict=True)
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, rule, *body))


def _is_numeric(rows: Sequence[Mapping], key: str) -> bool:
    values = [row.get(key) for row in rows]
    return all(
        value is None or (isinstance(value, Real) and not isinstance(value, bool))
        for value in values
    )


def _align(cells: list[str], right: bool) -> list[str]:
    width = max(3, *map(len, cells))
    return [cell.rjust(width) if right else cell.ljust(width) for cell in cells]


def _cell(value) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Integral):
        return f"{value:,}"
    if isinstance(value, Real):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value).replace("|", "\\|")
