"""Coverage points that units of all codecs have, and their bins, observable at the ports.

**Phases.** At any time, the oldest packet without a transferred status is in one of these phases.
*In* means a handshake at ``s_axis``, *out* a handshake at ``m_axis``.

| Phase | State of the oldest packet |
|---|---|
| ``idle`` | there is no packet |
| ``commanded`` | its command was accepted, none of its beats is in (decompressor) |
| ``uncommanded`` | some of its beats are in, its command was not accepted (decompressor) |
| ``filling`` | its first beat is in, its last beat is not, no beat is out |
| ``whole`` | its last beat is in, no beat is out |
| ``flowing`` | its first output beat is out, its last input beat is not in |
| ``emptying`` | its last input beat is in, its first output beat is out, its last is not |
| ``padding`` | as ``emptying``, for a truncated stream: missing words are output as zeros |
| ``draining`` | all beats that its words need are in, its last beat is not (decompressor) |
| ``reporting`` | its last beats are in and out, its status was not accepted |

**Stalls.** A stall is a cycle in which one side of a port is ready and the other is not. The
outside stalls with ``source pauses``, ``sink stalls``, ``status stalls`` and ``command pauses``.
The unit stalls with ``source waits`` and ``command waits``.
"""

import itertools
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from cdma.hdl.codecs import UnitConfig

BEATS = ("only", "first", "inside", "last")

PHASES = {
    "compressor": ("idle", "filling", "whole", "flowing", "emptying", "reporting"),
    "decompressor": (
        *("idle", "commanded", "uncommanded", "filling", "whole", "flowing", "emptying"),
        *("padding", "draining", "reporting"),
    ),
}
STALLS = {
    "compressor": ("source pauses", "source waits", "sink stalls", "status stalls"),
    "decompressor": (
        *("source pauses", "source waits", "sink stalls", "status stalls"),
        *("command pauses", "command waits"),
    ),
}


@dataclass
class Point:
    """A coverage point and its bins.

    Parameters
    ----------
    name : str
        Name of the observed property.
    bins : iterable
        Texts, numbers or tuples of them. All must be observed, and no other value.

    Attributes
    ----------
    hits : Counter
        Number of observations of each bin.
    """

    name: str
    bins: list[Hashable]
    hits: Counter = field(default_factory=Counter)

    @property
    def missing(self) -> list[Hashable]:
        """Bins that were not observed."""
        return [each for each in self.bins if not self.hits[each]]

    @property
    def unexpected(self) -> list[Hashable]:
        """Observed values without a bin."""
        return sorted(set(self.hits) - set(self.bins), key=str)


@dataclass
class Coverage:
    """Functional coverage of a unit.

    Attributes
    ----------
    unit : str
    config : UnitConfig
    points : dict of str to Point
        Points by name.
    """

    unit: str
    config: UnitConfig
    points: dict[str, Point]

    def hit(self, name: str, kinds: Iterable[Hashable]) -> None:
        """Count observations at a point."""
        self.points[name].hits.update(kinds)

    @property
    def is_complete(self) -> bool:
        """Whether every bin was observed and no other value."""
        return not any(point.missing or point.unexpected for point in self.points.values())


def common_points(
    unit: str, config: UnitConfig, codes: Sequence[str], stalls: Iterable[tuple[str, str]] = ()
) -> list[Point]:
    """Points that a unit of any codec has, without observations.

    Parameters
    ----------
    unit : str
    config : UnitConfig
    codes : sequence of str
        Error codes of a decompressor's status.
    stalls : iterable of tuple of str
        Stall and phase that this unit has, though :func:`impossible` has a reason for others.
    """
    classes = length_classes(config)
    found = [
        Point("words of a beat's mask", list(range(config.lanes + 1))),
        Point("words of a packet's last beat", list(range(config.lanes + 1))),
        Point("words of a packet's last block", list(range(config.format.block_words + 1))),
        Point("length x next length, back to back", list(itertools.product(classes, classes))),
        Point("beat that the sink stalls", list(BEATS)),
        Point("statuses not taken", list(range(4))),
        Point("stall x phase", [*_stalls(unit), *stalls]),
    ]
    if unit == "decompressor":
        found += [
            Point("error", list(codes)),
            Point("error x next error, back to back", list(itertools.product(codes, codes))),
            Point("bytes of the last beat of a bad stream", list(range(config.beat_bytes + 1))),
            Point("command, next to its packet's beats", ["before", "between", "behind"]),
        ]
    return found


def last_part(total: int, size: int) -> int:
    """Size of the last of the parts of ``total``, all but it of ``size``; 0 without any."""
    return total % size or min(total, size)


def length_class(words: int, config: UnitConfig) -> str:
    """Class of a packet by its length, compared with a beat and a block."""
    beat, block = config.lanes, config.format.block_words
    names = {0: "empty", beat: "a beat", block: "a block"}
    if words in names:
        return names[words]
    if words < block:
        return "part of a beat" if words < beat else "part of a block"
    return "blocks and a part" if words % block else "blocks"


def length_classes(config: UnitConfig) -> list[str]:
    """All classes of packet lengths."""
    lengths = range(2 * config.format.block_words + 1)
    return list(dict.fromkeys(length_class(words, config) for words in lengths))


def _stalls(unit):
    pairs = itertools.product(STALLS[unit], PHASES[unit])
    return [pair for pair in pairs if not impossible(*pair)]


def impossible(stall: str, phase: str) -> str:
    """Reason why a stall cannot happen in a phase; empty if it can."""
    if stall == "status stalls" and phase != "reporting":
        return "the status of the oldest packet comes after its last beat"
    if phase == "idle" and stall.endswith(("waits", "stalls")):
        return "an idle unit accepts all inputs and offers no output"
    if stall == "sink stalls" and phase in ("commanded", "uncommanded"):
        return "no beat leaves before the command and a beat are in"
    if stall == "source waits" and phase == "commanded":
        return "the ring is empty"
    if stall == "command waits" and phase == "uncommanded":
        return "the unit accepts a command when it has none"
    if stall == "command pauses" and phase in ("commanded", "filling", "flowing", "draining"):
        return "the unit accepts no further command before the last beat is in"
    return ""
