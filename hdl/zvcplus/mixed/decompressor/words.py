"""Words of all types from their bits in the payload."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.lib.signals import one_of
from cdma.hdl.zvc.beat import thermometer
from cdma.hdl.zvcplus.decompressor.layouts import BeatTags
from cdma.hdl.zvcplus.decompressor.payload.copy import LeftCopy
from cdma.hdl.zvcplus.decompressor.payload.words import WordBuilder
from cdma.hdl.zvcplus.mixed.decompressor.records import ByteRows, TypedTags, own_tags, untyped


class TypedWords(wiring.Component):
    """Make the words of a beat of any type, and copy those that repeat the word before.

    Throughput one beat a cycle while ``enable``; latency :meth:`latency` cycles. The words come
    from registers, through an adder or through copies, and the multiplexer of the types.

    Parameters
    ----------
    size : ByteRows
        Size of what the types share.

    Members
    -------
    enable : In, the registers load
    i_valid, tags : In, there is a beat, and its
        :class:`~cdma.hdl.zvcplus.mixed.decompressor.records.TypedTags`
    fields : In, the bits of its words, each from its lowest on, with anything above
    take : In, the beat leaves
    o_valid, o_tags : Out, there is a beat, and its tags
    words : Out, its words; zero past the packet's end
    is_past : Out, a raw word past the packet's end is not zero
    """

    enable: Signal
    i_valid: Signal
    tags: data.View
    fields: Signal
    take: Signal
    o_valid: Signal
    o_tags: data.View
    words: Signal
    is_past: Signal

    def __init__(self, size: ByteRows):
        self.size = size
        super().__init__(
            {
                **dict.fromkeys(("enable", "i_valid", "take"), In(1)),
                "tags": In(TypedTags(size)),
                "fields": In(size.beat_bits),
                "o_valid": Out(1),
                "o_tags": Out(TypedTags(size)),
                "words": Out(size.beat_bits),
                "is_past": Out(1),
            }
        )

    @staticmethod
    def latency(size: ByteRows) -> int:
        """Cycles from fields to words."""
        return WordBuilder.LATENCY + size.has_repeats

    def elaborate(self, platform):
        m = Module()
        parts = list(self.size.parts.values())
        m.submodules.built = built = DelayLine(TypedTags(self.size), WordBuilder.LATENCY)
        words, past, repeated = [], [], []
        for part in parts:
            builder = m.submodules[part.type] = WordBuilder(part)
            after = Signal(BeatTags(part), name=f"{part.type}_tags")
            m.d.comb += [
                builder.enable.eq(self.enable),
                Value.cast(builder.fields).eq(self.fields),
                untyped(builder.tags, self.tags, part),
                untyped(after, built.o, part),
                builder.o_tags.eq(after),
            ]
            words.append(Value.cast(builder.words))
            past.append(builder.is_past)
            if self.size.has_repeats:
                # Words past the packet's end stay zero.
                kept = Signal(BeatTags(part), name=f"{part.type}_kept")
                m.d.comb += kept.eq(after)
                m.d.comb += kept.repeated.eq(after.repeated & thermometer(after.words, part.lanes))
                repeated.append(own_tags(kept))
        m.d.comb += [
            built.enable.eq(self.enable),
            built.i_valid.eq(self.i_valid),
            built.i.eq(self.tags),
        ]
        select = built.o.select
        made, is_past = one_of(select, words), one_of(select, past)
        if not self.size.has_repeats:
            m.d.comb += [
                self.o_valid.eq(built.o_valid),
                self.o_tags.eq(built.o),
                self.words.eq(made),
                self.is_past.eq(is_past),
            ]
            return m
        m.submodules.held = held = DelayLine(_Built(self.size), 1)
        m.d.comb += [
            held.enable.eq(self.enable),
            held.i_valid.eq(built.o_valid),
            held.i.tags.eq(built.o),
            held.i.tags.own.eq(one_of(select, repeated)),
            held.i.words.eq(made),
            held.i.is_past.eq(is_past),
            self.o_valid.eq(held.o_valid),
            self.o_tags.eq(held.o.tags),
            self.words.eq(self._copies(m, parts, held.o)),
            self.is_past.eq(held.o.is_past),
        ]
        return m

    def _copies(self, m, parts, held):
        """Copies of words of each type; of a beat, those of its own."""
        found = []
        for number, part in enumerate(parts):
            copy = m.submodules[f"{part.type}_copy"] = LeftCopy(part)
            tags = Signal(BeatTags(part), name=f"{part.type}_held")
            m.d.comb += [
                untyped(tags, held.tags, part),
                Value.cast(copy.words).eq(held.words),
                copy.repeated.eq(tags.repeated),
                copy.final.eq(tags.final),
                copy.take.eq(self.take & held.tags.select[number]),
            ]
            found.append(Value.cast(copy.o))
        return one_of(held.tags.select, found)


class _Built(data.StructLayout):
    """Words of a beat, before repeated words are copied."""

    def __init__(self, size: ByteRows):
        super().__init__({"tags": TypedTags(size), "words": size.beat_bits, "is_past": 1})
