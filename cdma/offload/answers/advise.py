"""Should an accelerator have this engine, and of which size?

An engine *pays* when the step is at least 1 % shorter than the best lossless baseline of today that
needs no more peak memory.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cdma.engine_config import CHANNELS, EngineConfig
from cdma.offload.moves import Codec, coded_move, measured_codec, units_of
from cdma.offload.profiles import Uniform
from cdma.offload.schemes.registry import SCHEMES, Result, results
from cdma.offload.setup import Setup

_LANES = (4, 8, 16, 32)
#: How full the link must be, and by how much a step must be shorter.
LINK_USE, MARGIN = 0.95, 0.01
#: Systems that have the engine.
WITH_ENGINE = ("cdma-zv", "async-zv")
BASELINES = tuple(
    name
    for name, scheme in SCHEMES.items()
    if scheme.kind == "today" and scheme.lossless and scheme.needs is None
)
_STEPS = 20
#: Speeds of compute that a curve shows, relative to the setup's.
FACTORS = (0.5, 1, 2, 4, 8, 16, 32, 64)
#: What a table of a curve shows, and its headings.
COLUMNS = {
    key: key.replace("_", " ")
    for key in (
        "tflops", "step_ms", "engine", "best_ms", "baseline", "over_best", "over_vdnn", "pays",
    )
}  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """Steps with the engine and with the best baseline, in seconds."""

    engine: str
    seconds: float
    baseline: str
    baseline_seconds: float
    vdnn_seconds: float

    @property
    def over_best(self) -> float:
        """Speed over the best baseline."""
        return self.baseline_seconds / self.seconds

    @property
    def pays(self) -> bool:
        """Whether the engine is worth it."""
        return self.seconds <= (1 - MARGIN) * self.baseline_seconds


def answer(setup: Setup) -> Answer:
    """The fastest system with the engine against the fastest baseline of no more peak memory."""
    found = {each.name: each for each in results(setup, [*WITH_ENGINE, *BASELINES, "vdnn-all"])}
    engine = min((found[name] for name in WITH_ENGINE), key=lambda each: each.step.seconds)
    best = found[best_baseline(found, engine.peak)]
    vdnn = found["vdnn-all"].step.seconds
    return Answer(engine.name, engine.step.seconds, best.name, best.step.seconds, vdnn)


def best_baseline(found: Mapping[str, Result], peak: float) -> str:
    """Fastest lossless baseline of at most this peak memory; vDNN always fits."""
    fit = [name for name in BASELINES if found[name].peak <= peak]
    return min([*fit, "vdnn-all"], key=lambda name: found[name].step.seconds)


def link_use(setup: Setup, codec: Codec) -> float:
    """Share of the time of all copies that the link itself needs."""
    ideal = Codec(window=codec.window)
    times = []
    for each in (ideal, codec):
        moves = [
            coded_move(tensor, setup.profiles["zv"].of(tensor), setup.link, each)
            for tensor in setup.tensors()
        ]
        times.append(sum(move.down + move.up for move in moves))
    return times[0] / times[1]


def engines(setup: Setup) -> list[dict]:
    """Measured engines with their area and use of the link, the smallest area first.

    The rate of an engine is capped by the bandwidth of the device memory.
    """
    found = []
    for lanes in _LANES:
        for channels in CHANNELS:
            config = EngineConfig(channels=channels, lanes=lanes)
            codec = measured_codec(config)
            units = units_of(config)
            rate = min(codec.down, codec.up, setup.dram)
            capped = replace(codec, down=min(codec.down, setup.dram), up=min(codec.up, setup.dram))
            found.append(
                {
                    "engine": f"{channels} x {lanes}x32",
                    "channels": channels,
                    "lanes": lanes,
                    "area_mm2": channels * sum(u["area_um2"] for u in units.values()) / 1e6,
                    "raw_gb_per_s": rate / 1e9,
                    "link_use": link_use(setup, capped),
                    "buffer_kib": channels * (config.stage_bytes + config.queue_bytes) / 1024,
                    "clock_ghz": min(u["gb_per_s"] for u in units.values()) / config.beat_bytes,
                    "codec": capped,
                }
            )
    return sorted(found, key=lambda row: row["area_mm2"])


def choose(setup: Setup) -> tuple[dict, Setup]:
    """The smallest measured engine that fills the link, and the setup with it.

    Without such an engine, the one that uses the most of the link.
    """
    rows = engines(setup)
    full = [row for row in rows if row["link_use"] >= LINK_USE]
    row = full[0] if full else max(rows, key=lambda each: each["link_use"])
    return row, replace(setup, codec=row["codec"])


def break_even(setup: Setup, config: EngineConfig) -> float | None:
    """Highest density of sparse tensors at which the engine pays; ``None`` when it never does."""

    def pays(density: float) -> bool:
        mask = config.format.mask_bytes / config.block_bytes
        uniform = Uniform(1 / min(density + mask, 1.0), config)
        return answer(replace(setup, profiles={"zv": uniform})).pays

    low, high = 0.01, 1.0
    if not pays(low):
        return None
    if pays(high):
        return high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if pays(middle) else (low, middle)
    return low


def left_raw(setup: Setup) -> list[str]:
    """Tensors that compression does not make smaller: send them as they are."""
    return [
        tensor.name
        for tensor in setup.tensors()
        if tensor.kind == "mask" or setup.profiles["zv"].of(tensor).fraction >= 1
    ]


def curve(setup: Setup, factors=FACTORS) -> list[dict]:
    """The answer at several speeds of compute, in achieved TFLOP/s."""
    found = []
    for factor in factors:
        one = replace(setup, times=setup.times.scaled(1 / factor))
        each = answer(one)
        found.append(
            {
                "tflops": achieved(one) / 1e12,
                "step_ms": 1e3 * each.seconds,
                "engine": each.engine,
                "best_ms": 1e3 * each.baseline_seconds,
                "baseline": each.baseline,
                "over_best": each.over_best,
                "over_vdnn": each.vdnn_seconds / each.seconds,
                "pays": each.pays,
            }
        )
    return found


def compared(setup: Setup, speed: float, name: str) -> tuple[float, float]:
    """Speed of a system over vDNN and over the best baseline of no more peak memory.

    ``speed`` is that of compute, relative to the setup's.
    """
    one = replace(setup, times=setup.times.scaled(1 / speed))
    found = {each.name: each for each in results(one, [name, *BASELINES, "vdnn-all"])}
    best = best_baseline(found, found[name].peak)
    seconds = found[name].step.seconds
    return found["vdnn-all"].step.seconds / seconds, found[best].step.seconds / seconds


def achieved(setup: Setup) -> float:
    """FLOP/s of a step without waits: three passes of the forward work."""
    work = 6 * setup.batch * sum(layer.macs for layer in setup.features.layers)
    return work / setup.times.total


def at_speed(setup: Setup, tflops: float) -> Setup:
    """The setup with all times scaled to an achieved rate."""
    return replace(setup, times=setup.times.scaled(achieved(setup) / (1e12 * tflops)))
