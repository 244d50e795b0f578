"""Play a run of a job on a compiled model in place of cocotb."""

from collections.abc import Callable
from pathlib import Path

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
    waves: Path | None = None,
    *,
    is_traced: bool = False,
) -> Report:
    """Play one run of a job, with the stalls, cycles and rules of :mod:`cdma.sim.cocotb.bench`.

    There are two differences: a compiled model has no X, and a port with surplus output fails
    immediately.

    With ``is_traced``, the cycle of every beat is reported, as under cocotb.

    Raises
    ------
    SimulationError
        When the run takes more than ``seconds`` of wall time.
    """
    options = {
        "seconds": seconds,
        "progress": progress,
        "waves": waves,
        "is_traced": is_traced,
    }
    played = model.play(**arguments(stimulus), **options)
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
    """Convert the results to the report of a bench under cocotb."""
    return Report(
        {
            prefix: _packets(
                port,
                prefix not in stimulus.inputs,
                None if played.trace is None else played.trace[prefix],
            )
            for prefix, port in played.ports.items()
        },
        {prefix: port.stalls for prefix, port in played.ports.items()},
        played.cycles,
        played.failure,
    )


def _fed(stimulus):
    packets = stimulus.inputs["s_axis"].packets
    counts, types = _fields(stimulus.inputs.get("s_axis_cmd"))
    profiles = dict.fromkeys(PORTS, parse("never"))
    for port in (*stimulus.inputs.values(), *stimulus.outputs.values()):
        profiles[port.port] = parse(port.stall)
    return Fed(
        np.frombuffer(b"".join(packets), np.uint8),
        np.cumsum([0, *map(len, packets)]),
        counts,
        profiles,
        stimulus.seed,
        stimulus.is_dirty,
        types,
    )


def _fields(commands):
    """Numbers of words and types in commands, each ``None`` if they have none."""
    if commands is None:
        return None, None
    size = len(commands.packets[0]) if commands.packets else 4
    records = np.frombuffer(b"".join(commands.packets), np.uint8).reshape(-1, size)
    counts = np.ascontiguousarray(records[:, :4]).view("<u4")[:, 0] if size >= 4 else None
    return counts, records[:, -1] if size in (1, 5) else None


def _packets(port: Crossed, with_data: bool, pins: np.ndarray | None) -> list[Packet]:
    data, start, beat, found = memoryview(port.data), 0, 0, []
    cycles = [] if pins is None else np.flatnonzero(pins["valid"] & pins["ready"]).tolist()
    for end, beats, first_cycle, last_cycle in port.packets.tolist():
        content = bytes(data[start:end]) if with_data else b""
        taken = cycles[beat : beat + beats]
        found.append(Packet(content, beats, first_cycle, last_cycle, taken))
        start, beat = end, beat + beats
    return found
