"""What a block of int8 is made of: mask, widths of its groups, and where it ends."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvcplus.compressor.records import Extent
from cdma.hdl.zvcplus.compressor.survey.base import Survey
from cdma.hdl.zvcplus.compressor.survey.masks import MaskGather
from cdma.hdl.zvcplus.config import Config

#: Words that are joined before the first register.
PIECE_WORDS = 4


class IntSurvey(Survey):
    """Gather what the choice of a block's coding depends on, for int8.

    A group's width is that of all its values less 1, joined by OR. The bits of the payload are
    added up beat by beat, for groups of one size and of the other.

    Throughput one beat a cycle, latency :meth:`latency` cycles; the outputs are registered. Members
    are those of :class:`~cdma.hdl.zvcplus.compressor.survey.base.Survey`.

    Parameters
    ----------
    config : Config
        Element type int8.
    """

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from the last beat of a block to its statistics."""
        return 4

    def elaborate(self, platform):
        m = Module()
        config, enable = self.config, self.enable
        m.submodules.masks = masks = MaskGather(config)
        m.submodules.joined = joined = DelayLine(_Joined(config), 1)
        m.submodules.sized = sized = DelayLine(_Sized(config), 1)
        m.submodules.added = added = DelayLine(_Added(config), 1)
        m.submodules.ended = ended = DelayLine(Extent(config), 1)
        for stage in (joined, sized, added, ended):
            m.d.comb += stage.enable.eq(enable)
        tags = joined.i.tags
        m.d.comb += [
            joined.i_valid.eq(self.valid),
            tags.index.eq(self.index),
            tags.extent.eq(self.extent),
            tags.end.eq(self.end),
            sized.i_valid.eq(joined.o_valid),
            added.i_valid.eq(sized.o_valid),
            masks.enable.eq(enable),
            masks.valid.eq(added.o_valid),
            masks.index.eq(added.o.tags.index),
            masks.mask.eq(added.o.mask),
            ended.i_valid.eq(added.o_valid & added.o.tags.end),
            ended.i.eq(added.o.tags.extent),
            self.o_valid.eq(ended.o_valid),
            self.o.extent.eq(ended.o),
            self.o.masks.eq(masks.o),
        ]
        self._join(m, joined.i)
        self._size(m, joined.o, sized.i)
        self._add(m, sized.o, added.i)
        self._gather(m, enable & added.o_valid, added.o)
        return m

    def _join(self, m, joined):
        """Join the values less 1 of a few words each."""
        terms = []
        for lane, (word, keep) in enumerate(zip(self.words, self.keep, strict=True)):
            is_set = Signal(name=f"is_set{lane}")
            m.d.comb += [is_set.eq(word.any() & keep), joined.mask[lane].eq(is_set)]
            terms.append((word - 1)[: len(word)] & is_set.replicate(len(word)))
        for piece, first in zip(joined.pieces, range(0, len(terms), PIECE_WORDS), strict=True):
            m.d.comb += piece.eq(_union(terms[first : first + PIECE_WORDS]))

    def _size(self, m, joined, sized):
        """Widths of the groups, and the number of their words."""
        m.d.comb += [sized.tags.eq(joined.tags), sized.mask.eq(joined.mask)]
        groups = self.config.beat_groups
        pieces, lanes = len(joined.pieces.as_value()) // groups, self.config.lanes // groups
        for group in range(groups):
            bits, size = joined.pieces.as_value().word_select(group, pieces), self.config.word.bits
            value = Signal(size, name=f"group{group}")
            m.d.comb += [
                value.eq(_union([bits.word_select(k, size) for k in range(pieces // size)])),
                sized.counts[group].eq(popcount(m, joined.mask.word_select(group, lanes))),
            ]
            for bit in range(size):
                with m.If(value[bit]):
                    m.d.comb += sized.widths[group].eq(bit + 1)

    def _add(self, m, sized, added):
        """Bits of the beat's payload, with its groups of 16 words, and with that of 32."""
        (first, second), (ones, others) = sized.widths, sized.counts
        is_first, larger = Signal(), Signal.like(first)
        m.d.comb += [
            added.tags.eq(sized.tags),
            added.mask.eq(sized.mask),
            added.widths.eq(sized.widths),
            is_first.eq(first > second),
            larger.eq(Mux(is_first, first, second)),
            added.small_bits.eq(ones * first + others * second),
            added.large_bits.eq((ones + others) * larger),
            added.small_raised.eq(Mux(first == 0, ones, 0) + Mux(second == 0, others, 0)),
            added.large_raised.eq(Mux(larger == 0, ones + others, 0)),
        ]

    def _gather(self, m, enable, added):
        """Add up the beats of a block; those that it does not have count as zeros."""
        is_first = added.tags.index == 0
        for name in SUMS:
            total = Signal.like(self.o[name], name=name, reset_less=True)
            m.d.comb += self.o[name].eq(total)
            with m.If(enable):
                m.d.sync += total.eq(Mux(is_first, 0, total) + added[name])
        groups = self.config.beat_groups
        for beat in range(self.config.block_beats):
            widths = Signal.like(added.widths.as_value(), name=f"widths{beat}", reset_less=True)
            m.d.comb += Cat(self.o.widths[beat * groups + k] for k in range(groups)).eq(widths)
            with m.If(enable & (added.tags.index == beat)):
                m.d.sync += widths.eq(added.widths)
            if beat:
                with m.Elif(enable & is_first):
                    m.d.sync += widths.eq(0)


#: Statistics that are added up.
SUMS = ("small_bits", "large_bits", "small_raised", "large_raised")


def _union(values):
    together = values[0]
    for value in values[1:]:
        together = together | value
    return together


class _Tags(data.StructLayout):
    def __init__(self, config: Config):
        super().__init__({"index": 2, "extent": Extent(config), "end": 1})


class _Joined(data.StructLayout):
    """A beat: mask, and values less 1 of a few words each."""

    def __init__(self, config: Config):
        pieces = data.ArrayLayout(config.word.bits, config.lanes // PIECE_WORDS)
        super().__init__({"tags": _Tags(config), "mask": config.lanes, "pieces": pieces})


class _Sized(data.StructLayout):
    """A beat: widths of its groups, and the number of their words."""

    def __init__(self, config: Config):
        groups = config.beat_groups
        super().__init__(
            {
                "tags": _Tags(config),
                "mask": config.lanes,
                "widths": data.ArrayLayout(range(config.word.bits + 1), groups),
                "counts": data.ArrayLayout(range(config.lanes // groups + 1), groups),
            }
        )


class _Added(data.StructLayout):
    """A beat: widths of its groups, and bits of its payload as in ``BlockStats``."""

    def __init__(self, config: Config):
        super().__init__(
            {
                "tags": _Tags(config),
                "mask": config.lanes,
                "widths": data.ArrayLayout(range(config.word.bits + 1), config.beat_groups),
                "small_bits": range(config.beat_bits + 1),
                "large_bits": range(config.beat_bits + 1),
                "small_raised": range(config.lanes + 1),
                "large_raised": range(config.lanes + 1),
            }
        )
