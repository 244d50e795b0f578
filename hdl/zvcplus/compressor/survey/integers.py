"""What a block of int8 is made of: mask, widths of its groups, and where it ends."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvcplus.compressor.records import Extent
from cdma.hdl.zvcplus.compressor.survey.base import Survey
from cdma.hdl.zvcplus.compressor.survey.masks import MaskGather, gather_beats
from cdma.hdl.zvcplus.config import Config

#: Words that are joined before the first register.
PIECE_WORDS = 4


class IntSurvey(Survey):
    """Gather what the choice of a block's coding depends on, for int8.

    A group's width is that of all its values less 1, joined by OR. The bits of the payload are
    added up beat by beat, for groups of one size and of the other; with repeats, of all words and
    of the new ones.

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
        for before, behind in ((joined, sized), (sized, added)):
            m.d.comb += [behind.i.tags.eq(before.o.tags), behind.i.mask.eq(before.o.mask)]
        for lane, (word, keep) in enumerate(zip(self.words, self.keep, strict=True)):
            m.d.comb += joined.i.mask[lane].eq(word.any() & keep)
        enable = enable & added.o_valid
        if config.has_repeats:
            self._find_repeats(m, enable, joined, sized, added)
        for prefix in _prefixes(config):
            chosen = [
                stage.mask & ~stage.repeated if prefix else stage.mask
                for stage in (joined.i, joined.o)
            ]
            self._join(m, chosen[0], joined.i[f"{prefix}pieces"])
            self._size(m, chosen[1], joined.o[f"{prefix}pieces"], sized.i, prefix)
            self._add(m, sized.o, added.i, prefix)
            self._gather(m, enable, added.o, prefix)
        return m

    def _find_repeats(self, m, enable, joined, sized, added):
        """Words that equal the word before them, and their number."""
        last, has_last = Signal(self.config.word.bits, reset_less=True), Signal()
        with m.If(self.enable & self.valid):
            m.d.sync += [last.eq(self.words[-1]), has_last.eq(~self.extent.last)]
        befores = [last, *self.words][: self.config.lanes]
        for lane, (word, before) in enumerate(zip(self.words, befores, strict=True)):
            is_equal = (word == before) & (1 if lane else has_last)
            m.d.comb += joined.i.repeated[lane].eq(joined.i.mask[lane] & is_equal)
        counts, new_counts = sized.o.counts, sized.o.new_counts
        m.d.comb += [
            sized.i.repeated.eq(joined.o.repeated),
            added.i.repeated.eq(sized.o.repeated),
            added.i.nonzeros.eq(counts[0] + counts[1]),
            added.i.repeats.eq((counts[0] - new_counts[0]) + (counts[1] - new_counts[1])),
        ]
        beat, index = added.o, added.o.tags.index
        for name in ("nonzeros", "repeats"):
            total = Signal.like(self.o[name], name=name, reset_less=True)
            m.d.comb += self.o[name].eq(total)
            with m.If(enable):
                m.d.sync += total.eq(Mux(index == 0, 0, total) + beat[name])
        gather_beats(m, enable, index, beat.repeated, self.o.repeated, "repeated")

    def _join(self, m, chosen, pieces):
        """Join the values less 1 of a few words each."""
        terms = [
            (word - 1)[: len(word)] & chosen[lane].replicate(len(word))
            for lane, word in enumerate(self.words)
        ]
        for piece, first in zip(pieces, range(0, len(terms), PIECE_WORDS), strict=True):
            m.d.comb += piece.eq(_union(terms[first : first + PIECE_WORDS]))

    def _size(self, m, chosen, pieces, sized, prefix):
        """Widths of the groups, and the number of their words."""
        groups, size = self.config.beat_groups, self.config.word.bits
        lanes, number = self.config.lanes // groups, len(pieces) // groups
        for group in range(groups):
            value = Signal(size, name=f"{prefix}group{group}")
            m.d.comb += [
                value.eq(_union([pieces[group * number + k] for k in range(number)])),
                sized[f"{prefix}counts"][group].eq(popcount(m, chosen.word_select(group, lanes))),
            ]
            for bit in range(size):
                with m.If(value[bit]):
                    m.d.comb += sized[f"{prefix}widths"][group].eq(bit + 1)

    def _add(self, m, sized, added, prefix):
        """Bits of the beat's payload, with its groups of 16 words, and with that of 32."""
        (first, second), (ones, others) = (sized[f"{prefix}{n}"] for n in ("widths", "counts"))
        is_first, larger = Signal(), Signal.like(first)
        m.d.comb += [
            added[f"{prefix}widths"].eq(sized[f"{prefix}widths"]),
            is_first.eq(first > second),
            larger.eq(Mux(is_first, first, second)),
            added[f"{prefix}small_bits"].eq(ones * first + others * second),
            added[f"{prefix}large_bits"].eq((ones + others) * larger),
            added[f"{prefix}small_raised"].eq(
                Mux(first == 0, ones, 0) + Mux(second == 0, others, 0)
            ),
            added[f"{prefix}large_raised"].eq(Mux(larger == 0, ones + others, 0)),
        ]

    def _gather(self, m, enable, added, prefix):
        """Add up the beats of a block; those that it does not have count as zeros."""
        is_first = added.tags.index == 0
        for name in (f"{prefix}{each}" for each in SUMS):
            total = Signal.like(self.o[name], name=name, reset_less=True)
            m.d.comb += self.o[name].eq(total)
            with m.If(enable):
                m.d.sync += total.eq(Mux(is_first, 0, total) + added[name])
        name = f"{prefix}widths"
        own, together = added[name].as_value(), self.o[name].as_value()
        for beat in range(self.config.block_beats):
            widths = Signal(len(own), name=f"{name}{beat}", reset_less=True)
            m.d.comb += together.word_select(beat, len(own)).eq(widths)
            with m.If(enable & (added.tags.index == beat)):
                m.d.sync += widths.eq(own)
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


def _prefixes(config: Config) -> tuple[str, ...]:
    """Of the statistics of all words, and with repeats of those of the new words."""
    return ("", "new_") if config.has_repeats else ("",)


class _Beat(data.StructLayout):
    """A beat: its mask, with repeats its repeated words, and statistics of its words."""

    def __init__(self, config: Config, statistics: dict, more: dict | None = None):
        repeated = {"repeated": config.lanes, **(more or {})} if config.has_repeats else {}
        super().__init__(
            {
                "tags": _Tags(config),
                "mask": config.lanes,
                **repeated,
                **{
                    f"{prefix}{name}": shape
                    for prefix in _prefixes(config)
                    for name, shape in statistics.items()
                },
            }
        )


class _Joined(_Beat):
    """A beat: values less 1 of a few words each."""

    def __init__(self, config: Config):
        pieces = data.ArrayLayout(config.word.bits, config.lanes // PIECE_WORDS)
        super().__init__(config, {"pieces": pieces})


class _Sized(_Beat):
    """A beat: widths of its groups, and the number of their words."""

    def __init__(self, config: Config):
        groups = config.beat_groups
        super().__init__(
            config,
            {
                "widths": data.ArrayLayout(range(config.word.bits + 1), groups),
                "counts": data.ArrayLayout(range(config.lanes // groups + 1), groups),
            },
        )


class _Added(_Beat):
    """A beat: widths of its groups, and numbers of bits and words as in ``BlockStats``."""

    def __init__(self, config: Config):
        count = range(config.lanes + 1)
        super().__init__(
            config,
            {
                "widths": data.ArrayLayout(range(config.word.bits + 1), config.beat_groups),
                "small_bits": range(config.beat_bits + 1),
                "large_bits": range(config.beat_bits + 1),
                "small_raised": count,
                "large_raised": count,
            },
            {"nonzeros": count, "repeats": count},
        )
