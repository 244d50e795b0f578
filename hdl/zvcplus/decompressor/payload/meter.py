"""The length of a payload of int8 with repeats, compared with that in its control."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import popcount, tree
from cdma.hdl.lib.signals import registered, wire
from cdma.hdl.zvc.beat import thermometer
from cdma.hdl.zvcplus.config import GROUP_WORDS, Config

GROUPS = 2  # that are added up in a cycle


class PayloadMeter(wiring.Component):
    """Add up the bits of repeats and the widths of the words that are not repeated, two groups a
    cycle, and compare the sum with a length.

    Throughput one payload in four cycles. ``is_wrong`` comes eight cycles after ``load`` and stays
    for four; it comes from a register.

    Parameters
    ----------
    config : Config
        int8 with repeats.

    Members
    -------
    load : In, take a payload; at most every fourth cycle
    uses : In, with ``load``: the payload has bits of repeats
    words : In, with ``load``: words of each group that are not zero
    widths : In, with ``load``: bits of a word of each group that is not repeated
    length : In, with ``load``: bits of the payload, by its control
    repeated : In, a cycle after ``load``: a bit per word that is not zero
    is_wrong : Out, the payload has bits of repeats and another length
    """

    #: Cycles from a payload to ``is_wrong``.
    LATENCY = 8

    load: Signal
    uses: Signal
    words: data.View
    widths: data.View
    length: Signal
    repeated: Signal
    is_wrong: Signal

    def __init__(self, config: Config):
        self.config = config
        word, groups = config.word, config.block_groups
        super().__init__(
            {
                "load": In(1),
                "uses": In(1),
                "words": In(data.ArrayLayout(range(GROUP_WORDS + 1), groups)),
                "widths": In(data.ArrayLayout(range(word.bits + 1), groups)),
                "length": In(word.count_bits),
                "repeated": In(word.block_words),
                "is_wrong": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        cycles = self.config.block_groups // GROUPS
        loaded = self.load
        was_loaded = []  # a payload, that many cycles ago, from 1 on
        for cycle in range(self.LATENCY - 1):
            loaded = registered(m, loaded, f"loaded{cycle}", is_reset=True)
            was_loaded.append(loaded)
        counts = Signal.like(self.words, name="own_counts")
        widths = Signal.like(self.widths, name="own_widths")
        length, is_used = Signal.like(self.length, name="own_length"), Signal()
        groups = list(zip(counts, self.words, widths, self.widths, strict=True))
        for group, (count, new_count, width, new_width) in enumerate(groups):
            behind = groups[group + GROUPS] if group + GROUPS < len(groups) else (0, 0, 0, 0)
            m.d.sync += [
                count.eq(Mux(self.load, new_count, behind[0])),
                width.eq(Mux(self.load, new_width, behind[2])),
            ]
        with m.If(self.load):
            m.d.sync += [length.eq(self.length), is_used.eq(self.uses)]
        products = self._measure(m, was_loaded[0], counts, widths)

        measured = Signal(range(self.config.word.block_words * (self.config.word.bits + 1) + 1))
        m.d.sync += measured.eq(Mux(was_loaded[2], 0, measured) + products)
        # The next payload may come in the fourth cycle.
        kept, was_used = Signal.like(length, name="kept"), Signal()
        with m.If(was_loaded[cycles - 1]):
            m.d.sync += [kept.eq(length), was_used.eq(is_used)]
        with m.If(was_loaded[-1]):
            m.d.sync += self.is_wrong.eq(was_used & (measured != kept))
        return m

    def _measure(self, m, is_first, counts, widths):
        """Bits of two groups, two cycles later."""
        left = Signal.like(self.repeated, name="left")
        rest = Mux(is_first, self.repeated, left)
        terms = []
        for group in range(GROUPS):
            count, width = counts[group], widths[group]
            own = rest[:GROUP_WORDS] & thermometer(count, GROUP_WORDS)
            own = wire(m, own, f"own{group}")
            repeated = registered(m, popcount(m, own), f"repeated{group}")
            words = registered(m, count, f"words{group}")
            width = registered(m, width, f"width{group}")
            new = Signal.like(words, name=f"new{group}")
            m.d.comb += new.eq(words - repeated)
            terms += [words, *((new & bit.replicate(len(new))) << k for k, bit in enumerate(width))]
            rest = (rest >> count)[: len(left)]
        m.d.sync += left.eq(rest)
        bits = Signal(range(GROUPS * GROUP_WORDS * (self.config.word.bits + 1) + 1))
        m.d.sync += bits.eq(tree(m, terms))
        return bits
