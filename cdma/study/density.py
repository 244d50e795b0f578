"""Density of every layer, at every stage of training."""

from collections.abc import Iterable
from dataclasses import dataclass

from cdma.study.layers import axis, depth
from cdma.study.summary import one_layout


@dataclass(frozen=True)
class Layer:
    """A layer of a network.

    Parameters
    ----------
    name : str
    is_pool : bool
        Whether the layer is a pooling layer.
    has_map : bool
        Whether the output is a map, such as a convolution's output, and not one value a channel.
    densities : dict
        Density by training step, in the order of the steps. The key of a tensor without a known
        step is ``None``.
    """

    name: str
    is_pool: bool
    has_map: bool
    densities: dict[float | None, float]

    @property
    def last(self) -> float:
        """Density at the last step."""
        return list(self.densities.values())[-1]


def layers_of(records: Iterable[dict]) -> dict[str, list[Layer]]:
    """Layers of each network, by depth.

    For a layer with several tensors, only tensors of one format, layout and shape count: the group
    with the most steps, and of several such groups the one with the largest tensors. So a series
    compares the same images and channels.
    """
    found: dict[str, dict[str, dict[tuple, list[dict]]]] = {}
    for record in one_layout(records):
        if record["words"]:
            variants = found.setdefault(record["network"], {}).setdefault(record["layer"], {})
            key = record["format"], record["axes"], tuple(record["shape"])
            variants.setdefault(key, []).append(record)
    networks = {}
    for network, layers in found.items():
        chosen = [max(variants.values(), key=_worth) for variants in layers.values()]
        chosen.sort(key=lambda records: min(map(depth, records)))
        networks[network] = [_layer(records) for records in chosen]
    return networks


def steps_of(layers: Iterable[Layer]) -> list[float]:
    """Training steps at which any of the layers was measured, in ascending order."""
    return sorted({step for layer in layers for step in layer.densities} - {None})


def _worth(records: list[dict]) -> tuple[int, int]:
    return len({record["step"] for record in records}), records[0]["words"]


def _layer(records: list[dict]) -> Layer:
    words, nonzeros = {}, {}
    for record in sorted(records, key=lambda record: record["step"] or 0):
        step = record["step"]
        words[step] = words.get(step, 0) + record["words"]
        nonzeros[step] = nonzeros.get(step, 0) + record["nonzeros"]
    first = records[0]
    return Layer(
        name=first["layer"],
        is_pool=first["is_pool"],
        has_map=axis(first, "H") * axis(first, "W") > 1,
        densities={step: nonzeros[step] / words[step] for step in words},
    )
