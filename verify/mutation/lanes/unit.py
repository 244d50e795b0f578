"""A unit with many lanes, and trials that it plays.

A mutant is killed when a handshake of one of its ports has another cycle, or other data, than that
of the unit without a fault. Words behind an error of a stream may be anything: they are not
compared.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from cdma.hdl.codecs import UnitConfig
from cdma.sim.compiled import build
from cdma.sim.compiled.unit import ModelUnit
from cdma.sim.result import Scenario
from cdma.sim.units import BENCHES, Bench
from cdma.verify.mutation import lanes
from cdma.verify.mutation.lanes.source import Source
from cdma.verify.mutation.mutants import Drawn, Mutant
from cdma.verify.mutation.player import Prepared
from cdma.verify.mutation.trials import Trial

#: Follows the packets at the output.
_STEP = "known.step(!aresetn, m_axis_tvalid && m_axis_tready, m_axis_tlast, BEAT_BYTES);"


class UnitLanes:
    """A unit in which each lane can have any of the mutants.

    Parameters
    ----------
    drawn : Drawn
        The netlist of the unit.
    mutants : list of Mutant
    config : UnitConfig
        Size of the unit.
    cache, progress
        See :func:`cdma.sim.compiled.build.build`.

    Raises
    ------
    UserError, SimulationError
        When a tool is missing or fails.
    """

    def __init__(
        self,
        drawn: Drawn,
        mutants: list[Mutant],
        config: UnitConfig,
        cache: str | os.PathLike | None = None,
        progress: Callable[[str], None] | None = None,
    ):
        source = Path(build.__file__).with_name("model.cpp")
        options = tuple(build.defines(drawn.unit, config))
        loop = lanes.Loop(source, build.SOURCES, _compared, options, step=_STEP)
        self._lanes = lanes.build_lanes(drawn, mutants, loop, cache, progress)
        self.model = ModelUnit.of(self._lanes.library, drawn.unit, config)

    def play(self, trial: Trial, mutants: list[Mutant]) -> dict[Mutant, str]:
        """Play a trial with a mutant in each lane: those that it kills, and how.

        Raises
        ------
        SimulationError
            When the unit without a fault fails the trial.
        """
        bench = BENCHES[self.model.unit](self.model.config)
        self._lanes.choose(mutants)
        self._lanes.know(known_bytes(bench, trial.scenario))
        Prepared(self.model, trial)
        return self._lanes.found(mutants)


def known_bytes(bench: Bench, scenario: Scenario) -> list[list[int]]:
    """Bytes of each output packet that are specified, for the run before the reset, if there is
    one, and for the run behind it."""
    runs = [*([scenario.before or scenario] if scenario.reset_at is not None else []), scenario]
    return [[len(bench.expected(packet).output) for packet in run.packets] for run in runs]


def _compared(source: Source, name: str) -> Iterator[tuple[slice, str]]:
    """Where a port has a handshake: its cycle, and the data without the bytes that TKEEP leaves
    out. READY without VALID does not matter, nor VALID in another cycle than the handshake."""
    prefix, _, pin = name.rpartition("_t")

    def net(pin):
        ends = source.outputs if f"{prefix}_t{pin}" in source.outputs else source.inputs
        return source.name(ends[f"{prefix}_t{pin}"][0])

    if pin in ("valid", "ready"):
        yield slice(None), net("ready" if pin == "valid" else "valid")
        return
    where = f"{net('valid')} & {net('ready')}"
    keeps = source.outputs.get(f"{prefix}_tkeep", ()) if pin == "data" else ()
    if not keeps:
        yield slice(None), where
    size = len(source.outputs[name]) // max(1, len(keeps))
    for place, keep in enumerate(keeps):
        is_known = f"splat(known.has({place}))" if prefix == "m_axis" else "~V{}"
        kept = f"{where} & {source.name(keep)} & {is_known}"
        yield slice(size * place, size * (place + 1)), kept
