"""Check the paper's claims on ratios and densities on records.

The paper: Rhu et al., *Compressing DMA Engine*, HPCA 2018. A rule decides whether a claim holds,
for every network with enough records.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from cdma.study.density import Layer, layers_of, steps_of
from cdma.study.layers import has_all_axes
from cdma.study.layouts import LAYOUTS
from cdma.study.pooling import Pair
from cdma.study.summary import mean, totals

RATIO, MAXIMUM = 2.6, 13.8
FIRST_DENSITY, MARGIN = 0.5, 0.1
#: The paper's algorithms among ``ALGORITHMS``.
RL, ZV, ZL = "rl", "zvc32", "zlib4k"


@dataclass(frozen=True)
class Part:
    """Result of one network: a figure, and whether the claim holds for it."""

    figure: str
    holds: bool


@dataclass(frozen=True)
class Claim:
    """A claim and its verdict.

    Parameters
    ----------
    text : str
        Statement of the paper.
    rule : str
        Condition under which the claim holds.
    parts : dict of str to Part
        Results by network.
    figure : str
        Summary of the parts.
    """

    text: str
    rule: str
    parts: dict[str, Part] = field(default_factory=dict)
    figure: str = ""

    @property
    def verdict(self) -> str:
        """``holds``, ``does not hold``, or the number of networks in which the claim holds."""
        if not self.parts:
            return "no data"
        count = sum(part.holds for part in self.parts.values())
        if count in (0, len(self.parts)):
            return "holds" if count else "does not hold"
        return f"holds in {count} of {len(self.parts)}"


def ratio_claims(records: Sequence[dict]) -> list[Claim]:
    """The claims on ratios. ``records`` are the records of maps in three layouts."""
    by_network = {it["network"]: it for it in totals(records) if it["layout"] == LAYOUTS[0]}
    ratios = {network: total["ratios"] for network, total in by_network.items()}
    average = mean(ratio[ZV] for ratio in ratios.values())
    best = max(records, key=lambda record: record["ratios"][ZV])
    most = best["ratios"][ZV]
    return [
        Claim(
            f"ZV compresses {RATIO}x on average",
            f"the mean of the networks' ratios is at least {RATIO}",
            {"all": Part("", average >= RATIO)},
            f"{average:.2f}x, networks {_range([r[ZV] for r in ratios.values()], '.2f', 'x')}",
        ),
        Claim(
            f"ZV compresses up to {MAXIMUM}x",
            f"a tensor is compressed at least {MAXIMUM}x",
            {"all": Part("", most >= MAXIMUM)},
            f"{most:.1f}x at most ({best['network']} {best['layer']})",
        ),
        _insensitive(records),
        _best_layout(records),
        Claim(
            "ZL compresses best",
            "zlib of 4 KiB windows compresses better than ZV and RL, in NCHW",
            {
                network: Part(f"{r[ZL]:.2f}x", r[ZL] > max(r[ZV], r[RL]))
                for network, r in ratios.items()
            },
            f"{mean(r[ZL] for r in ratios.values()):.2f}x on average, ZV {average:.2f}x, "
            f"RL {mean(r[RL] for r in ratios.values()):.2f}x",
        ),
    ]


def density_claims(records: Sequence[dict], pairs: Sequence[Pair]) -> list[Claim]:
    """The four observations on density."""
    networks = layers_of(records)
    trained = {name: layers for name, layers in networks.items() if len(steps_of(layers)) > 1}
    return [
        _first_layer(trained),
        _pooling(pairs),
        _over_training(trained),
        _depth(networks),
    ]


def _insensitive(records: Sequence[dict]) -> Claim:
    sizes: dict[str, dict[str, set[int]]] = {}
    for record in records:
        of_network = sizes.setdefault(record["network"], {})
        of_network.setdefault(record["tensor"], set()).add(record["sizes"][ZV])
    same = {name: [len(found) == 1 for found in of.values()] for name, of in sizes.items()}
    return Claim(
        "ZV does not depend on the layout",
        "each tensor has the same size in all three",
        {name: Part(f"{sum(each)} of {len(each)}", all(each)) for name, each in same.items()},
        f"{sum(map(sum, same.values()))} of {sum(map(len, same.values()))} tensors",
    )


def _best_layout(records: Sequence[dict]) -> Claim:
    ratios: dict[str, dict[str, float]] = {}
    for total in totals(filter(has_all_axes, records)):
        ratios.setdefault(total["network"], {})[total["layout"]] = total["ratios"][RL]
    means = [mean(ratio[layout] for ratio in ratios.values()) for layout in LAYOUTS]
    return Claim(
        "RL compresses best in NCHW",
        "of the network's tensors with several images and channels, in total",
        {
            name: Part(
                " / ".join(f"{ratio[layout]:.2f}" for layout in LAYOUTS),
                ratio[LAYOUTS[0]] == max(ratio.values()),
            )
            for name, ratio in ratios.items()
        },
        ", ".join(f"{layout} {it:.2f}x" for layout, it in zip(LAYOUTS, means, strict=True)),
    )


def _first_layer(networks: dict[str, list[Layer]]) -> Claim:
    parts = {}
    for name, layers in networks.items():
        densities = list(layers[0].densities.values())
        near = all(abs(density - FIRST_DENSITY) <= MARGIN for density in densities)
        parts[name] = Part(_range(densities, ".0%"), near)
    every = [d for layers in networks.values() for d in layers[0].densities.values()]
    return Claim(
        f"The first convolution has a density of about {FIRST_DENSITY:.0%} all through training",
        f"at every step within {MARGIN * 100:.0f} points of that",
        parts,
        _range(every, ".0%") if every else "",
    )


def _pooling(pairs: Sequence[Pair]) -> Claim:
    by_network: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_network.setdefault(pair.network, []).append(pair)
    parts = {}
    for name, found in by_network.items():
        risen = [pair for pair in found if pair.density > pair.density_before]
        parts[name] = Part(f"{len(risen)} of {len(found)}", len(risen) == len(found))
    change = mean(pair.density - pair.density_before for pair in pairs)
    count = sum(pair.density > pair.density_before for pair in pairs)
    return Claim(
        "Pooling raises density",
        "after every pooling layer, at every step, it is higher than before it",
        parts,
        f"{count} of {len(pairs)}, by {change * 100:.0f} points on average" if pairs else "",
    )


def _over_training(networks: dict[str, list[Layer]]) -> Claim:
    parts, falls, returns = {}, 0, 0
    for name, layers in networks.items():
        steps = steps_of(layers)
        known = [it for it in layers if not it.is_pool and all(s in it.densities for s in steps)]
        if not known:
            continue
        densities = {step: mean(layer.densities[step] for layer in known) for step in steps}
        first, last = densities[steps[0]], densities[steps[-1]]
        lowest = min(densities, key=densities.get)
        is_early = lowest <= (steps[0] + steps[-1]) / 2
        figure = f"{first:.1%}, lowest {densities[lowest]:.1%} at {lowest:g}, last {last:.1%}"
        parts[name] = Part(figure, is_early and first > densities[lowest] < last)
        falls += first > densities[lowest]
        returns += last > densities[lowest]
    return Claim(
        "Density falls early in training and creeps back",
        "the mean of the ReLU layers is lowest in the first half of the steps, below that of the "
        "first and of the last step",
        parts,
        f"falls in {falls} of {len(parts)}, creeps back in {returns}" if parts else "",
    )


def _depth(networks: dict[str, list[Layer]]) -> Claim:
    parts, halves = {}, []
    for name, layers in networks.items():
        maps = [layer.last for layer in layers if layer.has_map and not layer.is_pool]
        half = len(maps) // 2
        if half >= 2:
            first, second = mean(maps[:half]), mean(maps[-half:])
            halves.append((first, second))
            parts[name] = Part(f"{first:.0%}, then {second:.0%}", second < first)
    return Claim(
        "Later layers are sparser",
        "in the second half of the ReLU layers that have maps, mean density is lower than in the "
        "first, at the last step",
        parts,
        f"{mean(a for a, _ in halves):.0%}, then {mean(b for _, b in halves):.0%}"
        if halves
        else "",
    )


def _range(values: Sequence[float], fmt: str, unit: str = "") -> str:
    ends = dict.fromkeys(f"{value:{fmt}}{unit}" for value in (min(values), max(values)))
    return " to ".join(ends)
