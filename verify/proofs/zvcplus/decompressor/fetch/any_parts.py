"""Any decoder of masks, adder of lengths and meter of payloads, in place of those of a fetcher."""

from amaranth.hdl import Assume, Cat, Module, Mux, Signal, Value

from cdma.hdl.zvcplus.decompressor.length import PayloadLength
from cdma.hdl.zvcplus.decompressor.mask import MaskDecoder
from cdma.hdl.zvcplus.decompressor.payload.meter import PayloadMeter
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
            self._repeat(m)
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

    def _repeat(self, m):
        """The numbers beside a length: they are those of the adder."""
        ones = sum(self.counts)
        m.d.sync += self.repeat_bits.eq(Mux(self.has_repeats, ones, 0))
        if self.groups == 1:
            wanted = Mux(self.has_repeats, self.repeats, 0)
            m.d.sync += [
                self.is_many.eq(wanted > ones),
                self.repeated.eq(Mux(wanted > ones, ones, wanted)),
            ]
            return
        size = len(self.counts) // self.groups
        for group, count in enumerate(self.ones):
            m.d.sync += count.eq(sum(self.counts[group * size + k] for k in range(size)))


class AnyMeter(PayloadMeter):
    """Finds any payload wrong."""

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.is_wrong.eq(anything(m, 1, "any_wrong"))
        return m
