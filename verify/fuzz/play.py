"""Run batches of random packets on the compiled model and compare with the golden model.

A task of a sweep runs several batches. Results are used in the order of the batches, so a run gives
the same result on one processor, on many, and on a cluster. It ends when enough packets have
passed, or with the first batch that fails.
"""

import math
import os
import re
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field

from cdma.hdl.codecs import UnitConfig
from cdma.sim.compiled.unit import ModelUnit
from cdma.sim.simulate import cosim_all, cosim_each, design_text
from cdma.sim.typed import untyped
from cdma.sweep import Packed, Task, in_order, sweep
from cdma.toolchain.waves import wave_format
from cdma.verify.fuzz.units import BATCH_PACKETS, make_batch

#: Batches per task: about half a second.
TASK_BATCHES = 8
#: Fewer tasks than this run in this process: starting processes would take longer.
PROCESS_TASKS = 4
#: Lower bound of the share of damaged streams with an error. The rest remain valid by chance.
_MALFORMED_SHARE = 0.85


@dataclass
class Outcome:
    """Result of a run.

    Attributes
    ----------
    packets, batches, cycles : int
        Packets and batches run, and their clock cycles.
    codes : Counter of str
        Decompressor only: number of packets by error name, ``NONE`` for valid packets. The failed
        batch is not counted.
    seconds : float
        Wall time.
    problem : str
        First difference, violated rule or hang; empty if there is none.
    failed_batch : int or None
        Number of the failed batch.
    """

    packets: int = 0
    batches: int = 0
    cycles: int = 0
    codes: Counter = field(default_factory=Counter)
    seconds: float = 0.0
    problem: str = ""
    failed_batch: int | None = None

    @property
    def malformed(self) -> int:
        """Number of packets with an error."""
        return self.codes.total() - self.codes["NONE"]


@dataclass(frozen=True)
class Batches:
    """Batches to run: the argument of a task."""

    unit: str
    config: UnitConfig
    seed: int
    numbers: range
    verilog: Packed


@dataclass(frozen=True)
class Played:
    """Result of one batch, with the fields of :class:`Outcome`."""

    number: int
    packets: int
    cycles: int
    codes: Counter
    problem: str


def fuzz(
    unit: str,
    config: UnitConfig,
    packets: int,
    seed: int = 0,
    batch: int | None = None,
    *,
    verilog: str | os.PathLike | None = None,
    waves: str | os.PathLike | None = None,
    jobs: int = 1,
    scheduler: str | None = None,
    progress: Callable[[str], None] | None = None,
) -> Outcome:
    """Run random packets until enough have passed or one differs from the golden model.

    Parameters
    ----------
    unit : str
        ``compressor`` and ``roundtrip`` get words. ``decompressor`` gets damaged streams with good
        streams between them.
    config : UnitConfig
        Size of the unit.
    packets : int
        Least number of packets, rounded up to whole batches. For the decompressor, only malformed
        packets count.
    seed : int
        Seed of all random choices.
    batch : int or None
        Run only this batch.
    verilog : str, path or None
        Verilog text, or a file, to simulate in place of the generated design.
    waves : path or None
        Waveform file. The failing batch, or ``batch``, is run again to write the file.
    jobs : int
        Maximum number of processes. A short run uses only this process.
    scheduler : str or None
        Address of a Dask scheduler to use in place of local processes.
    progress : callable or None
        Called about once per second with a line of text.

    Returns
    -------
    Outcome
        Does not depend on where the batches ran.

    Raises
    ------
    UserError, SimulationError
        As :func:`cdma.sim.cosim`.
    """
    start = reported = time.monotonic()
    if waves is not None:
        wave_format(waves, "fast")  # reports a bad suffix before the run
    verilog = design_text(unit, config, verilog)
    if scheduler is None:  # build once, with progress, before the processes need the model
        ModelUnit(unit, config, verilog, progress=progress)
    outcome, packed = Outcome(), Packed(verilog)
    while numbers := _more(unit, packets, batch, outcome):
        tasks = _tasks(Batches(unit, config, seed, numbers, packed))
        workers = min(jobs, len(tasks) // PROCESS_TASKS)
        where = {"jobs": max(1, workers), "scheduler": scheduler, "threads": workers < 2}
        with closing(sweep(play, tasks, **where)) as outcomes:
            for played in _each(in_order(tasks, outcomes)):
                _add(outcome, played)
                outcome.seconds = time.monotonic() - start
                if not _more(unit, packets, batch, outcome):
                    break
                if progress and time.monotonic() - reported > 1:
                    reported = time.monotonic()
                    done = _counted(unit, outcome)
                    progress(f"{done:,} of {packets:,} packets, {outcome.cycles:,} cycles")
    number = outcome.failed_batch if batch is None else batch
    if waves is not None and number is not None:
        scenario = make_batch(unit, config, seed, number).scenario
        cosim_all(unit, [scenario], config, "fast", verilog=verilog, waves=waves, progress=progress)
    return outcome


def play(batches: Batches) -> list[Played]:
    """Run batches one after the other, up to the first that fails."""
    made, found = [], []

    def scenarios():
        for number in batches.numbers:
            made.append(make_batch(batches.unit, batches.config, batches.seed, number))
            yield made[-1].scenario

    verilog = batches.verilog.value
    results = cosim_each(batches.unit, scenarios(), batches.config, verilog)
    for number, result in zip(batches.numbers, results, strict=False):
        current = made.pop()
        problem, codes = result.problem, Counter()
        if problem:
            problem += _about(result, current)
        elif batches.unit == "decompressor":  # here the codes equal those of the golden model
            names = {int(code): code.name for code in batches.config.error_codes}
            codes.update(names[packet.status[1]] for packet in result.packets)
        found.append(Played(number, len(result.packets), result.cycles, codes, problem))
        if problem:
            break
    return found


def _tasks(batches: Batches) -> list[Task]:
    first, end = batches.numbers.start, batches.numbers.stop
    parts = [range(at, min(at + TASK_BATCHES, end)) for at in range(first, end, TASK_BATCHES)]
    return [
        Task(
            f"{batches.unit} {batches.config.name}, batches {part.start} to {part.stop - 1}",
            Batches(batches.unit, batches.config, batches.seed, part, batches.verilog),
            len(part),
        )
        for part in parts
    ]


def _counted(unit, outcome):
    """Number of packets that count towards the limit."""
    return outcome.malformed if unit == "decompressor" else outcome.packets


def _more(unit, packets, batch, outcome) -> range:
    """Numbers of the next batches, enough to reach the limit; empty when the run is complete."""
    if outcome.problem:
        return range(0)
    if batch is not None:
        return range(batch + outcome.batches, batch + 1)
    left = max(0, packets - _counted(unit, outcome))
    each = BATCH_PACKETS * (_MALFORMED_SHARE if unit == "decompressor" else 1)
    return range(outcome.batches, outcome.batches + math.ceil(left / each))


def _each(outcomes):
    """Yield the batches of all tasks in order."""
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
        yield from outcome.value


def _add(outcome: Outcome, played: Played) -> None:
    outcome.batches += 1
    outcome.packets += played.packets
    outcome.cycles += played.cycles
    outcome.codes.update(played.codes)
    if played.problem:
        outcome.problem, outcome.failed_batch = played.problem, played.number


def _about(result, made):
    """Description of the packet that a problem names."""
    found = re.match(r"packet (\d+):", result.difference)
    index = int(found[1]) if found and not result.failure else len(result.packets)
    if index >= len(made.kinds):
        return ""
    packet = untyped(made.scenario.packets[index])
    if isinstance(packet, tuple) and packet[1] is None:
        return f" (packet {index}: {made.kinds[index]}, {len(packet[0])} bytes)"
    if isinstance(packet, tuple):
        return f" (packet {index}: {made.kinds[index]}, {len(packet[0])} bytes, {packet[1]} words)"
    return f" (packet {index}: {made.kinds[index]}, {packet.size} words)"
