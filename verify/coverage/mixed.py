"""Functional coverage of units of several types: types, and what they do to each other.

What a stream of one type shows is covered with units of that type, which have the same parts.
"""

import itertools
from collections.abc import Iterator

import numpy as np

from cdma.hdl.zvcplus.mixed.config import MixedConfig
from cdma.sim import stimulus
from cdma.sim.result import Scenario
from cdma.sim.typed import part_of, shuffled
from cdma.verify.coverage.points import BEATS, Coverage, Point, last_part
from cdma.verify.fuzz.units import make_batch

#: What a command says that is no number of the unit's types.
OTHER = "other"
#: Where the packet before is when a command is taken.
BEFORE = ("waits", "comes in", "is inside", "is out")
STALLS = (
    *("never", "bernoulli:0.5"),
    *({port: "always-but-one:5"} for port in ("source", "sink", "status", "command")),
    *({port: "paused:300"} for port in ("sink", "status", "command")),
    # Later, so that a command comes when all packets before are out.
    {"command": "paused:300,600"},
)


def points(unit: str, config: MixedConfig) -> list[Point]:
    """Points of a unit, without observations."""
    types = list(config.types)
    words = [(part.type, n) for part in config.parts.values() for n in range(part.lanes + 1)]
    found = [
        Point("number of a command", [*config.parts, OTHER]),
        Point("type x next type, back to back", list(itertools.product(types, types))),
        Point("type x words of the last beat", words),
        Point("command x packet before", list(BEFORE)),
        Point("type x beat that the sink stalls", list(itertools.product(types, BEATS))),
        Point("statuses not taken", list(range(4))),
    ]
    if unit == "decompressor":
        pairs = list(itertools.product([code.name for code in config.error_codes], types))
        found += [Point("error x type", pairs), Point("error x next type", pairs)]
    return found


def scenarios(
    unit: str, config: MixedConfig, seed: int = 0, batches: int = 8
) -> Iterator[Scenario]:
    """Yield runs on a unit: the packets of each type in one random order with each back-pressure
    profile, then batches of the fuzzer. Arguments as of
    :func:`cdma.verify.coverage.scenarios.scenarios`."""
    for number, stall in enumerate(STALLS):
        rng = np.random.default_rng([seed, number])
        packets = {}
        for type_, part in config.parts.items():
            packets[type_] = stimulus.fed(unit, stimulus.packets(part, seed + number), part)
            if unit == "decompressor":
                packets[type_] += stimulus.malformed(part, rng)
        yield Scenario(shuffled(packets, rng), stall, seed + number, f"packets, stalls {stall}")
    for number in range(batches):
        yield make_batch(unit, config, seed, number).scenario


def observe(coverage: Coverage, trace: np.ndarray) -> None:
    """Count the bins that a run covers; see :func:`cdma.verify.coverage.monitor.observe`."""
    unit, config = coverage.unit, coverage.config
    commands, statuses = (_records(trace[port]) for port in ("s_axis_cmd", "m_axis_sts"))
    entering, leaving = (_Ends(trace[port]) for port in ("s_axis", "m_axis"))
    is_compressor = unit == "compressor"
    numbers = (commands[1] if is_compressor else commands[1] >> 32).tolist()
    words = (statuses[1] if is_compressor else commands[1]) & 0xFFFFFFFF
    parts = [part_of(config, number) for number in numbers]
    types = [part.type for part in parts]
    coverage.hit("number of a command", [n if n in config.parts else OTHER for n in numbers])
    coverage.hit("type x next type, back to back", _joined(trace["s_axis"], entering, types))
    last = [
        (part.type, last_part(int(count), part.lanes))
        for part, count in zip(parts, words, strict=True)
    ]
    coverage.hit("type x words of the last beat", last)
    _observe_commands(coverage, commands[0], entering, leaving)
    _observe_stalls(coverage, trace, leaving, types)
    taken = np.searchsorted(statuses[0], np.arange(len(trace)))
    given = np.searchsorted(leaving.last, np.arange(len(trace)))
    coverage.hit("statuses not taken", (given - taken).tolist())
    if not is_compressor:
        names = {int(code): code.name for code in config.error_codes}
        codes = [names[code] for code in (statuses[1] >> 32).tolist()]
        coverage.hit("error x type", list(zip(codes, types, strict=True)))
        coverage.hit("error x next type", list(zip(codes, types[1:], strict=False)))


class _Ends:
    """Cycles of the first and last beats of packets at a port, arrays of shape (packets,)."""

    def __init__(self, pins):
        moves = np.flatnonzero(pins["valid"] & pins["ready"])
        ends = np.flatnonzero(pins["last"][moves])
        self.first, self.last = moves[np.concatenate([[0], ends[:-1] + 1])], moves[ends]


def _records(pins):
    """Cycles and values of the records at a port."""
    cycles = np.flatnonzero(pins["valid"] & pins["ready"])
    data = pins["data"][cycles]
    values = np.zeros((len(data), 8), np.uint8)
    values[:, : data.shape[1]] = data
    return cycles, values.view("<u8")[:, 0].astype(np.int64)


def _joined(pins, entering, types):
    """Types of packets that come without a pause of the source between them."""
    offered = np.concatenate([[0], np.cumsum(pins["valid"])])
    between = entering.first[1:] - entering.last[:-1]
    is_joined = offered[entering.first[1:] + 1] - offered[entering.last[:-1] + 1] == between
    return [(types[k], types[k + 1]) for k in np.flatnonzero(is_joined)]


def _observe_commands(coverage, cycles, entering, leaving):
    """Observe where the packet before is when a command is taken."""
    now = cycles[1:]
    passed = [ends[:-1] < now for ends in (entering.first, entering.last, leaving.last)]
    places = np.sum(passed, axis=0)
    coverage.hit("command x packet before", [BEFORE[place] for place in places])


def _observe_stalls(coverage, trace, leaving, types):
    """Observe the position in the packet of each beat that the sink stalls."""
    pins = trace["m_axis"]
    cycles = np.flatnonzero(pins["valid"] & ~pins["ready"] & 1)
    index = np.searchsorted(leaving.last, cycles)
    is_first, is_last = cycles <= leaving.first[index], pins["last"][cycles] != 0
    kinds = np.where(is_first, np.where(is_last, 0, 1), np.where(is_last, 3, 2))
    hits = [(types[at], BEATS[kind]) for at, kind in zip(index, kinds, strict=True)]
    coverage.hit("type x beat that the sink stalls", hits)
