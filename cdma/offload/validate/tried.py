"""What was tried to explain the misses of vDNN's Fig. 14 and of cDMA's speed.

Every attempt changes one assumption. None of them is the model's: its constants are frozen.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from cdma.offload import constants
from cdma.offload.builder import Wishes, build
from cdma.offload.moves import Link
from cdma.offload.networks.zoo import PAPER
from cdma.offload.schemes import synchronised
from cdma.offload.schemes.registry import SCHEMES
from cdma.offload.schemes.registry import seconds as seconds_of
from cdma.offload.setup import Setup
from cdma.offload.validate import vdnn

COLUMNS = {
    "assumption": "assumption",
    "vgg": "VGG-E all (p), points",
    "worst": "worst of 20 bars, points",
    "titan-x": "cDMA over vDNN, Titan X",
    "titan-xp": "Titan Xp",
}
_SLOW_LINK = 10e9
#: Batch from which on the paper's own figures are not linear in the batch.
_LARGE = 256
_MIDDLE = sum(vdnn.BAND) / 2


def _on_demand(setup: Setup, name: str) -> float:
    job = setup.job(SCHEMES[name].run(setup)[1])
    return synchronised.run(job, prefetches=False).seconds


@dataclass(frozen=True)
class Attempt:
    """An assumption in place of the model's.

    Parameters
    ----------
    title : str
    change : callable
        Gives the changed setup.
    seconds : callable
        Gives the step of a system on a setup.
    """

    title: str
    change: Callable[[Setup], Setup] = lambda setup: setup
    seconds: Callable[[Setup, str], float] = seconds_of


def scaled(setup: Setup, wanted: Callable, forward: float, backward: float) -> Setup:
    """The setup with the times of some layers multiplied."""
    is_wanted = [wanted(layer) for layer in setup.features.layers]
    ways = []
    for times, factor in ((setup.times.forward, forward), (setup.times.backward, backward)):
        pairs = zip(times, is_wanted, strict=True)
        ways.append(tuple(t * factor if flag else t for t, flag in pairs))
    return replace(setup, times=replace(setup.times, forward=ways[0], backward=ways[1]))


def _fast_pools(setup: Setup) -> Setup:
    factor = constants.POOL_BACKWARD.value / constants.POOL_FORWARD[2, 2].value
    return scaled(setup, lambda layer: layer.kind == "maxpool", 1, factor)


def _fast_convolutions(setup: Setup) -> Setup:
    # AlexNet has its factor already; VGG-E's times are published.
    if setup.network.speedup != 1 or setup.network.name == vdnn.FIG6_NETWORK:
        return setup
    factor = 1 / constants.ALEXNET_SPEEDUP.value
    return scaled(setup, lambda layer: layer.kind == "conv", factor, factor)


def _roofline(setup: Setup) -> Setup:
    """The calibrated rates for VGG-E too, in place of the paper's Fig. 6."""
    return replace(setup, times=vdnn.modelled(setup))


ATTEMPTS = (
    Attempt("none: the model"),
    Attempt("VGG-E at the calibrated rates, not at the times of vDNN Fig. 6", _roofline),
    Attempt("VGG D at the times of vDNN Fig. 6, by shape", vdnn.with_fig6),
    Attempt("pooling backward as fast as forward", _fast_pools),
    Attempt(f"link of {_SLOW_LINK / 1e9:g} GB/s",
            lambda setup: replace(setup, link=Link(_SLOW_LINK))),
    Attempt("copies back on demand, without prefetch", seconds=_on_demand),
    Attempt(
        f"AlexNet's factor {constants.ALEXNET_SPEEDUP.value:g} for all convolutions of the logs' "
        "rates",
        _fast_convolutions,
    ),
)  # fmt: skip


def rows() -> list[dict]:
    """A row for each attempt; empty without the published figures."""
    if vdnn.lines() is None:
        return []
    return [_row(attempt) for attempt in ATTEMPTS]


def _row(attempt: Attempt) -> dict:
    errors = {}
    for line in vdnn.lines():
        for key in vdnn.KEYS if int(line["batch"]) < _LARGE else ():
            published, modelled = bar(attempt, line, key)
            errors[line["net"], line["batch"], key] = 100 * (modelled - published)
    vgg = next(error for (net, _, key), error in errors.items()
               if net.startswith("VGG") and key == "all_p")  # fmt: skip
    found = {"assumption": attempt.title, "vgg": f"{vgg:+.1f}"}
    found["worst"] = f"{max(errors.values(), key=abs):+.1f}"
    for board in ("titan-x", "titan-xp"):
        gains = gains_of(attempt, board)
        found[board] = f"+{sum(gains) / len(gains):.0f} %, +{max(gains):.0f} %"
    return found


def bar(attempt: Attempt, line: dict, key: str) -> tuple[float, float]:
    """Published speed of a bar of Fig. 14 and the attempt's, at the middle of the link's band."""
    policy, algorithm = key.split("_")
    base = float(line[f"base_{algorithm}"])
    setup = replace(vdnn.setup_of(line), link=Link(_MIDDLE), dram=float("inf"))
    setup = attempt.change(setup)
    setup = replace(setup, times=vdnn.slowed(setup.features, setup.times, base))
    return float(line[key]) / base, setup.times.total / attempt.seconds(setup, f"vdnn-{policy}")


def gains_of(attempt: Attempt, board: str) -> list[float]:
    """Gain of cDMA over vDNN in percent, at the paper's ratio, for each of its networks."""
    found = []
    for name in PAPER:
        wishes = Wishes(name, board=board, ratio=constants.CDMA_RATIO.value, everything=True)
        setup = attempt.change(build(wishes))
        slow, fast = (attempt.seconds(setup, each) for each in ("vdnn-all", "cdma-zv"))
        found.append(100 * (slow / fast - 1))
    return found
