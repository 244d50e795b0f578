"""A batch: one engine with memories of its own, and the rounds that it plays."""

from collections import Counter
from collections.abc import Callable
from random import Random

import numpy as np

from cdma.engine_codes import Status
from cdma.engine_config import EngineConfig
from cdma.errors import SimulationError
from cdma.golden.engine.descriptor import Completion
from cdma.sim.cocotb.ports import Violation
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import OFFLOAD, PREFETCH
from cdma.verify.fuzz.engine.jobs.heap import Heap
from cdma.verify.fuzz.engine.jobs.plan import Plan
from cdma.verify.fuzz.engine.jobs.words import Words
from cdma.verify.fuzz.engine.moods import MOODS
from cdma.verify.fuzz.engine.moods import draw as draw_mood
from cdma.verify.fuzz.engine.registers import Counted
from cdma.verify.fuzz.engine.rounds import Round
from cdma.verify.fuzz.engine.software import Software

#: Rounds of a batch.
ROUNDS = 24
_STALLS = ("bernoulli:0.3", "bernoulli:0.8", "bursts:5,40", "alternating")


class Batch:
    """An engine, its memories, and rounds of random jobs.

    Parameters
    ----------
    config : EngineConfig
    seed, number : int
        Determine all that is random.
    verilog, cache, progress
        See :class:`cdma.sim.engine.model.EngineModel`.
    observe : callable or None
        Called with each descriptor and its completion.
    is_read : bool
        Read registers and counters back after each round, and not after some only.

    Attributes
    ----------
    kinds, statuses : Counter of str
        Jobs by their kind and by the status that they ended with.
    failed_round : int or None
    is_prompt : bool
        The memories are near, and never stall.
    """

    def __init__(
        self,
        config: EngineConfig,
        seed: int,
        number: int,
        verilog: str | None = None,
        *,
        cache=None,
        progress: Callable[[str], None] | None = None,
        observe: Callable | None = None,
        is_read: bool = False,
    ):
        self.config, self.seed, self.number = config, seed, number
        self.observe = observe or (lambda descriptor, completion: None)
        self.kinds, self.statuses = Counter(), Counter()
        self.failed_round: int | None = None
        self.is_read = is_read
        rng = np.random.default_rng([seed, number, 4])
        self._random = random = Random(f"{seed} {number}")
        self.heap = Heap(config, rng)
        self.mood = MOODS[draw_mood(random)][1]
        self.words = Words(config, rng, self.mood.lengths)
        self.is_near = random.random() < 0.75
        self.latency = 10 if self.is_near else 350
        device, host = (_memory(random, self.is_near, config.beat_bytes) for _ in range(2))
        self.is_prompt = self.is_near and not any(
            memory.stalls or memory.bandwidth or memory.refresh[0] for memory in (device, host)
        )
        self.heap.begin(random)
        self.coalesces = random.random() < 0.3
        log2 = random.choice((0, 1, 2, 3, 4, 5, 5, 5, 5, 6))
        options = {"log2": log2, "verilog": verilog, "cache": cache, "progress": progress}
        self._draw_registers()
        seed = random.getrandbits(30)
        self.model = Software(config, device, host, seed, self.heap, **options)
        self.set_up(is_first=True)

    def _draw_registers(self):
        random, config = self._random, self.config
        rates = (0, 700 * config.beat_bytes, random.randrange(2000, 1 << 17))
        is_limited = random.random() < 0.15
        self._rates = [random.choice(rates) * is_limited for _ in range(config.channels)]
        self._qos = [random.randrange(16) for _ in range(config.channels)]
        self._attributes = [random.getrandbits(16) & 0xF7FF for _ in range(2)]
        self.irq_enable = random.getrandbits(6)
        self._coalesce = random.getrandbits(10) << 8 | random.getrandbits(4)
        sizes = random.random() < 0.2
        self._completion_log2 = random.randrange(6) if sizes else None

    def set_up(self, *, is_first: bool = False) -> None:
        """Program the engine, after its creation or after a reset."""
        model = self.model
        if is_first:
            self.counted = Counted(model)
        else:
            model.recover()
            self.counted.reset()
        model.attributes = self._attributes
        for ring in (OFFLOAD, PREFETCH):
            log2 = model.rings[ring].log2
            model.stop(ring)
            model.set_ring(ring, log2, self._completion_log2)
        model.set_channels(self._rates, self._qos)
        model.write("ENGINE", "IRQ_ENABLE", self.irq_enable)
        if self.coalesces:
            model.write("ENGINE", "IRQ_COALESCE", self._coalesce)

    def play(self, round_: int | None = None, only: int | None = None, rounds: int = ROUNDS) -> str:
        """Play all rounds, or one of them, or one job of it. Returns the first difference."""
        for number in range(rounds) if round_ is None else [round_]:
            try:
                problem = Round(self, number, only=only).play()
            except (Violation, SimulationError) as error:
                problem = str(error)
            if problem:
                self.failed_round = number
                return f"round {number}, {problem}"
        return ""

    def count(self, plan: Plan, completion: Completion) -> None:
        """Count a job."""
        status = completion.status
        self.counted.add(status != Status.OK)
        self.kinds[plan.kind] += 1
        self.statuses[Status(status).name if status in set(Status) else f"{status}?"] += 1
        self.observe(plan.descriptor, completion)

    def close(self) -> None:
        """Free the model."""
        self.model.engine.close()


def _memory(random: Random, is_near: bool, beat: int) -> Memory:
    """A memory: smooth, or rough in some way. A memory that is far has many bursts at a time."""
    if is_near:
        latency, jitter, tail = random.choice((0, 1, 4, 10)), random.choice((0, 0, 15)), 0.0
        outstanding = random.choice((1, 3, 16, 256))
    else:
        latency, jitter = random.choice((60, 350)), random.choice((0, 20, 300))
        tail, outstanding = random.choice((0, 0.02)), random.choice((16, 256))
    base = {"latency": latency, "jitter": jitter, "outstanding": outstanding}
    if random.random() < 0.5:
        return Memory(**base)
    stalls = {}
    for channel in ("ar", "r", "aw", "w", "b"):
        if random.random() < 0.3:
            stalls[channel] = random.choice(_STALLS)
    return Memory(
        **base,
        tail=tail,
        tail_latency=1000,
        reorder=random.choice((0, 0.5, 1)),
        refresh=(400, 60) if random.random() < 0.3 else (0, 0),
        bandwidth=random.choice((0, 0, 0, beat / 3, 1.2 * beat)),
        order=random.choice(("any", "address-first", "data-first")),
        stalls=stalls,
    )
