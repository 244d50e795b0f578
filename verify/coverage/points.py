"""Coverage points of each unit and their bins. All bins are observable at the ports.

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
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from cdma.golden import ErrorCode
from cdma.hdl.zvc.config import Config

#: Error codes of a status.
CODES = tuple(code.name for code in list(ErrorCode)[:4])
DENSITIES = ("empty", "mixed", "full")
BEATS = ("only", "first", "inside", "last")

#: Place where a truncated stream ends, in the block that the status reports.
CUTS = ("before the mask", "in the mask", "behind the mask", "behind a word", "in a word")
PLACES = ("only block", "first block", "inside", "last block")

#: Number of beats after the end of a stream that is too long.
SURPLUS = ("no beat", "a beat", "beats")

#: Length of a stream with a mask bit past the end, compared with the words that the mask announces.
MARKED = ("too short", "as announced", "too long")

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
    config : Config
    points : dict of str to Point
        Points by name.
    """

    unit: str
    config: Config
    points: dict[str, Point]

    def hit(self, name: str, kinds: Iterable[Hashable]) -> None:
        """Count observations at a point."""
        self.points[name].hits.update(kinds)

    @property
    def is_complete(self) -> bool:
        """Whether every bin was observed and no other value."""
        return not any(point.missing or point.unexpected for point in self.points.values())


def points(unit: str, config: Config) -> list[Point]:
    """Points of a unit, without observations."""
    lanes, fmt = config.lanes, config.format
    lane = range(lanes)
    words = range(1, lanes + 1)
    classes = length_classes(config)
    found = [
        Point("words of a beat's mask", list(range(lanes + 1))),
        Point("lane of a beat's first word x words", list(itertools.product(lane, words))),
        Point("lane of the mask x block", list(itertools.product(lane, DENSITIES))),
        Point("block x next block", list(itertools.product(DENSITIES, DENSITIES))),
        Point("words of a packet's last beat", list(range(lanes + 1))),
        Point("words of a packet's last block", list(range(fmt.block_words + 1))),
        Point("words of a stream's last beat", list(range(lanes + 1))),
        Point("length x next length, back to back", list(itertools.product(classes, classes))),
        Point("beat that the sink stalls", list(BEATS)),
        Point("statuses not taken", list(range(4))),
        Point("stall x phase", _stalls(unit)),
    ]
    if unit == "decompressor":
        found += [
            Point("error", list(CODES)),
            Point("error x next error, back to back", list(itertools.product(CODES, CODES))),
            Point("truncated x block", _cuts(config)),
            Point("trailing x whole words", _surplus(config)),
            Point("trailing behind no words", [True]),
            Point("mask bit past the end x stream", _marked(config)),
            Point("bytes of the last beat of a bad stream", list(range(config.beat_bytes + 1))),
            Point("command, next to its packet's beats", ["before", "between", "behind"]),
        ]
    return found


def density(ones: int, words: int) -> str:
    """Class of a block by its number of non-zero words."""
    return "empty" if not ones else "full" if ones == words else "mixed"


def length_class(words: int, config: Config) -> str:
    """Class of a packet by its length, compared with a beat and a block."""
    beat, block = config.lanes, config.format.block_words
    names = {0: "empty", beat: "a beat", block: "a block"}
    if words in names:
        return names[words]
    if words < block:
        return "part of a beat" if words < beat else "part of a block"
    return "blocks and a part" if words % block else "blocks"


def length_classes(config: Config) -> list[str]:
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


def _cuts(config):
    cuts = CUTS
    if config.format.mask_bytes == 1:
        cuts = tuple(cut for cut in cuts if cut != "in the mask")
    if config.format.word_bytes == 1:
        cuts = tuple(cut for cut in cuts if cut != "in a word")
    return list(itertools.product(cuts, PLACES))


def _surplus(config):
    return list(itertools.product(SURPLUS, (True, False)[: config.format.word_bytes]))


def _marked(config):
    return list(itertools.product(range(config.block_beats), MARKED))
