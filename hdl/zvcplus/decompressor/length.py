"""The length of a payload."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import carry_save, tree
from cdma.hdl.lib.signals import registered


class PayloadLength(wiring.Component):
    """Bits of the words that a mask marks, and their end behind a place.

    Throughput one mask a cycle. The number of words comes a cycle after ``counts``, ``sum`` and
    ``carry`` two cycles after, and ``length`` three cycles after if ``base`` is zero then; all come
    from registers.

    Parameters
    ----------
    words : int
        Bits of the mask.
    word_bits : int
        Bits of a word, at most.
    groups : int
        Equal parts of the mask, each with a width of its own.
    place_bits : int
        Bits of a place.
    has_repeats : bool
        Some words may be repeated. With several groups, the length of such a payload is given.

    Members
    -------
    counts : In, ones in each nibble of the mask
    widths : In, a cycle after ``counts``: per group, bits of each of its words
    base : In, a cycle after ``counts``: a place
    has_repeats : In, with the parameter, with ``counts``: each word has a bit that says whether it
        is repeated
    repeats : In, with the parameter, with ``counts``: words that are repeated, and have no other
        bit; with several groups the payload's length
    repeat_bits : Out, with the parameter, a cycle after ``counts``: bits that say what is repeated
    repeated : Out, with the parameter and one group, a cycle after ``counts``: words that are
        repeated, at most all
    is_many : Out, with the parameter and one group, a cycle after ``counts``: more than all are to
        be repeated
    ones : Out, with the parameter and several groups, a cycle after ``counts``: ones of each
    sum, carry : Out, two numbers, whose sum is the place behind ``base`` and the words
    length : Out, bits of all of them
    """

    counts: data.View
    widths: data.View
    base: Signal
    sum: Signal
    carry: Signal
    length: Signal

    def __init__(
        self,
        words: int,
        word_bits: int,
        groups: int = 1,
        *,
        place_bits: int = 13,
        has_repeats: bool = False,
    ):
        if words % (4 * groups):
            raise ValueError(
                f"Number of groups must divide the {words // 4} nibbles, not {groups!r}"
            )
        if word_bits & (word_bits - 1):
            raise ValueError(f"Bits of a word must be a power of two, not {word_bits!r}")
        self.words = words
        self.word_bits = word_bits
        self.groups = groups
        self.place_bits = place_bits
        self._repeats = has_repeats
        count = range(words + 1)
        repeats = {"has_repeats": In(1)}
        if groups == 1:
            repeats |= {
                "repeats": In(count),
                "repeat_bits": Out(count),
                "repeated": Out(count),
                "is_many": Out(1),
            }
        else:
            repeats |= {
                "repeats": In(range(words * word_bits)),
                "repeat_bits": Out(count),
                "ones": Out(data.ArrayLayout(range(words // groups + 1), groups)),
            }
        super().__init__(
            {
                **(repeats if has_repeats else {}),
                "counts": In(data.ArrayLayout(3, words // 4)),
                "widths": In(data.ArrayLayout(range(word_bits + 1), groups)),
                "base": In(place_bits),
                "sum": Out(place_bits),
                "carry": Out(place_bits),
                "length": Out(range(words * (word_bits + has_repeats) + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        size = len(self.counts) // self.groups
        terms = [self.base]
        is_given = self._repeats and self.groups > 1
        if is_given:
            used, length = self._give(m)
            terms.append(length)
        for group, width in enumerate(self.widths):
            counts = [self.counts[group * size + k] for k in range(size)]
            if is_given:
                m.d.sync += self.ones[group].eq(tree(m, counts))
                count = self.ones[group] & ~used.replicate(len(self.ones[group]))
            elif self._repeats:
                count, extra = self._repeat(m, counts)
                terms.append(extra)
            else:
                count = registered(m, tree(m, counts), f"count{group}")
            rows = [(count & bit.replicate(len(count))) << k for k, bit in enumerate(width)]
            # The width of a whole word, a power of two, has no other bit.
            terms += [*rows[:-2], rows[-2] | rows[-1]]
        m.d.sync += [
            port.eq(part)
            for port, part in zip(
                (self.sum, self.carry), carry_save(m, terms, self.place_bits), strict=True
            )
        ]
        m.d.sync += self.length.eq(self.sum + self.carry)
        return m

    def _give(self, m):
        """Whether the length is given, and that length, or zero."""
        ones = tree(m, list(self.counts))
        m.d.sync += self.repeat_bits.eq(ones & self.has_repeats.replicate(len(ones)))
        length = self.repeats & self.has_repeats.replicate(len(self.repeats))
        return registered(m, self.has_repeats, "is_given"), registered(m, length, "given")

    def _repeat(self, m, counts):
        """Words that are not repeated, and the bits that say so."""
        half = len(counts) // 2
        halves = [tree(m, counts[:half]), tree(m, counts[half:])]
        ones, wanted = Signal.like(self.repeats), Signal.like(self.repeats)
        bits = len(ones) + 1
        rest = Signal(bits)  # negative when there are too many
        m.d.comb += [
            ones.eq(halves[0] + halves[1]),
            wanted.eq(self.repeats & self.has_repeats.replicate(len(wanted))),
            # From both halves, not from their sum.
            rest.eq(sum(carry_save(m, [*halves, -wanted], bits))),
        ]
        return registered(m, rest & ~rest[-1].replicate(bits), "count0"), self._told(
            m, ones, wanted, rest[-1]
        )

    def _told(self, m, ones, wanted, is_many):
        sent = registered(m, wanted, "sent")
        count = registered(m, ones, "ones")
        m.d.sync += [
            self.repeat_bits.eq(ones & self.has_repeats.replicate(len(ones))),
            self.is_many.eq(is_many),
        ]
        m.d.comb += self.repeated.eq(Mux(self.is_many, count, sent))
        return self.repeat_bits
