"""Random jobs through the compiled engine, good and damaged, against the golden engine.

Jobs come in batches; each batch has memories of its own and is made from the seed and its number
alone, so that one of them can be played again.
"""

import itertools
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from cdma.engine_codes import Op, State, Status
from cdma.engine_config import EngineConfig
from cdma.errors import SimulationError
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.cocotb.ports import Violation
from cdma.sim.engine.compare import offload_difference, prefetch_difference
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import OFFLOAD, PREFETCH, EngineModel, Job
from cdma.sim.stimulus import random_words

BATCH_JOBS = 100
_RAWS = ("never", "auto", "always")
_BUS = {
    (DEVICE, 2): Status.DEVICE_SLVERR,
    (DEVICE, 3): Status.DEVICE_DECERR,
    (HOST, 2): Status.HOST_SLVERR,
    (HOST, 3): Status.HOST_DECERR,
}


@dataclass
class Outcome:
    """What came of a run.

    Attributes
    ----------
    jobs, batches, cycles : int
        Jobs and batches played, and cycles of the clock that they took.
    kinds : Counter of str
        Jobs by their kind.
    statuses : Counter of str
        Jobs by the name of their status.
    seconds : float
        Wall time.
    problem : str
        First difference, broken rule or hang, or empty.
    failed_batch : int or None
        Batch that it was found in.
    """

    jobs: int = 0
    batches: int = 0
    cycles: int = 0
    kinds: Counter = field(default_factory=Counter)
    statuses: Counter = field(default_factory=Counter)
    seconds: float = 0.0
    problem: str = ""
    failed_batch: int | None = None

    @property
    def faulty(self) -> int:
        """Jobs that did not end with OK, as they should."""
        return self.statuses.total() - self.statuses["OK"]


def fuzz(
    config: EngineConfig,
    jobs: int,
    seed: int = 0,
    batch: int | None = None,
    *,
    verilog: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Outcome:
    """Play random jobs until one is not done as the golden engine says.

    Parameters
    ----------
    config : EngineConfig
        Size of the engine.
    jobs : int
        Jobs to play at least, in whole batches.
    seed : int
        Seeds all that is random.
    batch : int or None
        Play this batch only.
    verilog : str or None
        Simulated in place of what the package generates.
    progress : callable or None
        Called about once a second with the progress of the run.

    Raises
    ------
    UserError, SimulationError
        As :class:`cdma.sim.engine.model.EngineModel`.
    """
    start = reported = time.monotonic()
    outcome = Outcome()
    for number in itertools.count() if batch is None else [batch]:
        if batch is None and outcome.jobs >= jobs:
            break
        played = Batch(config, seed, number, verilog, progress)
        try:
            problem = played.run()
        except (Violation, SimulationError) as error:
            problem = f"{played.kind}: {error}"
        outcome.batches += 1
        outcome.jobs += played.kinds.total()
        outcome.kinds += played.kinds
        outcome.statuses += played.statuses
        outcome.cycles += played.model.engine.cycle
        outcome.seconds = time.monotonic() - start
        played.model.engine.close()
        if problem:
            outcome.problem = f"batch {number}, job {played.kinds.total() - 1}, {problem}"
            outcome.failed_batch = number
            break
        if progress and time.monotonic() - reported > 1:
            reported = time.monotonic()
            progress(f"{outcome.jobs:,} of {jobs:,} jobs, {outcome.cycles:,} cycles")
    return outcome


def row(config: EngineConfig, seed: int, outcome: Outcome, sizes: dict[str, int]) -> dict:
    """A run as plain numbers and texts, fit for JSON; ``sizes`` are the options that were given."""
    replay = None
    if outcome.failed_batch is not None:
        unit = (
            f"--lanes {config.lanes} --word-bits {config.word_bits} "
            f"--block-words {config.block_words}"
        )
        if config.is_plus:
            unit = f"--codec {config.codec} --type {config.type}"
        given = "".join(f" {name} {value}" for name, value in sizes.items())
        replay = (
            f"cdma fuzz --unit engine {unit}{given} --seed {seed} --batch {outcome.failed_batch}"
        )
    return {
        "unit": "engine",
        "config": config.name,
        "seed": seed,
        "packets": outcome.jobs,
        "malformed": outcome.faulty,
        "batches": outcome.batches,
        "cycles": outcome.cycles,
        "seconds": outcome.seconds,
        "errors": dict(sorted(outcome.statuses.items())),
        "verdict": "failed" if outcome.problem else "as it should be",
        "problem": outcome.problem,
        "replay": replay,
    }


class Batch:
    """One engine with memories of its own, and the jobs that it is given."""

    def __init__(
        self,
        config,
        seed,
        number,
        verilog=None,
        progress=None,
        *,
        jobs=BATCH_JOBS,
        cache=None,
        observe=None,
    ):
        self.config, self.jobs = config, jobs
        self.observe = observe or (lambda descriptor, completion: None)
        self.rng = np.random.default_rng([seed, number, 4])
        self.kinds, self.statuses = Counter(), Counter()
        self.kind = ""
        memories = _memory(self.rng), _memory(self.rng)
        log2 = int(self.rng.integers(0, 6))
        options = {"log2": log2, "verilog": verilog, "progress": progress, "cache": cache}
        self.model = EngineModel(config, *memories, int(self.rng.integers(1 << 30)), **options)

    def run(self) -> str:
        """Play all jobs; gives the first problem."""
        actions = [self.offload, self.round_trip, self.damaged, self.bus_error, self.bad]
        actions += [self.several, self.abort, self.copy, self.measure]
        weights = np.array([6, 6, 6, 4, 2, 3, 1, 2, 2], float)
        for _ in range(self.jobs):
            action = actions[self.rng.choice(len(actions), p=weights / weights.sum())]
            self.kind = action.__name__
            self.kinds[self.kind] += 1
            problem = action()
            if problem:
                return f"{self.kind}: {problem}"
        return ""

    def words(self) -> np.ndarray:
        """A tensor: mostly short, with lengths around a stripe's."""
        config, rng = self.config, self.rng
        stripe = config.stripe_words
        near = [0, 1, config.lanes, stripe - 1, stripe, stripe + 1, config.channels * stripe]
        if rng.random() < 0.5:
            count = int(rng.choice(near)) + int(rng.integers(0, 2)) * stripe
        else:
            count = int(rng.integers(0, 12 * stripe))
        words = rng.integers(1, 1 << min(63, config.word_bits), count).astype(config.format.dtype)
        density = rng.choice([0, 0.05, 0.3, 0.5, 0.9, 1])
        if config.is_plus and rng.random() < 0.7:  # floats, which a codec of exponents compresses
            words = random_words(count, 1, config.format, rng)
        if rng.random() < 0.3:  # stripes that are dense, and stripes that are empty
            keep = np.repeat(rng.random(-(-count // stripe)) < density, stripe)[:count]
        else:
            keep = rng.random(count) < density
        return words * keep.astype(words.dtype)

    def fields(self) -> dict:
        """Parts of a descriptor that change nothing of its result."""
        rng = self.rng
        return {
            "channel": int(rng.integers(self.config.channels)),
            "interrupt": bool(rng.integers(2)),
            "fence": bool(rng.integers(2)),
            "cookie": int(rng.integers(1 << 63)),
        }

    def settle(self, job: Job) -> Job:
        """Count a job by its status."""
        self.statuses[job.status.name] += 1
        self.observe(job.descriptor, job.completion)
        return job

    def offload(self) -> str:
        """One offload, sometimes into too small a buffer."""
        return self._offload()[0]

    def _offload(self, *, may_overflow=True):
        rng, config, words = self.rng, self.config, self.words()
        raw, crc = str(rng.choice(_RAWS)), bool(rng.integers(2))
        limit = None
        if may_overflow and rng.random() < 0.3:
            limit = int(rng.integers(0, words.size + 2)) * config.word_bytes
        index = raw != "never" or crc or bool(rng.random() < 0.8)
        job = self.model.offload(
            words, raw, limit, crc, index=index, counters=False, **self.fields()
        )
        self.settle(job)
        expected = golden.offload(words, config, raw, limit, crc)
        if not index:
            expected = golden.Offload(**{**vars(expected), "index": expected.index[:0]})
        return offload_difference(job, expected), job, crc

    def round_trip(self) -> str:
        """An offload and its prefetch."""
        problem, job, crc = self._offload(may_overflow=False)
        if problem or not job.index.size:
            return problem
        op = Op.VERIFY if self.rng.random() < 0.2 else Op.PREFETCH
        return self._fetch(job.stream, job.index, job.descriptor.raw_bytes, crc, op)

    def _fetch(self, stream, index, size, crc, op=Op.PREFETCH, limit=None):
        limit = len(stream) if limit is None else limit
        job = self.model.fetch(stream, index, size, crc=crc, op=op, limit=limit, **self.fields())
        self.settle(job)
        count = size // self.config.word_bytes
        expected = golden.salvage_stripes(stream, index, count, self.config, crc=crc, limit=limit)
        return prefetch_difference(job, expected, is_verify=op == Op.VERIFY)

    def damaged(self) -> str:
        """A prefetch whose stream or index was damaged, then one that is right."""
        rng, config, words = self.rng, self.config, self.words()
        crc = bool(rng.integers(2))
        made = golden.offload(words, config, str(rng.choice(_RAWS)), crc=crc)
        stream, index = made.stream.copy(), made.index.copy()
        if not stream.size:
            return ""
        kind = rng.integers(4)
        if kind == 0:  # bits of the stream
            for at in rng.integers(0, stream.size, int(rng.integers(1, 4))):
                stream[at] ^= 1 << rng.integers(8)
        elif kind == 1:  # bits of the index
            index[rng.integers(index.size)] ^= 1 << rng.integers(8)
        elif kind == 2:  # sizes that do not sum up
            entry = 8 * int(rng.integers(index.size // 8))
            size = int.from_bytes(index[entry : entry + 3].tobytes(), "little")
            step = 1 if config.has_padding else config.word_bytes
            size = max(0, size + step * int(rng.integers(-2, 3)))
            index[entry : entry + 3] = list(size.to_bytes(3, "little"))
        else:  # too short a stream
            cut = config.word_bytes * int(rng.integers(0, stream.size // config.word_bytes + 1))
            stream = stream[:cut]
        wrong = self._fetch(stream, index, words.nbytes, crc)
        return wrong or self._fetch(made.stream, made.index, words.nbytes, crc)

    def bus_error(self) -> str:
        """A prefetch or an offload during which a memory answers with an error."""
        rng, config, words = self.rng, self.config, self.words()
        if not words.size:
            return ""
        engine = self.model.engine
        space, response = int(rng.integers(2)), int(rng.integers(2, 4))
        # Every access to one side fails: the first stripe is the lowest.
        low, high = (0x1000_0000, 0x7FFF_FFFF) if space == DEVICE else _streams(self.model)
        engine.fault(space, low, high - low, response=response)
        is_offload = bool(rng.integers(2))
        if is_offload:
            job = self.model.offload(words, index=False, counters=False, **self.fields())
        else:
            made = golden.offload(words, config, "auto")
            job = self.model.fetch(made.stream, made.index, words.nbytes, **self.fields())
        engine.clear_faults()
        self.settle(job)
        expected = _BUS[space, response]
        found = job.completion
        if (found.status, found.stripe, found.stream_bytes) != (expected, 0, 0):
            return f"{found}, expected {expected.name} at stripe 0"
        return self._offload()[0]

    def bad(self) -> str:
        """A descriptor that breaks a rule, then one that does not."""
        ring = int(self.rng.integers(2))
        descriptor = Descriptor(int(self.rng.integers(7, 16)), cookie=int(self.rng.integers(99)))
        job = self.settle(self.model.run(ring, descriptor))
        found = job.completion
        if (found.status, found.cookie) != (Status.BAD_DESCRIPTOR, descriptor.cookie):
            return f"{found}, expected BAD_DESCRIPTOR"
        return self._offload()[0]

    def copy(self) -> str:
        """The two operations that do not compress."""
        words, model, config = self.words(), self.model, self.config
        job = model.offload(
            words, limit=words.nbytes, index=False, op=Op.COPY_OUT, counters=False, **self.fields()
        )
        self.settle(job)
        problem = offload_difference(job, golden.copy_out(words, config, words.nbytes))
        if problem or not words.size:
            return problem
        none = np.zeros(0, np.uint8)
        back = model.fetch(
            job.host.data, none, words.nbytes, op=Op.COPY_IN, with_index=False, **self.fields()
        )
        self.settle(back)
        if back.completion.status:
            return f"{back.completion}, expected OK"
        wrong = back.tensor.data != job.host.data
        return f"copy in: byte {int(np.argmax(wrong))} differs" if wrong.any() else ""

    def measure(self) -> str:
        """Sizes without a stream."""
        words, raw = self.words(), str(self.rng.choice(_RAWS))
        job = self.model.offload(words, raw, op=Op.MEASURE, counters=False, **self.fields())
        self.settle(job)
        expected = golden.offload(words, self.config, raw)
        return offload_difference(job, expected, is_measure=True)

    def several(self) -> str:
        """Many descriptors at once on both rings, with FENCE and interrupts here and there."""
        rng, model, config = self.rng, self.model, self.config
        number = min(int(rng.integers(1, 12)), 1 << model.rings[OFFLOAD].log2)
        made, jobs = [], []
        for _ in range(number):
            words = self.words()
            tensor = model.place_tensor(words)
            host = model.allocate(HOST, config.bound(words.nbytes))
            made.append((words, tensor, host))
            descriptor = Descriptor(
                Op.OFFLOAD,
                device=tensor.address,
                host=host.address,
                row_bytes=words.nbytes,
                limit=host.data.size,
                word_bytes=config.word_bytes,
                fence=bool(rng.random() < 0.2),
                interrupt=True,
            )
            jobs.append(descriptor)
        model.submit(OFFLOAD, *jobs)
        model.submit(PREFETCH, Descriptor(Op.NOP, fence=True))
        problem = ""
        for words, _, host in made:
            (found,) = model.collect(OFFLOAD, 1)
            self.statuses[Status(found.status).name] += 1
            expected = golden.offload(words, config, "never")
            data = host.data[: expected.bytes]
            if found.status or found.stream_bytes != expected.bytes:
                problem = problem or f"{found}, expected {expected.bytes} bytes"
            elif (data != expected.stream).any():
                problem = problem or f"stream: byte {int(np.argmax(data != expected.stream))}"
        model.collect(PREFETCH, 1)
        for _, tensor, host in made:
            model.free(tensor, host)
        return problem

    def abort(self) -> str:
        """An abort at some cycle of a job, then a job that is right."""
        rng, model, words = self.rng, self.model, self.words()
        config = self.config
        tensor = model.place_tensor(words)
        host = model.allocate(HOST, config.bound(words.nbytes))
        descriptor = Descriptor(
            Op.OFFLOAD,
            device=tensor.address,
            host=host.address,
            row_bytes=words.nbytes,
            limit=host.data.size,
            word_bytes=config.word_bytes,
        )
        model.submit(OFFLOAD, descriptor)
        model.engine.run(int(rng.integers(1, 1500)))
        model.abort(OFFLOAD)
        while (completion := model.peek(OFFLOAD)) is not None:
            status = Status(model.wait(OFFLOAD).status)
            self.statuses[status.name] += 1
            if status not in (Status.OK, Status.ABORTED):
                return f"{completion} after an abort"
        model.resync(OFFLOAD)
        model.write("RING", "CTRL", 1, OFFLOAD)
        model.until_state(OFFLOAD, State.RUNNING)
        model.free(tensor, host)
        return self._offload()[0]


def _streams(model):
    """Addresses of the host's memory behind the rings."""
    end = max(ring.completions.end for ring in model.rings)
    return -(-end // 64) * 64, 0xFFFF_FFFF  # a beat of the rings has nothing else


def _memory(rng) -> Memory:
    """A memory that is drawn: a third is smooth, the others are rough in some way."""
    draw = rng.random
    base = {"latency": int(rng.choice([0, 1, 10, 60, 350]))}
    if draw() < 0.33:
        return Memory(**base)
    stalls = {}
    for channel in ("ar", "r", "aw", "w", "b"):
        if draw() < 0.4:
            stalls[channel] = str(
                rng.choice(["bernoulli:0.3", "bernoulli:0.8", "bursts:5,40", "alternating"])
            )
    return Memory(
        **base,
        jitter=int(rng.choice([0, 20, 300])),
        tail=float(rng.choice([0, 0.05])),
        tail_latency=1000,
        reorder=float(rng.choice([0, 0.5, 1])),
        refresh=(400, 60) if draw() < 0.3 else (0, 0),
        bandwidth=float(rng.choice([0, 3, 11])),
        outstanding=int(rng.choice([1, 3, 256])),
        order=str(rng.choice(["any", "address-first", "data-first"])),
        stalls=stalls,
    )
