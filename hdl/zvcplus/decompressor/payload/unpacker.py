"""The bits of a beat, brought to their words."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import registered_if, wire
from cdma.hdl.zvcplus.network import exceeded, levels_of

#: Levels of multiplexers in front of the register.
FIRST_LEVELS = 3


class Crossing(data.StructLayout):
    """A start without its highest bit, compared with all places of a half.

    Members
    -------
    equal, above : a bit per upper part of a place: that of the start equals it, or is greater
    below : a bit per lower part of a place: that of the start is greater
    """

    def __init__(self, bits: int):
        upper, lower = 1 << (bits - 1 - bits // 2), 1 << bits // 2
        super().__init__({"equal": upper, "above": upper, "below": lower})


class FieldUnpacker(wiring.Component):
    """Bring consecutive fields of a row to the lowest bits of their words.

    Word ``i`` gets the bits of the row from place ``starts[i]`` on, cyclically. Only the bits of
    its field mean anything, the others are anything. The network is that of
    :class:`~cdma.hdl.zvcplus.network.BitPacker` in reverse: a cyclic butterfly moves bits between
    words, most significant bit of the source first; then each word is rotated in itself.

    Throughput one beat a cycle while ``enable``, latency one cycle: three levels are in front of a
    register, so that ``bits`` may be late, and the others behind it.

    Parameters
    ----------
    lanes : int
        Words in a beat, a power of two of at least 2.
    word_bits : int
        Bits in a word, a power of two of at least 2.

    Members
    -------
    enable : In, the register loads
    bits : In, ``lanes * word_bits`` bits
    starts : In, array of ``lanes`` places
    crossing : In, :class:`Crossing` of ``starts[lanes // 2]``
    words : Out, array of ``lanes`` words
    """

    #: Cycles from ``bits`` to ``words``.
    LATENCY = 1

    enable: Signal
    bits: Signal
    starts: data.View
    crossing: data.View
    words: data.View

    def __init__(self, lanes: int, word_bits: int):
        self.lanes = lanes
        self.word_bits = word_bits
        super().__init__(
            {
                "enable": In(1),
                "bits": In(lanes * word_bits),
                "starts": In(data.ArrayLayout(levels_of(lanes, word_bits), lanes)),
                "crossing": In(Crossing(levels_of(lanes, word_bits))),
                "words": Out(data.ArrayLayout(word_bits, lanes)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        levels = levels_of(self.lanes, self.word_bits)
        bits, starts = self.bits, list(self.starts)
        for passed, level in enumerate(reversed(range(levels))):
            if passed == min(FIRST_LEVELS, levels - 1):
                bits = registered_if(m, self.enable, bits, "held")
                starts = [
                    registered_if(m, self.enable, start[: level + 1], f"start{lane}")
                    for lane, start in enumerate(starts)
                ]
            if 1 << level < self.word_bits:
                bits = self._turn(m, bits, starts, level)
            else:
                bits = self._exchange(m, bits, starts, level)
        m.d.comb += Value.cast(self.words).eq(bits)
        return m

    def _turn(self, m, bits, starts, level):
        """Rotate words in themselves."""
        turned = Signal(len(bits), name=f"level{level}")
        for word, start in enumerate(starts):
            old = bits.word_select(word, self.word_bits)
            m.d.comb += turned.word_select(word, self.word_bits).eq(
                Mux(start[level], old.rotate_right(1 << level), old)
            )
        return turned

    def _exchange(self, m, bits, starts, level):
        """Exchange bits between the halves of groups of words."""
        span, exchanged = 1 << level, Signal(len(bits), name=f"level{level}")
        for group in range(0, len(bits), 2 * span):
            # The fields of the upper half begin where its first word's field starts.
            start = starts[(group + span) // self.word_bits]
            crossing = Signal(span, name=f"crossing{level}_{group}")
            is_first = 2 * span == len(bits)
            split = self.crossing if is_first else _split(m, start[: level + 1])
            m.d.comb += crossing.eq(_joined(m, split, start[level]))
            low, high = bits[group : group + span], bits[group + span : group + 2 * span]
            m.d.comb += exchanged[group : group + 2 * span].eq(
                Cat(
                    *(Mux(*each) for each in zip(crossing, high, low, strict=True)),
                    *(Mux(*each) for each in zip(crossing, low, high, strict=True)),
                )
            )
        return exchanged


def halves_of(start) -> Value:
    """The :class:`Crossing` of a start."""
    half = len(start) // 2
    low, high = start[:half], start[half:-1]
    equal = [high == number for number in range(1 << len(high))]
    return Cat(*equal, *exceeded(high), *exceeded(low))


def _split(m, start):
    split = Signal(Crossing(len(start)))
    m.d.comb += split.eq(halves_of(start))
    return split


def _joined(m, crossing, level) -> Value:
    """Bits that change sides: those below the start, if this is in the lower half, or else from it
    on.

    The upper part of a number decides, but where it is equal; so all but the last gates are for a
    few numbers, not for each.
    """
    decided = ~(level.replicate(len(crossing.above)) ^ crossing.above) & ~crossing.equal
    decided = wire(m, decided, "decided")
    chosen = wire(m, ~(level.replicate(len(crossing.below)) ^ crossing.below), "chosen")
    return Cat(
        is_decided | (is_equal & each)
        for is_decided, is_equal in zip(decided, crossing.equal, strict=True)
        for each in chosen
    )
