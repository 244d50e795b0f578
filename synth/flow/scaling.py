"""Scaling of the units: the sizes of the sweep, and the growth of area."""

import math
from collections.abc import Mapping, Sequence

from cdma.golden import Format
from cdma.hdl.zvc.config import LANES, Config, most_block_words
from cdma.synth.flow.columns import Column, column_at
from cdma.tables import format_table

#: Word widths of the sweep.
WORD_BITS = (8, 16, 32)

#: Areas that are divided by lanes x log2(lanes).
AREAS = (column_at("ecp5.lut4"), column_at("asic.abc.area_um2"))


def sweep() -> list[Config]:
    """All numbers of lanes at each word width, with the default block or the closest valid one."""
    return [
        Config.of(
            lanes, bits, max(lanes, min(Format(bits).block_words, most_block_words(lanes, bits)))
        )
        for bits in WORD_BITS
        for lanes in LANES
    ]


def exponent(sizes: Mapping[int, float]) -> float:
    """Exponent ``p`` of the best fit ``area = c * (lanes * log2(lanes))**p``.

    Least squares on logarithms. With ``p`` up to 1, area grows no faster than
    ``lanes * log2(lanes)``.

    Parameters
    ----------
    sizes : mapping of int to float
        Area for each number of lanes, at least two of them.
    """
    points = [(math.log(_bound(lanes)), math.log(area)) for lanes, area in sizes.items()]
    x_mean, y_mean = (sum(values) / len(points) for values in zip(*points, strict=True))
    return sum((x - x_mean) * (y - y_mean) for x, y in points) / sum(
        (x - x_mean) ** 2 for x, _ in points
    )


def tables(records: Sequence[Mapping], style: str = "text") -> list[tuple[str, str]]:
    """Title and table of area divided by ``lanes * log2(lanes)``, for each measured area.

    A row for each unit and word width with at least two sizes, a column for each number of lanes,
    and the fitted exponent.
    """
    found = []
    for area in AREAS:
        rows = []
        for (unit, bits), sizes in _by_unit(records, area).items():
            if len(sizes) > 1:
                row = {"unit": unit, "word bits": bits}
                row |= {f"{lanes} lanes": sizes[lanes] / _bound(lanes) for lanes in sizes}
                rows.append(row | {"exponent": exponent(sizes)})
        if rows:
            lanes = sorted({record["lanes"] for record in records})
            headings = ["unit", "word bits", *(f"{n} lanes" for n in lanes), "exponent"]
            title = f"{area.title} over lanes x log2(lanes)"
            found.append((title, format_table(rows, headings, style)))
    return found


def _bound(lanes: int) -> float:
    return lanes * math.log2(lanes)


def _by_unit(records: Sequence[Mapping], area: Column) -> dict[tuple[str, int], dict[int, float]]:
    grown: dict[tuple[str, int], dict[int, float]] = {}
    for record in sorted(records, key=lambda record: record["lanes"]):
        value = area.value(record)
        if value:
            sizes = grown.setdefault((record["unit"], record["word_bits"]), {})
            sizes[record["lanes"]] = value
    return grown
