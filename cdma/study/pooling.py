"""Compare pooling layers with the layers before them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from cdma.study.layers import axis
from cdma.study.layouts import LAYOUTS, arranged
from cdma.study.summary import one_layout
from cdma.tensors.load import load_tensor


@dataclass(frozen=True)
class Pair:
    """A pooling layer and the layer before it, on the images and channels of both tensors.

    Parameters
    ----------
    network : str
    step : float or None
        Training step.
    before, pool : str
        Names of the layers.
    density_before, density : float
        Densities of the two.
    """

    network: str
    step: float | None
    before: str
    pool: str
    density_before: float
    density: float


def pairs(records: Iterable[dict]) -> list[Pair]:
    """Pairs of each pooling layer of a map and the layer before it in the list.

    The tensors are read again, limited to their common images and channels. Both must have the same
    network, step, layout, format and images. The map must shrink, and the number of channels must
    not change unless the tensors are parts of outputs. Otherwise layers between the two are missing
    from the list, and the two are no pair.
    """
    return [_pair(*both) for both in _adjacent(one_layout(records)) if _fit(*both)]


def _adjacent(records: list[dict]) -> Iterator[tuple[dict, dict]]:
    last: dict[tuple, dict] = {}
    for record in sorted(records, key=lambda record: record["position"]):
        if sorted(record["axes"]) != sorted(LAYOUTS[0]):
            continue
        fields = ("network", "step", "axes", "format", "images")
        key = tuple(map(str, (record[field] for field in fields)))
        if record["is_pool"] and key in last:
            yield last[key], record
        last[key] = record


def _fit(before: dict, pool: dict) -> bool:
    shrinks = axis(before, "H") * axis(before, "W") > axis(pool, "H") * axis(pool, "W")
    is_part = before["is_part"] or pool["is_part"]
    return shrinks and (is_part or axis(before, "C") == axis(pool, "C"))


def _pair(before: dict, pool: dict) -> Pair:
    maps = [arranged(load_tensor(r["tensor"]), r["axes"], "NCHW") for r in (before, pool)]
    images, channels = np.minimum(maps[0].shape[:2], maps[1].shape[:2])
    densities = []
    for each in maps:
        common = each[:images, :channels]
        densities.append(np.count_nonzero(common) / common.size)
    return Pair(pool["network"], pool["step"], before["layer"], pool["layer"], *densities)
