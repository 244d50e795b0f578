"""What the document shows, as rows."""

from dataclasses import dataclass, replace

from cdma.offload import records
from cdma.offload.answers import advise
from cdma.offload.builder import Wishes, at_link, build, config_of
from cdma.offload.networks.zoo import PAPER
from cdma.offload.profiles import Library, stages_of
from cdma.offload.schemes.registry import Result, results, seconds
from cdma.offload.schemes.software import decisions
from cdma.offload.setup import Setup
from cdma.offload.tuning import measured
from cdma.offload.tuning.tuner import Trial, tune

BOARDS = ("titan-x", "titan-xp")
#: Links in GB/s: PCIe 5 x16 as it comes, and a coherent chip-to-chip link nominally.
LINKS = {"PCIe 5 x16": 55.0, "C2C": 450.0}
#: Axes of the map of ratio and compute.
RATIOS, SPEEDS = (1.25, 1.5, 2, 2.6, 4, 8), (0.5, 1, 2, 4, 8, 16)
#: Networks with tensors of several stages of training.
_TRAINED = ("alexnet", "nin", "vgg-d")
#: Device memory beside the fast links, in GB/s.
DRAM = 3350.0
_LINK_STEPS = (2, 4, 6, 8, 10, 12.8, 16, 20, 24, 32, 48, 64)


@dataclass(frozen=True)
class Paper:
    """Step times in ms of one of the paper's networks on a board, by system.

    ``best`` is the best lossless baseline of no more peak memory than cDMA, ``best_async`` than the
    engine under asynchronous offload; ``memory`` is the peak of the latter over that of cDMA.
    """

    name: str
    board: str
    ratio: float
    ms: dict[str, float]
    best: str
    best_async: str
    memory: float

    def gain(self, over: str, of: str = "cdma-zv") -> float:
        """Speed of a system over another, in percent."""
        return 100 * (self.ms[over] / self.ms[of] - 1)


def setups(densities: tuple[str, ...], board: str) -> list[Setup]:
    """The paper's networks at measured ratios."""
    return [build(Wishes(name, board=board, densities=densities)) for name in PAPER]


def paper(densities: tuple[str, ...]) -> list[Paper]:
    """Every network on both boards."""
    found = []
    for board in BOARDS:
        for setup in setups(densities, board):
            each = {result.name: result for result in results(setup)}
            moves = each["cdma-zv"].moves
            ratio = sum(m.tensor.bytes for m in moves) / each["cdma-zv"].link
            best = [advise.best_baseline(each, each[name].peak) for name in advise.WITH_ENGINE]
            memory = each["async-zv"].peak / each["cdma-zv"].peak
            ms = {name: 1e3 * result.step.seconds for name, result in each.items()}
            found.append(Paper(setup.network.title, board, ratio, ms, *best, memory))
    return found


def steps(densities: tuple[str, ...], name: str = "googlenet") -> list[Result]:
    """Every system on one network."""
    return list(results(build(Wishes(name, densities=densities))))


def over_links(densities: tuple[str, ...]) -> dict[str, tuple[float, list[tuple]]]:
    """By network: the knee, and link in GB/s with the gain of cDMA over vDNN and async in percent.

    At the knee cDMA's copies take as long as compute without waits.
    """
    found = {}
    for setup in setups(densities, BOARDS[0]):
        points = []
        for link in _LINK_STEPS:
            one = at_link(setup, link * 1e9)
            ms = {n: seconds(one, n) for n in ("vdnn-all", "cdma-zv", "async")}
            gains = (100 * (ms[n] / ms["cdma-zv"] - 1) for n in ("vdnn-all", "async"))
            points.append((link, *gains))
        sent = sum(move.link for move in setup.coded())
        found[setup.network.title] = 2 * sent / setup.times.total / 1e9, points
    return found


def over_ratio_and_compute(name: str = "googlenet") -> dict[str, list[list[float]]]:
    """Speed of cDMA over vDNN, and of async + ZV over the best baseline of no more peak memory.

    A row for each of ``RATIOS``, a column for each of ``SPEEDS``.
    """
    plain: list[list[float]] = []
    best: list[list[float]] = []
    for ratio in RATIOS:
        setup = build(Wishes(name, ratio=ratio))
        plain.append([advise.compared(setup, speed, "cdma-zv")[0] for speed in SPEEDS])
        best.append([advise.compared(setup, speed, "async-zv")[1] for speed in SPEEDS])
    return {"cDMA ZV over vDNN all": plain, "async + ZV over the best baseline": best}


def over_stages(densities: tuple[str, ...]) -> dict[str, list[tuple[float, float, float]]]:
    """By network: stage of training in percent, ratio, and gain of cDMA over vDNN in percent."""
    found = {}
    for name in _TRAINED:
        points = []
        for stage, setup in stages(densities, name):
            moves = setup.coded()
            ratio = sum(m.tensor.bytes for m in moves) / sum(m.link for m in moves)
            slow, fast = (seconds(setup, n) for n in ("vdnn-all", "cdma-zv"))
            points.append((stage, ratio, 100 * (slow / fast - 1)))
        if len(points) > 1:
            found[setup.network.title] = points
    return found


def tuned() -> tuple[list[tuple[int, int]], list[Trial], list[float]] | None:
    """Space, trials of one run of the tuner, and the measured seconds; ``None`` without them."""
    if not records.CPU.is_file():
        return None
    kept = measured.read()
    space = [tuple(point) for point in kept.space]
    known = dict(zip(space, kept.seconds, strict=True))
    return space, tune(space, known.__getitem__), kept.seconds


def advised(densities: tuple[str, ...], name: str = "googlenet") -> Setup:
    """A network with the engine that is chosen for PCIe 5."""
    link = LINKS["PCIe 5 x16"]
    return advise.choose(build(Wishes(name, densities=densities, link=link, dram=DRAM)))[1]


def comet(densities: tuple[str, ...], lossy: str) -> list[dict]:
    """COMET beside cDMA on the paper's networks, on the first board, at a bound."""
    found = []
    for name in PAPER:
        setup = build(Wishes(name, board=BOARDS[0], densities=densities, lossy=lossy))
        each = {r.name: r for r in results(setup, ["cdma-zv", "comet"])}
        raw = sum(move.tensor.bytes for move in each["comet"].moves)
        row = {"network": setup.network.title}
        for key, result in each.items():
            row |= {f"{key} ratio": raw / result.link, f"{key} ms": 1e3 * result.step.seconds}
        gain = each["cdma-zv"].step.seconds / each["comet"].step.seconds - 1
        found.append(row | {"gain": f"{100 * gain:+.0f} %"})
    return found


def stages(densities: tuple[str, ...], name: str = "vgg-d") -> list[tuple[float, Setup]]:
    """A setup for each stage of training of a network's family."""
    found = []
    wishes = Wishes(name, densities=densities)
    setup = build(wishes)
    for step in stages_of(densities, name):
        window = setup.codec.window
        library = Library.read(densities, config_of(wishes), window, "zv", name, step)
        found.append((step, replace(setup, profiles={"zv": library})))
    return found


def decision_map(densities: tuple[str, ...]) -> tuple[list[str], list[float], list[list[float]]]:
    """CSWAP by layer and stage: names, stages, seconds saved by compression as a share of raw."""
    names, steps_, rows = [], [], []
    for step, setup in stages(densities):
        chosen = [each for each in decisions(setup) if each[0].tensor.kind != "mask"]
        names = [move.tensor.name for move, _, _ in chosen]
        steps_.append(step)
        rows.append([1e3 * (raw - coded) for _, raw, coded in chosen])
    return names, steps_, rows


def links(densities: tuple[str, ...], name: str = "googlenet") -> list[tuple[str, dict, list]]:
    """Advice for the two links: label, the engine, and the answer over compute."""
    found = []
    for label, link in LINKS.items():
        setup = build(Wishes(name, densities=densities, link=link, dram=DRAM))
        row, setup = advise.choose(setup)
        found.append((label, row, advise.curve(setup)))
    return found
