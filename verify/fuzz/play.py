"""Plays batches of random packets on the compiled model and compares with the golden model.

A task of a sweep plays some batches in a row. Results are taken in the order of the batches, so a
run is the same on one processor, on many, and on a cluster: it ends with the batch that makes the
packets enough, or with the first batch that fails.
"""

import math
import os
import re
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field

from cdma.golden import ErrorCode
from cdma.hdl.zvc.config import Config
from cdma.sim.compiled.unit import ModelUnit
from cdma.sim.simulate import cosim_all, cosim_each, design_text
from cdma.sweep import Packed, Task, in_order, sweep
from cdma.toolchain.waves import wave_format
from cdma.verify.fuzz.units import BATCH_PACKETS, make_batch

#: Batches of a task: about half a second.
TASK_BATCHES = 8
#: Tasks from which on a process is worth its start.
PROCESS_TASKS = 4
#: Of the damaged streams nine in ten are in error, since some damage is undone by the word count.
_MALFORMED_SHARE = 0.85


@dataclass
class Outcome:
    """What came of a run.

    Attributes
    ----------
    packets, batches, cycles : int
        Packets and batches played, and cycles of the clock that they took.
    codes : Counter of str
        Decompressor: packets by the name of the error in them, ``NONE`` where there is none; those
        of a batch with a problem are not counted.
    seconds : float
        Wall time.
    problem : str
        First difference, broken rule or hang, or empty.
    failed_batch : int or None
        Batch that it was found in.
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
        """Packets with an error in them."""
        return self.codes.total() - self.codes["NONE"]


@dataclass(frozen=True)
class Batches:
    """Batches to play: the argument of a task."""

    unit: str
    config: Config
    seed: int
    numbers: range
    verilog: Packed


@dataclass(frozen=True)
class Played:
    """What came of one batch, as in an :class:`Outcome`."""

    number: int
    packets: int
    cycles: int
    codes: Counter
    problem: str


def fuzz(
    unit: str,
    config: Config,
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
    """Play random packets until one is not dealt with as the golden model says.

    Parameters
    ----------
    unit : str
        ``compressor`` and ``roundtrip`` are fed words, the ``decompressor`` damaged streams with
        good ones between them.
    config : Config
        Size of the unit.
    packets : int
        Packets to play at least, in whole batches; of the decompressor malformed ones.
    seed : int
        Seeds all that is random.
    batch : int or None
        Play this batch only.
    verilog : str, path or None
        Simulated in place of what the package generates: the text of a design, or its file.
    waves : path or None
        File for the waveforms of the batch that fails, or of ``batch``, which is played once more.
    jobs : int
        Processes at most; a short run uses this one.
    scheduler : str or None
        Address of a Dask scheduler, in place of processes here.
    progress : callable or None
        Told about once a second how far the run is.

    Returns
    -------
    Outcome
        The same wherever the batches were played.

    Raises
    ------
    UserError, SimulationError
        As :func:`cdma.sim.cosim`.
    """
    start = told = time.monotonic()
    if waves is not None:
        wave_format(waves, "fast")  # refused before the run, not after it
    verilog = design_text(unit, config, verilog)
    if scheduler is None:  # before processes ask for it, and with its progress
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
                if progress and time.monotonic() - told > 1:
                    told = time.monotonic()
                    done = _counted(unit, outcome)
                    progress(f"{done:,} of {packets:,} packets, {outcome.cycles:,} cycles")
    number = outcome.failed_batch if batch is None else batch
    if waves is not None and number is not None:
        scenario = make_batch(unit, config, seed, number).scenario
        cosim_all(unit, [scenario], config, "fast", verilog=verilog, waves=waves, progress=progress)
    return outcome


def play(batches: Batches) -> list[Played]:
    """Play batches in a row, up to the first with a problem."""
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
        elif batches.unit == "decompressor":  # the codes are the golden model's
            codes.update(ErrorCode(packet.status[1]).name for packet in result.packets)
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
    """Packets that count."""
    return outcome.malformed if unit == "decompressor" else outcome.packets


def _more(unit, packets, batch, outcome) -> range:
    """Numbers of the batches that should do, none when the run is at its end."""
    if outcome.problem:
        return range(0)
    if batch is not None:
        return range(batch + outcome.batches, batch + 1)
    left = max(0, packets - _counted(unit, outcome))
    each = BATCH_PACKETS * (_MALFORMED_SHARE if unit == "decompressor" else 1)
    return range(outcome.batches, outcome.batches + math.ceil(left / each))


def _each(outcomes):
    """Batches of tasks in their order."""
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
    """The packet that a result's problem is about, in words."""
    found = re.match(r"packet (\d+):", result.difference)
    index = int(found[1]) if found and not result.failure else len(result.packets)
    if index >= len(made.kinds):
        return ""
    packet = made.scenario.packets[index]
    if isinstance(packet, tuple):
        return f" (packet {index}: {made.kinds[index]}, {len(packet[0])} bytes, {packet[1]} words)"
    return f" (packet {index}: {packet.size} words)"
