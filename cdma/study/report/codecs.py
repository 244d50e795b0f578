"""The document's part on ZVC+ beside EBPC, zlib, zstd and lz4: ratios, wins and losses."""

import math
from collections.abc import Iterable, Sequence

from cdma.study.layouts import FLAT, LAYOUTS
from cdma.study.report.tables import TITLES
from cdma.study.summary import mean, totals, without_copies
from cdma.tables import format_table

_PLUS = "zvcplus_above"
_SHOWN = (
    *("zvc32", "zvcplus", "zvcplus_left", _PLUS, "ebpc", "zlib4k", "zlib", "zstd", "lz4"),
    "bound",
)
_OTHERS = ("zvc32", "ebpc", "zlib4k", "zlib", "zstd", "lz4", "bound")
#: Tensors that a row of losses names.
_NAMED = 3

TEXT = """\
## ZVC+ beside other codecs

[ZVC+](zvcplus.md) and the others on maps in NCHW (larger is better). *above* is ZVC+ with repeats
left and above at the distance of a row. EBPC (Cavigelli et al., JETCAS 2019) is a model of its
published description, with blocks of 32 words. zlib, zstd and lz4 run on whole tensors, but for
zlib 4 KiB. The mask entropy bounds codecs that send values as they are, which ZVC+, EBPC and the
dictionary coders do not. Ratios are of all tensors of a row together; the mean is geometric, over
tensors.
"""


def section(records: Sequence[dict]) -> str:
    """Tables by network, layer kind and element type; wins and losses. Empty without ZVC+."""
    found = [record for record in without_copies(records) if _is_usable(record)]
    floats = [record for record in found if record["format"] in ("fp32", "float32")]
    if not floats:
        return ""
    parts = [TEXT, _table(floats, "network", "Network"), _table(floats, "kind", "Layer")]
    if len({record["format"] for record in found}) > 1:
        parts.append("By element type. The tensors of a type are not those of another:\n")
        parts.append(_table(found, "format", "Elements"))
    for name, group in _by(found, "format").items():
        parts.append(
            f"Tensors of {name} that ZVC+ above makes smaller, and larger, than another:\n"
        )
        parts.append(_wins(group))
    return "\n".join(parts)


def _is_usable(record: dict) -> bool:
    is_map = record["axes"] != FLAT and record["layout"] in (LAYOUTS[0], "NC")
    return is_map and record["words"] > 0 and all(name in record["sizes"] for name in _SHOWN)


def _table(records: Sequence[dict], field: str, title: str) -> str:
    rows = [{**total, **total["ratios"]} for total in totals(records, by=(field,))]
    average = {name: _geometric(record["ratios"][name] for record in records) for name in _SHOWN}
    rows.append({field: "geometric mean", "tensors": len(records), **average})
    columns = {field: title, "tensors": "Tensors", "density": "Density"}
    return format_table(rows, columns | {name: TITLES[name] for name in _SHOWN}, "markdown") + "\n"


def _wins(records: Sequence[dict]) -> str:
    rows = []
    for name in _OTHERS:
        gains = [it["sizes"][_PLUS] - it["sizes"][name] for it in records]
        rows.append(
            {
                "other": TITLES[name],
                "smaller": sum(gain < 0 for gain in gains),
                "equal": sum(gain == 0 for gain in gains),
                "larger": sum(gain > 0 for gain in gains),
                "named": _losses(records, _PLUS, name),
                "plain": _losses(records, "zvcplus", name),
            }
        )
    columns = {"other": "Than", "smaller": "Smaller", "equal": "Equal", "larger": "Larger"}
    columns |= {"named": "Largest losses", "plain": "Losses of ZVC+ without repeats"}
    return format_table(rows, columns, "markdown") + "\n"


def _losses(records: Sequence[dict], ours: str, other: str) -> str:
    """The tensors that one codec makes larger than another, the worst by name."""
    more = {id(it): it["sizes"][ours] / it["sizes"][other] - 1 for it in records}
    lost = sorted((it for it in records if more[id(it)] > 0), key=lambda it: -more[id(it)])
    named = [f"{it['network']} {it['layer']} (+{more[id(it)]:.1%})" for it in lost[:_NAMED]]
    if len(lost) > _NAMED:
        named.append(f"{len(lost) - _NAMED} more")
    return ", ".join(named) or "none"


def _geometric(values: Iterable[float]) -> float:
    return math.exp(mean(math.log(value) for value in values))


def _by(records: Iterable[dict], field: str) -> dict[str, list[dict]]:
    groups: dict[str, list[dict]] = {}
    for record in records:
        groups.setdefault(record[field], []).append(record)
    return groups
