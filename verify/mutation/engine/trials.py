"""The trials that the mutants of the engine play: registers, rings, jobs and faults, in few cycles.

A mutant is killed when a check fails (a rule of AXI, an access outside of the buffers, the
comparison with the golden engine, a hang), or when an observation differs from that of the engine
without a fault: a register, a counter, a completion, a byte, a number of cycles, or an entry in the
log of a port.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cdma.engine_config import EngineConfig
from cdma.errors import SimulationError
from cdma.sim.engine.memory import Memory
from cdma.verify.fuzz.engine import Batch
from cdma.verify.mutation.engine import (
    borders,
    clocks,
    counts,
    edges,
    jobs,
    many,
    queues,
    rare,
    registers,
    wide,
)
from cdma.verify.mutation.engine.land import MarkedModel, OpenModel

#: Batches of random jobs, and those of them that come before the longest trials.
BATCHES, FIRST_BATCHES = 60, 8
#: Address of the rings in trials whose jobs lie anywhere.
_RINGS = 0x1_6DB0_0040
#: log2 of the entries of the rings that are gone around, and how often.
_LAP, _LAPS = 11, 17


@dataclass(frozen=True)
class Trial:
    """A run of the engine.

    Parameters
    ----------
    name : str
    play : callable
        Plays the run and returns the observations, which can be compared. It raises ``Violation``
        or ``SimulationError`` when a check fails.
    """

    name: str
    play: Callable[[], list]


def trials(config: EngineConfig, verilog: str, seed: int = 0, cache=None) -> Iterator[Trial]:
    """The trials in their order: first those that kill most in little time.

    Parameters
    ----------
    config : EngineConfig
        Size of the engine.
    verilog : str
        Design, with or without mutants.
    seed : int
        Seed of all random choices.
    cache : path or None
        See :func:`cdma.toolchain.cache.cache_folder`.
    """

    def model(number, latency=3, log2=2):
        memories = Memory(latency=latency), Memory(latency=latency + 3)
        options = {"log2": log2, "verilog": verilog, "cache": cache}
        return MarkedModel(config, *memories, seed + number, **options)

    def land(number):
        memories = Memory(latency=3), Memory(latency=6)
        options = {"rings": _RINGS, "verilog": verilog, "cache": cache}
        return OpenModel(config, *memories, seed + number, **options)

    def played(play, made):
        return [*play(made), *made.moves()]

    def many_rows(made):
        return many.far_stripe(made, many.NEARER, rows=True)

    def batch(number):
        return Trial(f"batch {number}", lambda: _batch(config, seed, number, verilog, cache))

    yield Trial("few jobs", lambda: played(jobs.few_jobs, model(1, 4)))
    yield Trial("stop and go", lambda: played(clocks.stop_and_go, model(2, log2=4)))
    yield Trial("far rings", lambda: played(clocks.stop_and_go, model(22, 70, log2=4)))
    yield Trial("registers", lambda: played(jobs.registers, model(3, 4)))
    yield Trial("locks", lambda: played(jobs.locks, model(35, 4)))
    yield Trial("rings", lambda: played(jobs.rings, model(4, 9, log2=0)))
    yield Trial("quarantine", lambda: played(jobs.quarantine, model(5, 4)))
    yield Trial("places", lambda: played(wide.places, land(6)))
    yield Trial("wheres", lambda: played(wide.wheres, land(32)))
    yield Trial("ring windows", lambda: played(edges.ring_windows, land(33)))
    yield Trial("counts", lambda: played(counts.counts, model(34, log2=10)))
    yield Trial("queues", lambda: played(queues.queues, model(30, log2=4)))
    yield Trial("limits", lambda: played(wide.limits, land(7)))
    yield Trial("entries", lambda: played(wide.entries, land(8)))
    yield Trial("rows", lambda: played(wide.rows, land(9)))
    yield Trial("sizes", lambda: played(wide.sizes, land(10)))
    yield Trial("edges", lambda: played(edges.edges, land(11)))
    yield Trial("nearly dense", lambda: played(rare.nearly_dense, model(36)))
    yield Trial("stalls", lambda: played(rare.stalls, model(37)))
    yield Trial("unanswered", lambda: played(rare.unanswered, model(46, log2=5)))
    yield Trial("errors again", lambda: played(rare.errors_again, model(38, log2=3)))
    yield Trial("rates", lambda: played(clocks.rates, model(12)))
    yield Trial("latencies", lambda: played(clocks.latencies, model(13)))
    yield Trial("numbers", lambda: clocks.numbers(lambda number: model(23 + number)))
    yield Trial("far queues", lambda: played(queues.queues, model(31, 90, log2=4)))
    yield Trial("interrupts", lambda: played(clocks.interrupts, model(14, log2=8)))
    yield from (batch(number) for number in range(FIRST_BATCHES))
    yield Trial("timeouts", lambda: clocks.timeouts(lambda n: model(40 + n), config.channels))
    yield Trial("fields", lambda: played(jobs.fields, model(20, 2, log2=1)))
    yield Trial("laps", lambda: played(lambda m: clocks.laps(m, _LAPS), model(21, log2=_LAP)))
    yield Trial("values", lambda: played(registers.values, model(41)))
    yield Trial("stops", lambda: played(registers.stops, model(42)))
    yield Trial("borders", lambda: played(borders.borders, land(43)))
    yield Trial("many rows", lambda: played(many_rows, land(48)))
    yield Trial("waiting", lambda: many.waiting(lambda n: model(50 + n, log2=5)))
    yield Trial("bad entries", lambda: rare.bad_entries(lambda n: model(90 + n)))
    yield Trial("falling latencies", lambda: played(clocks.falling_latencies, model(44)))
    yield from (batch(number) for number in range(FIRST_BATCHES, BATCHES))
    yield Trial("far stripe", lambda: played(many.far_stripe, land(45)))


def _batch(config, seed, number, verilog, cache):
    """Random jobs, with faults, stalls and aborts, against the golden engine."""
    batch = Batch(config, seed, number, verilog, cache=cache, is_read=True)
    problem = batch.play()
    if problem:
        raise SimulationError(problem)
    engine = batch.model.engine
    seen = [sorted(batch.statuses.items()), engine.cycle, engine.digest]
    batch.close()
    return seen
