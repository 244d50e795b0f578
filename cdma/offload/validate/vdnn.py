"""vDNN, MICRO 2016: offloaded bytes (Fig. 12) and speed of each policy (Fig. 14).

Speeds are over the paper's own base, the same algorithms without offloading. For the
memory-optimal algorithms the model's convolutions are slowed until the step takes what the paper's
base takes. The link is a band, since the paper does not give its effective bandwidth. VGG-E's
convolutions take the times of the paper's Fig. 6: they are up to twice as fast as in the logs on
which the model is calibrated.
"""

from dataclasses import replace

from cdma.offload import constants
from cdma.offload.builder import Wishes, build
from cdma.offload.compute import WORD, Times, times_of
from cdma.offload.moves import Link
from cdma.offload.networks.graph import Layer, Network
from cdma.offload.networks.zoo import network
from cdma.offload.schemes.registry import seconds
from cdma.offload.setup import Setup
from cdma.offload.validate.rows import MISSED, Row, judged, not_given, read

FILE, FIG6 = "vdnn_fig14_fig12.csv", "vdnn_fig6_vggE_b64.csv"
#: Network and batch of Fig. 6.
FIG6_NETWORK, _FIG6_BATCH = "vgg-e", 64
#: Bars of a network: policy and algorithm.
KEYS = ("all_p", "all_m", "conv_p", "conv_m")
_COLUMNS = ("net", "batch", "all_m", "all_p", "conv_m", "conv_p", "base_m", "base_p")
#: Beginning of the paper's names, and the model's network.
_NETWORKS = {
    "AlexNet": "alexnet", "OverFeat": "overfeat-accurate", "GoogLeNet": "googlenet",
    "VGG-E": "vgg-e",
}  # fmt: skip
#: Effective bandwidth of the link, in bytes per second.
BAND = (12e9, 13e9)
_POINTS, _SHARE, _MIB = 3.0, 0.03, 15.0
_RULE_BYTES = "within 3 % + 15 MiB"
_RULE_SPEED = "within 3 points of the band 12-13 GB/s"
_BATCH = "the model is linear in the batch; the paper's slowdown at batch 256 is not"


def rows() -> list[Row]:
    """Rows of both figures."""
    found = lines()
    if found is None:
        return [
            not_given("vDNN Fig. 12: offloaded MiB", _RULE_BYTES),
            not_given("vDNN Fig. 14: speed", _RULE_SPEED),
        ]
    return [*(_bytes(line) for line in found), *(row for line in found for row in _speeds(line))]


def lines() -> list[dict] | None:
    """Published lines, one a network and batch; ``None`` without the figures."""
    return read(FILE, _COLUMNS)


def points() -> list[dict]:
    """Published and modelled speed of each bar, for a figure; empty without the figures."""
    found = []
    for line in lines() or ():
        for key in KEYS:
            published, low, high = _speed(line, key)
            found.append({"net": line["net"], "batch": int(line["batch"]), "policy": key,
                          "published": published, "low": low, "high": high})  # fmt: skip
    return found


def setup_of(line: dict) -> Setup:
    """Setup of a published line."""
    name = next(ours for head, ours in _NETWORKS.items() if line["net"].startswith(head))
    setup = build(Wishes(name, batch=int(line["batch"]), ratio=1.0, codec=1.0))
    return with_fig6(setup) if name == FIG6_NETWORK else setup


def with_fig6(setup: Setup) -> Setup:
    """The setup with the times of Fig. 6 where a VGG has convolutions of these shapes."""
    if not setup.network.name.startswith("vgg-"):
        return setup
    published = _fig6()
    rate = constants.MEMORY.value * setup.board.memory
    speed = setup.board.compute * _FIG6_BATCH / setup.batch
    forward, backward = list(setup.times.forward), list(setup.times.backward)
    for i, layer in enumerate(setup.features.layers):
        if _shape(layer) in published:
            y = layer.elements * setup.batch * WORD  # the ReLU behind it, as in the model
            there, back = published[_shape(layer)]
            forward[i], backward[i] = there / speed + 2 * y / rate, back / speed + 3 * y / rate
    times = replace(setup.times, forward=tuple(forward), backward=tuple(backward))
    return replace(setup, times=times)


def _fig6() -> dict[tuple, tuple[float, float]]:
    """Seconds forward and backward by shape of the convolution; the first of a shape counts."""
    layers = [layer for layer in network(FIG6_NETWORK).features.layers if layer.kind == "conv"]
    found: dict[tuple, tuple[float, float]] = {}
    for layer, line in zip(layers, read(FIG6, ("fwd_ms", "bwd_ms")) or (), strict=True):
        times = float(line["fwd_ms"]) / 1e3, float(line["bwd_ms"]) / 1e3
        found.setdefault(_shape(layer), times)
    return found


def _shape(layer: Layer) -> tuple:
    return layer.kind, layer.in_shape, layer.shape, layer.kernel


def modelled(setup: Setup) -> Times:
    """Times of the calibrated model."""
    return times_of(setup.features, setup.batch, setup.board)


def _bytes(line: dict) -> Row:
    setup = setup_of(line)
    given = [float(line[f"offload_{policy}_MiB"]) for policy in ("all", "conv")]
    ours = [sum(t.bytes for t in setup.tensors(policy)) / 2**20 for policy in ("all", "conv")]
    met = all(abs(a - b) <= _SHARE * b + _MIB for a, b in zip(ours, given, strict=True))
    return Row(
        f"vDNN Fig. 12: MiB of all and conv, {_label(line)}",
        " and ".join(f"{value:,.0f}" for value in given),
        " and ".join(f"{value:,.0f}" for value in ours),
        "nothing moves: 0 and 0",
        _RULE_BYTES,
        judged(met),
    )


def _speeds(line: dict) -> list[Row]:
    found = []
    for policy in ("all", "conv"):
        for algorithm in ("p", "m"):
            published, low, high = _speed(line, f"{policy}_{algorithm}")
            error = 100 * max(low - published, published - high, 0)
            is_large = line["batch"] == "256"
            reason = _BATCH if is_large else ""
            found.append(
                Row(
                    f"vDNN Fig. 14: {policy} ({algorithm}), {_label(line)}",
                    f"{published:.3f}",
                    f"{low:.3f} to {high:.3f}",
                    f"speed 1: off by {100 * abs(1 - published):.1f}",
                    _RULE_SPEED,
                    judged(error <= _POINTS),
                    reason if error > _POINTS else "",
                )
            )
    if float(line["dyn"]) != 1:
        found.append(
            Row(f"vDNN Fig. 14: dyn, {_label(line)}", line["dyn"], "-", "speed 1", _RULE_SPEED,
                MISSED, "the choice of algorithms is not modelled")
        )  # fmt: skip
    return found


def _speed(line: dict, key: str) -> tuple[float, float, float]:
    """Published speed over the own base, and the model's at both ends of the band."""
    policy, algorithm = key.split("_")
    base = float(line[f"base_{algorithm}"])
    setup = setup_of(line)
    times = slowed(setup.features, setup.times, base)
    found = []
    for bandwidth in BAND:
        one = replace(setup, link=Link(bandwidth), times=times, dram=float("inf"))
        found.append(times.total / seconds(one, f"vdnn-{policy}"))
    return float(line[key]) / base, *found


def slowed(network: Network, times: Times, base: float) -> Times:
    """Times whose convolutions are slower, so that the step is ``1 / base`` as long."""
    is_conv = [layer.kind == "conv" for layer in network.layers]
    every = list(zip(is_conv * 2, (*times.forward, *times.backward), strict=True))
    conv = sum(seconds for flag, seconds in every if flag)
    factor = (times.total / base - (times.total - conv)) / conv
    both = [seconds * factor if flag else seconds for flag, seconds in every]
    count = len(is_conv)
    return replace(times, forward=tuple(both[:count]), backward=tuple(both[count:]))


def _label(line: dict) -> str:
    return f"{line['net']}, batch {line['batch']}"
