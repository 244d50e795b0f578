"""Any decoder of masks and any adder of lengths, in place of those of a fetcher."""

from amaranth.hdl import Assume, Cat, Module, Mux, Signal, Value

from cdma.hdl.zvcplus.decompressor.length import PayloadLength
from cdma.hdl.zvcplus.decompressor.mask import MaskDecoder
from cdma.verify.formal.stream_rules import anything


def any_function(m: Module, now: Signal, was: Signal, inputs: Value) -> None:
    """Drive ``now`` with any value that stays while the inputs stay, and ``was`` with that of the
    cycle before."""
    seen, has_seen = Signal(len(inputs), name="seen"), Signal(name="has_seen")
    m.d.sync += [was.eq(now), seen.eq(inputs), has_seen.eq(1)]
    m.d.comb += [
        now.eq(anything(m, len(now), "any_now")),
        Assume(~has_seen | (seen != inputs) | (now == was)),
    ]


class AnyMasks(MaskDecoder):
    """Gives any mask for its inputs, as late as the decoder, and counts its ones.

    Members
    -------
    as of :class:`~cdma.hdl.zvcplus.decompressor.mask.MaskDecoder`, and:
    was : the mask for the inputs of the cycle before
    """

    def __init__(self, groups):
        super().__init__(groups)
        self.now, self.was = (Signal(4 * groups, name=name) for name in ("now", "was"))

    def elaborate(self, platform):
        m = Module()
        inputs = Cat(self.flags, self.body, self.differences, self.dense)
        any_function(m, self.now, self.was, inputs)
        for group, count in enumerate(self.counts):
            m.d.sync += count.eq(sum(self.was.word_select(group, 4)))
        with m.If(self.load):
            m.d.sync += self.mask.eq(self.was)
        return m


class AnyLengths(PayloadLength):
    """Gives any length for its inputs, as late as the adder, in any two parts.

    Members
    -------
    as of :class:`~cdma.hdl.zvcplus.decompressor.length.PayloadLength`, and:
    now : the length for the counts of the cycle before, and the widths of this one
    """

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.now, self.was = (Signal.like(self.length, name=name) for name in ("now", "was"))

    def elaborate(self, platform):
        m = Module()
        counts = [self.counts.as_value()]
        if self._repeats:
            counts += [self.has_repeats, self.repeats]
            ones = sum(self.counts)
            m.d.sync += self.repeat_bits.eq(Mux(self.has_repeats, ones, 0))
        were = Signal(len(Cat(counts)), name="counts_before")
        m.d.sync += were.eq(Cat(counts))
        any_function(m, self.now, self.was, Cat(were, self.widths.as_value()))
        most = self.words * (self.word_bits + self._repeats)
        m.d.comb += Assume(self.now <= most)
        part = anything(m, self.place_bits, "any_part")
        m.d.sync += [
            self.sum.eq(part),
            self.carry.eq(self.base + self.now - part),
            self.length.eq(self.sum + self.carry),
        ]
        return m
