"""The length of a payload."""

from amaranth.hdl import Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import add, popcount


class PayloadLength(wiring.Component):
    """Bits of the words that a mask marks.

    Throughput one mask a cycle; latency two cycles, each when its ``load`` is set; ``length`` comes
    from registers.

    Parameters
    ----------
    words : int
        Bits of the mask.
    word_bits : int
        Bits of a word, at most.
    groups : int
        Equal parts of the mask, each with a width of its own.
    has_repeats : bool
        Some words may be repeated; with one group.

    Members
    -------
    mask : In, marks the words
    widths : In, per group, bits of each of its words
    has_repeats : In, with the parameter: each word has a bit that says whether it is repeated
    repeats : In, with the parameter: words that are repeated, and have no other bit
    load_count : In, load the registers of the first stage
    load_length : In, load the registers of the second stage
    repeat_bits : Out, with the parameter: bits that say what is repeated, from the first stage
    count, repeated : Out, with the parameter, from the first stage: words of the mask, and those
        that are repeated, at most as many
    is_many : Out, with the parameter, from the first stage: more than all are to be repeated
    length : Out, bits of all of them
    """

    mask: Signal
    widths: data.View
    load_count: Signal
    load_length: Signal
    length: Signal

    def __init__(self, words: int, word_bits: int, groups: int = 1, *, has_repeats: bool = False):
        if words % groups:
            raise ValueError(f"Number of groups must divide the {words} words, not {groups!r}")
        self.words = words
        self.word_bits = word_bits
        self.groups = groups
        self._repeats = has_repeats
        count = range(words + 1)
        repeats = {
            "has_repeats": In(1),
            "repeats": In(count),
            "repeat_bits": Out(count),
            "count": Out(count),
            "repeated": Out(count),
            "is_many": Out(1),
        }
        super().__init__(
            {
                **(repeats if has_repeats else {}),
                "mask": In(words),
                "widths": In(data.ArrayLayout(range(word_bits + 1), groups)),
                "load_count": In(1),
                "load_length": In(1),
                "length": Out(range(words * (word_bits + has_repeats) + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        size = self.words // self.groups
        products = []
        for group, width in enumerate(self.widths):
            count = Signal(range(size + 1), name=f"count{group}", reset_less=True)
            held = Signal(len(width), name=f"held_width{group}", reset_less=True)
            halves = [
                popcount(m, self.mask.word_select(2 * group + half, size // 2)) for half in range(2)
            ]
            if self._repeats:
                products.append(self._repeat(m, count, halves))
            else:
                with m.If(self.load_count):
                    m.d.sync += count.eq(add(m, *halves))
            with m.If(self.load_count):
                m.d.sync += held.eq(width)
            products.append(count * held)
        with m.If(self.load_length):
            m.d.sync += self.length.eq(sum(products[1:], products[0]))
        return m

    def _repeat(self, m, count, halves):
        """Words of the mask, and ``count`` of them that are not repeated; gives the bits that say
        so."""
        ones, wanted, sent = add(m, *halves), Signal.like(self.repeats), Signal.like(self.repeats)
        rest = Signal(signed(len(ones) + 1))
        m.d.comb += [
            wanted.eq(self.repeats & self.has_repeats.replicate(len(wanted))),
            # From both halves, not from their sum.
            rest.eq(halves[0] + halves[1] - wanted),
            self.repeated.eq(Mux(self.is_many, self.count, sent)),
        ]
        with m.If(self.load_count):
            m.d.sync += [
                self.count.eq(ones),
                sent.eq(wanted),
                count.eq(rest & ~rest[-1].replicate(len(count))),
                self.repeat_bits.eq(ones & self.has_repeats.replicate(len(ones))),
                self.is_many.eq(rest[-1]),
            ]
        return self.repeat_bits
