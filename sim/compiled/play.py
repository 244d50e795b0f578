"""Plays a run of a job on a compiled model in place of cocotb."""

from collections.abc import Callable

import numpy as np

from cdma.sim.backpressure import PORTS, parse
from cdma.sim.compiled.run import Crossed, Fed, Played
from cdma.sim.compiled.unit import ModelUnit
from cdma.sim.job import Packet, Report, Stimulus


def play(
    model: ModelUnit,
    stimulus: Stimulus,
    seconds: float = 600,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Play one run of a job; stalls, cycles and rules are those of :mod:`cdma.sim.cocotb.bench`.

    Two differences: there is no X, and a port that gives more than it owes fails at once.

    Raises
    ------
    SimulationError
        When it takes more than ``seconds`` of wall time.
    """
    played = model.play(**arguments(stimulus), seconds=seconds, progress=progress)
    return report(stimulus, played)


def arguments(stimulus: Stimulus) -> dict:
    """Arguments of :meth:`ModelUnit.play` for a stimulus."""
    return {
        "fed": _fed(stimulus),
        "before": stimulus.before and _fed(stimulus.before),
        "reset_at": stimulus.reset_at,
        "reset_cycles": stimulus.reset_cycles,
    }


def report(stimulus: Stimulus, played: Played) -> Report:
    """What was played, as a bench under cocotb reports it."""
    return Report(
        {
            prefix: _packets(port, with_data=prefix not in stimulus.inputs)
            for prefix, port in played.ports.items()
        },
        {prefix: port.stalls for prefix, port in played.ports.items()},
        played.cycles,
        played.failure,
    )


def _fed(stimulus):
    packets = stimulus.inputs["s_axis"].packets
    commands = stimulus.inputs.get("s_axis_cmd")
    profiles = dict.fromkeys(PORTS, parse("never"))
    for port in (*stimulus.inputs.values(), *stimulus.outputs.values()):
        profiles[port.port] = parse(port.stall)
    return Fed(
        np.frombuffer(b"".join(packets), np.uint8),
        np.cumsum([0, *map(len, packets)]),
        None if commands is None else np.frombuffer(b"".join(commands.packets), "<u4"),
        profiles,
        stimulus.seed,
        stimulus.is_dirty,
    )


def _packets(port: Crossed, with_data: bool) -> list[Packet]:
    data, start, found = memoryview(port.data), 0, []
    for end, beats, first_cycle, last_cycle in port.packets.tolist():
        content = bytes(data[start:end]) if with_data else b""
        found.append(Packet(content, beats, first_cycle, last_cycle))
        start = end
    return found
