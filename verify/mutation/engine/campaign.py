"""Mutation testing of the engine: measure whether its stimulus detects faults.

The mutants are those of :mod:`cdma.verify.mutation.mutants`, all in one compiled model. Each one
plays the trials of :mod:`cdma.verify.mutation.engine.trials` until a check fails. Mutants inside
the units are left out: they are played by the units' own campaign. A mutant that no trial kills is
equivalent where that is proven of the netlist (:mod:`cdma.verify.mutation.engine.dead`), else it is
open, whether it is a fault or not. Results are kept, so a run that was interrupted continues, and a
later run with more mutants adds to them.
"""

import json
import math
import os
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache

from cdma.engine_config import EngineConfig
from cdma.errors import SimulationError
from cdma.files import write_text
from cdma.sim.cocotb.ports import Violation
from cdma.sim.engine import build
from cdma.sim.engine.engine import choose_mutant
from cdma.sweep import Packed, Task, sweep
from cdma.toolchain.cache import cache_folder, digest
from cdma.verify.mutation import mutants
from cdma.verify.mutation.engine import dead
from cdma.verify.mutation.engine.trials import trials
from cdma.verify.mutation.mutants import ENGINE, Mutant
from cdma.verify.mutation.player import KILLED, OPEN, MutantResult
from cdma.verify.mutation.proof import EQUIVALENT

#: Mutants in a task of the sweep, and in a model: more make the compiler slow.
GROUP, WOVEN = 5, 250
#: What is known of survivors.
_ALIVE = "no trial kills this mutant"
_UNPROVEN = f"{_ALIVE}, and it changes some step"


@dataclass(frozen=True)
class Setup:
    """What a process needs to play mutants.

    Parameters
    ----------
    config : EngineConfig
    design : Packed
        Verilog of the engine with its mutants.
    seed : int
    cache : str or None
    """

    config: EngineConfig
    design: Packed
    seed: int
    cache: str | None


def small_engine(lanes: int = 2, word_bits: int = 32) -> EngineConfig:
    """The engine that is mutated: two channels, short stripes and small buffers."""
    return EngineConfig(
        channels=2,
        lanes=lanes,
        word_bits=word_bits,
        stripe_bytes=1024,
        address_bits=33,
        latency=20,
        link_fifo_bytes=2048,
    )


def mutate(
    config: EngineConfig,
    count: int,
    seed: int = 0,
    *,
    sample: int | None = None,
    jobs: int = 2,
    scheduler: str | None = None,
    cache: str | os.PathLike | None = None,
    progress: Callable[[str], None] | None = None,
):
    """Make mutants of the engine and play the trials on them, or on some of them.

    Parameters
    ----------
    config : EngineConfig
        Size of the engine.
    count : int
        Mutants to draw.
    seed : int
        Seed of the choice of mutants and of the stimulus.
    sample : int or None
        Mutants to play, evenly spread over all. ``None`` is all.
    jobs : int
        Processes, without a scheduler.
    scheduler : str or None
        Address of a Dask scheduler.
    cache, progress
        See :func:`cdma.verify.mutation.campaign.mutate`.

    Returns
    -------
    cdma.verify.mutation.campaign.Outcome

    Raises
    ------
    UserError
        When a tool is missing or fails, or the engine has fewer mutants.
    SimulationError
        When the engine without a fault fails a trial.
    """
    from cdma.verify.mutation.campaign import Outcome, sources

    start, progress = time.monotonic(), progress or (lambda text: None)
    folder = cache_folder(cache, "mutation")
    progress("drawing mutants")
    drawn = mutants.draw(ENGINE, config, count, seed, folder)
    played = _spread([each for each in drawn.mutants if is_own(each)], sample)
    file = folder / f"{digest('engine', drawn.rtlil, seed, sources())}.results.json"
    kept = json.loads(file.read_text()) if file.is_file() else {}
    known = {
        each: MutantResult(each, *kept[each.command]) for each in played if each.command in kept
    }
    missing = [each for each in played if each not in known]
    for at in range(0, len(missing), WOVEN):
        group = missing[at : at + WOVEN]
        progress(f"building a model with {len(group)} mutants")
        verilog = mutants.weave(drawn, group, folder).verilog
        build.build(verilog, cache, progress)
        setup = Setup(config, Packed(verilog), seed, None if cache is None else str(cache))
        where = {"jobs": jobs, "scheduler": scheduler}
        for result in _played(setup, group, where):
            known[result.mutant] = result
            kept[result.mutant.command] = [result.verdict, result.trial, result.reason]
            write_text(file, json.dumps(kept))
            left = sum(each.verdict == OPEN for each in known.values())
            progress(f"{len(known):,} of {len(played):,} mutants, {left:,} left")
    _exclude(drawn, known, kept, folder, progress)
    write_text(file, json.dumps(kept))
    results = [known[each] for each in played]
    return Outcome(ENGINE, config, results, time.monotonic() - start)


def _exclude(drawn, known, kept, folder, progress):
    """Mark the survivors that are proven to be none. Those that were looked at before stay."""
    left = [each.mutant for each in known.values() if (each.verdict, each.reason) == (OPEN, _ALIVE)]
    if not left:
        return
    progress(f"looking for proofs of {len(left)} survivors")
    proven = dead.proven(drawn, left, folder)
    for mutant in left:
        verdict = EQUIVALENT if mutant in proven else OPEN
        reason = proven.get(mutant, _UNPROVEN)
        known[mutant] = MutantResult(mutant, verdict, reason=reason)
        kept[mutant.command] = [verdict, "", reason]


def is_own(mutant: Mutant) -> bool:
    """Whether the faulty cell is the engine's own, and not one of the units within it.

    The units have mutants of their own (:func:`cdma.verify.mutation.campaign.mutate`), which play
    many more packets.
    """
    return not {"compressor", "decompressor"} & set(mutant.module.split("."))


def _spread(drawn, sample):
    """A part of the mutants, evenly spread."""
    if sample is None or sample >= len(drawn):
        return list(drawn)
    return [drawn[k * len(drawn) // sample] for k in range(sample)]


def _played(setup, group, where):
    tasks = [
        Task(str(group[at]), (setup, group[at : at + GROUP]), GROUP)
        for at in range(0, len(group), GROUP)
    ]
    with closing(sweep(decide, tasks, **where)) as outcomes:
        for outcome in outcomes:
            if outcome.error is not None:
                raise outcome.error
            yield from outcome.value


def decide(task: tuple[Setup, list[Mutant]]) -> list[MutantResult]:
    """Results of some mutants.

    Raises
    ------
    SimulationError
        When the engine without a fault fails a trial.
    """
    setup, group = task
    player = _player(setup)
    return [player.result(mutant) for mutant in group]


class Player:
    """Plays the trials on the engine without a fault once, and then on mutants."""

    def __init__(self, setup: Setup):
        verilog = setup.design.value
        self._library = build.build(verilog, setup.cache)
        self._trials = list(trials(setup.config, verilog, setup.seed, setup.cache))
        self._expected = {}
        choose_mutant(self._library, 0)
        for trial in self._trials:
            try:
                self._expected[trial.name] = trial.play()
            except (Violation, SimulationError) as error:
                raise SimulationError(
                    f"{trial.name}: the engine without a fault: {error}"
                ) from None

    def result(self, mutant: Mutant) -> MutantResult:
        """Play the trials until a check fails."""
        choose_mutant(self._library, mutant.number)
        for trial in self._trials:
            reason = self._fault(trial)
            if reason:
                return MutantResult(mutant, KILLED, trial.name, reason)
        return MutantResult(mutant, OPEN, reason=_ALIVE)

    def _fault(self, trial) -> str:
        """The failed check, or an empty text."""
        try:
            seen = trial.play()
        except (Violation, SimulationError) as error:
            return str(error)
        except (ValueError, KeyError, OverflowError, IndexError) as error:
            # A status, a state or an address that does not exist.
            return f"{type(error).__name__}: {error}"
        return "" if seen == self._expected[trial.name] else "other values or cycles"


@lru_cache(maxsize=1)
def _player(setup: Setup) -> Player:
    return Player(setup)


def record(outcome, seed: int, count: int) -> dict:
    """An outcome as numbers and texts: as of a unit, with the interval of the share for all.

    ``drawn`` is the number of mutants of which those in ``mutants`` were played. The interval is of
    the faults: mutants that are proven equivalent are none.
    """
    from cdma.verify.mutation import report

    made = report.record(outcome, seed)
    low, high = interval(made[KILLED], made["mutants"] - made[EQUIVALENT])
    return made | {"drawn": count, "low": round(low, 4), "high": round(high, 4)}


def interval(killed: int, played: int) -> tuple[float, float]:
    """Interval of the share of killed mutants with a confidence of 95 % (Wilson, 1927)."""
    z = 1.96
    share, spread = killed / played, z * z / played
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / played + spread / (4 * played))
    return max(0.0, middle - half), min(1.0, middle + half)
