"""What must be seen of each unit, as kinds that can be told apart at its ports.

**Phases.** At any time the oldest packet whose status was not taken yet is in one of these phases.
*Out* means handshakes at ``m_axis``, *in* those at ``s_axis``.

| Phase | The oldest packet |
|---|---|
| ``idle`` | there is none |
| ``commanded`` | its command was taken, no beat of it is in (decompressor) |
| ``uncommanded`` | beats of it are in, its command was not taken (decompressor) |
| ``filling`` | its first beat is in, its last is not, nothing is out |
| ``whole`` | its last beat is in, nothing is out |
| ``flowing`` | its first beat is out, its last beat is not in |
| ``emptying`` | its last beat is in, its first is out, its last is not |
| ``padding`` | the same of a stream that was cut short: what did not come is given as zeros |
| ``draining`` | all that its words need is in, its last beat is not (decompressor) |
| ``reporting`` | its last beats are in and out, its status was not taken |

**Stalls.** A side stalls when it holds up what the other one is ready for: ``source pauses``,
``sink stalls``, ``status stalls``, ``command pauses``; ``source waits`` and ``command waits`` are
the unit's own.
"""

import itertools
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from cdma.golden import ErrorCode
from cdma.hdl.zvc.config import Config

#: The errors of a status.
CODES = tuple(code.name for code in list(ErrorCode)[:4])
DENSITIES = ("empty", "mixed", "full")
BEATS = ("only", "first", "inside", "last")

#: Where a stream that is cut short ends, in the block that the status names.
CUTS = ("before the mask", "in the mask", "behind the mask", "behind a word", "in a word")
PLACES = ("only block", "first block", "inside", "last block")

#: What follows a stream that is too long: beats that it takes more, and whether in whole words.
SURPLUS = ("no beat", "a beat", "beats")

#: Stream of a block with a mask bit past the end, next to the words that its mask announces.
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
    """Something that is observed, and each of its kinds.

    Parameters
    ----------
    name : str
        What is observed.
    bins : iterable
        Its kinds, text, numbers or tuples of them. All must be seen, and nothing else may be.

    Attributes
    ----------
    hits : Counter
        How often each kind was seen.
    """

    name: str
    bins: list[Hashable]
    hits: Counter = field(default_factory=Counter)

    @property
    def missing(self) -> list[Hashable]:
        """Kinds that were not seen."""
        return [each for each in self.bins if not self.hits[each]]

    @property
    def unexpected(self) -> list[Hashable]:
        """Kinds that were seen but are listed as impossible."""
        return sorted(set(self.hits) - set(self.bins), key=str)


@dataclass
class Coverage:
    """What was seen of a unit.

    Attributes
    ----------
    unit : str
    config : Config
    points : dict of str to Point
        By their names.
    """

    unit: str
    config: Config
    points: dict[str, Point]

    def hit(self, name: str, kinds: Iterable[Hashable]) -> None:
        """Count what was seen at a point."""
        self.points[name].hits.update(kinds)

    @property
    def is_complete(self) -> bool:
        """Whether every kind was seen and nothing else."""
        return not any(point.missing or point.unexpected for point in self.points.values())


def points(unit: str, config: Config) -> list[Point]:
    """Points of a unit, nothing seen yet."""
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
    """Kind of a block by its non-zero words."""
    return "empty" if not ones else "full" if ones == words else "mixed"


def length_class(words: int, config: Config) -> str:
    """Kind of a packet by its length, next to a beat and a block."""
    beat, block = config.lanes, config.format.block_words
    names = {0: "empty", beat: "a beat", block: "a block"}
    if words in names:
        return names[words]
    if words < block:
        return "part of a beat" if words < beat else "part of a block"
    return "blocks and a part" if words % block else "blocks"


def length_classes(config: Config) -> list[str]:
    """Kinds of packets that there are."""
    lengths = range(2 * config.format.block_words + 1)
    return list(dict.fromkeys(length_class(words, config) for words in lengths))


def _stalls(unit):
    pairs = itertools.product(STALLS[unit], PHASES[unit])
    return [pair for pair in pairs if not impossible(*pair)]


def impossible(stall: str, phase: str) -> str:
    """Why there is no such stall in a phase; empty where there is."""
    if stall == "status stalls" and phase != "reporting":
        return "a status is that of the oldest packet, and comes behind its last beat"
    if phase == "idle" and stall.endswith(("waits", "stalls")):
        return "a unit that has nothing takes what is offered and offers nothing"
    if stall == "sink stalls" and phase in ("commanded", "uncommanded"):
        return "no beat goes out before the command and a beat are in"
    if stall == "source waits" and phase == "commanded":
        return "the ring is empty"
    if stall == "command waits" and phase == "uncommanded":
        return "a command is taken when there is none"
    if stall == "command pauses" and phase in ("commanded", "filling", "flowing", "draining"):
        return "the next command is not wanted before the last beat is in"
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
