"""Beats of all types on their way through what the types share."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Const, Signal, Value
from amaranth.lib import data

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import BeatTags
from cdma.hdl.zvcplus.mixed.config import MixedConfig
from cdma.hdl.zvcplus.mixed.lanes import LANE_BITS, ByteSide


@dataclass(frozen=True)
class ByteRows(ByteSide):
    """Size of what the types of a decompressor share.

    Parameters
    ----------
    config : MixedConfig
        Element types, and repeats.
    """

    config: MixedConfig

    @property
    def parts(self) -> dict[int, Config]:
        """Configuration of each type, by its number."""
        return self.config.parts

    @property
    def has_repeats(self) -> bool:
        """Words can repeat the word before them."""
        return self.config.repeats != "none"

    @property
    def beat_tags(self) -> "TypedTags":
        """Tags of a beat."""
        return TypedTags(self)


class TypedTags(data.StructLayout):
    """What stays with a beat of any type up to the output.

    Members
    -------
    select : a bit per type: the beat's is set
    own : what only words of that type look at, see :func:`own_tags`
    words : bytes of the words that belong to the packet
    given, last, final, parity, failed : as of
        :class:`~cdma.hdl.zvcplus.decompressor.layouts.BeatTags`
    """

    def __init__(self, size: ByteRows):
        parts = size.parts.values()
        super().__init__(
            {
                "select": len(parts),
                "own": max(len(own_tags(Signal(BeatTags(part)))) for part in parts),
                "words": range(size.lanes + 1),
                **dict.fromkeys(("given", "last", "final", "parity"), 1),
                **({"failed": 1} if size.has_repeats else {}),
            }
        )


def own_tags(tags: data.View) -> Value:
    """The tags of one type that the types do not have in common."""
    return Cat(Value.cast(tags[name]) for name, _ in tags.shape() if name not in _COMMON)


def typed(tags: data.View, own: data.View, config: Config, select: int) -> list:
    """Statements that make tags of all types from those of one, whose bit is ``select``."""
    word_bytes = config.word.bits // LANE_BITS
    given = own_tags(own)
    return [
        tags.select.eq(select),
        tags.own.eq(given),
        tags.words.eq(own.words * word_bytes),
        *(tags[name].eq(own[name]) for name, _ in tags.shape() if name in _FLAGS),
    ]


def untyped(own: data.View, tags: data.View, config: Config) -> list:
    """Statements that give the tags of one type back."""
    word_bytes = config.word.bits // LANE_BITS
    names = [name for name, _ in own.shape() if name not in _COMMON]
    return [
        Cat(Value.cast(own[name]) for name in names).eq(tags.own),
        own.words.eq(tags.words[word_bytes.bit_length() - 1 :]),
        *(own[name].eq(tags[name]) for name, _ in tags.shape() if name in _FLAGS),
    ]


#: Tags that all types have.
_FLAGS = ("given", "last", "final", "parity", "failed")
_COMMON = ("words", *_FLAGS)


def byte_places(starts, select, size: ByteRows) -> list:
    """Place of each byte in a row, from that of its word, which all bytes of the word have.

    For :class:`~cdma.hdl.zvcplus.decompressor.payload.unpacker.FieldUnpacker`, which looks only at
    the lowest bits of the places of bytes inside a word: there the sum is a bit that is inverted.
    """
    found = []
    for lane, start in enumerate(starts):
        turns = Const(0, len(start))
        for is_here, part in zip(select, size.parts.values(), strict=True):
            inside = LANE_BITS * (lane % (part.word.bits // LANE_BITS))
            turns = turns | (Const(inside, len(start)) & is_here.replicate(len(start)))
        found.append(start ^ turns)
    return found
