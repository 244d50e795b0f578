"""Totals of records."""

import math
from collections.abc import Iterable, Sequence


def totals(
    records: Iterable[dict], by: Sequence[str] = ("network", "format", "layout")
) -> list[dict]:
    """Add up records.

    Returns
    -------
    list of dict
        For each combination of the fields ``by``, in the order of their first record: these fields,
        ``tensors``, ``words``, ``bytes``, ``density`` (of all words together), ``ratios`` (all
        bytes divided by all encoded bytes), ``best`` (the largest ratio of a tensor) and the shares
        of ``zero_blocks`` and ``full_blocks`` (weighted by size). An algorithm is omitted if a
        record does not have its size.
    """
    groups: dict[tuple, list[dict]] = {}
    for record in records:
        groups.setdefault(tuple(record[field] for field in by), []).append(record)
    return [{**dict(zip(by, key, strict=True)), **_total(group)} for key, group in groups.items()]


def _total(group: list[dict]) -> dict:
    size = sum(record["bytes"] for record in group)
    words = sum(record["words"] for record in group)
    names = [name for name in group[0]["sizes"] if all(name in r["sizes"] for r in group)]
    coded = {name: sum(record["sizes"][name] for record in group) for name in names}
    return {
        "tensors": len(group),
        "words": words,
        "bytes": size,
        "density": sum(record["nonzeros"] for record in group) / words if words else None,
        "ratios": {name: size / coded[name] if coded[name] else None for name in names},
        "best": {name: max((r["ratios"][name] or 0 for r in group), default=0) for name in names},
        "zero_blocks": _share(group, "zero_blocks", size),
        "full_blocks": _share(group, "full_blocks", size),
    }


def _share(group: list[dict], field: str, size: int) -> float | None:
    """Mean weighted by size. An empty tensor has no share and no weight."""
    weighted = sum(record[field] * record["bytes"] for record in group if record["bytes"])
    return weighted / size if size else None


def one_layout(records: Iterable[dict]) -> list[dict]:
    """One record of each tensor, for figures that do not depend on the layout."""
    return list({record["tensor"]: record for record in reversed(list(records))}.values())[::-1]


def without_copies(records: Iterable[dict]) -> list[dict]:
    """Records without tensors that are copies of an earlier tensor in another layout."""
    first = {}
    kept = []
    for record in records:
        key = tuple(record[field] for field in ("network", "layer", "step", "format", "digest"))
        if first.setdefault(key, record["tensor"]) == record["tensor"]:
            kept.append(record)
    return kept


def mean(values: Iterable[float]) -> float:
    """Arithmetic mean. NaN without values."""
    values = list(values)
    return sum(values) / len(values) if values else math.nan
