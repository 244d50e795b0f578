"""An order-preserving network for bits: fields of any width to consecutive places."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

#: Levels of multiplexers between two registers.
LEVELS_PER_STAGE = 3
#: Levels before the first register: most of them rotate words, whose switches have nothing to
#: decode.
FIRST_LEVELS = 5


class BitPacker(wiring.Component):
    """Bring the fields of a beat to cyclically consecutive places.

    A field is in the lowest bits of its word. ``starts`` says where the lowest bit of each field
    goes; the fields are consecutive: field ``i`` ends where field ``i + 1`` starts, modulo the
    size of a row, and all fields together are at most a row long.

    First each word is rotated in itself, then a cyclic butterfly moves bits between words, least
    significant bit of the destination first. Fields are consecutive, so no two bits ever collide
    (the argument of :class:`~cdma.hdl.zvc.network.Compactor`, a bit as a lane).

    In the first cycle, levels of the lowest bits of the starts move bits: the other bits of the
    starts may come late in it, and are decoded. Throughput one beat a cycle while ``enable``.
    Latency :meth:`latency` cycles: registers are between the stages, and the last stage is
    combinational. Places without a bit of a field get anything; if all bits beside the fields are
    zero, zeros.

    Parameters
    ----------
    lanes : int
        Words in a beat, a power of two of at least 2.
    word_bits : int
        Bits in a word, a power of two of at least 2.

    Members
    -------
    enable : In, the registers load
    words : In, array of ``lanes`` words
    starts : In, array of ``lanes`` places
    bits : Out, ``lanes * word_bits`` bits
    """

    enable: Signal
    words: data.View
    starts: data.View
    bits: Signal

    def __init__(self, lanes: int, word_bits: int):
        self.lanes = lanes
        self.word_bits = word_bits
        super().__init__(
            {
                "enable": In(1),
                "words": In(data.ArrayLayout(word_bits, lanes)),
                "starts": In(data.ArrayLayout(levels_of(lanes, word_bits), lanes)),
                "bits": Out(lanes * word_bits),
            }
        )

    @staticmethod
    def latency(lanes: int, word_bits: int) -> int:
        """Cycles from ``words`` to ``bits``."""
        return len(_stages(levels_of(lanes, word_bits))) - 1

    def elaborate(self, platform):
        m = Module()
        bits, starts, crossings = Value.cast(self.words), list(self.starts), {}
        stages = _stages(levels_of(self.lanes, self.word_bits))
        for number, levels in enumerate(stages):
            for level in levels:
                crossing = crossings.get(level) or _crossings(m, starts, level, self.word_bits)
                bits = _level(m, bits, starts, level, self.word_bits, crossing)
            if number + 1 < len(stages):
                crossings = self._decode(m, starts, stages[number + 1])
                bits, starts = _stage(m, f"after{levels[-1]}", self.enable, bits, starts)
        m.d.comb += self.bits.eq(bits)
        return m

    def _decode(self, m, starts, levels) -> dict[int, list]:
        """Crossings of the next stage's levels, decoded for the most part before its register."""
        found = {}
        for level in levels:
            words = (1 << level) // self.word_bits  # of half a group
            if words:
                found[level] = [
                    self._decode_start(m, start, level, f"{level}_{group}")
                    for group, start in enumerate(starts[words :: 2 * words])
                ]
        return found

    def _decode_start(self, m, start, level, name):
        """Crossings of a group. The upper part of a number decides, but where it is equal."""
        low_bits = (level + 1) // 2
        above, here = zip(*_decoded(start[low_bits:level]), strict=True)
        lower = exceeded(start[:low_bits])
        decided = [~(start[level] ^ each) & ~equal for each, equal in zip(above, here, strict=True)]
        chosen = [~(start[level] ^ each) for each in lower]
        parts = []
        for kind, each in (("decided", decided), ("here", here), ("chosen", chosen)):
            part = Signal(len(each), name=f"{kind}{name}", reset_less=True)
            with m.If(self.enable):
                m.d.sync += part.eq(Cat(*each))
            parts.append(part)
        return [
            is_decided | (is_here & each)
            for is_decided, is_here in zip(*parts[:2], strict=True)
            for each in parts[2]
        ]


def _stages(levels: int) -> list[range]:
    """Levels between registers of a :class:`BitPacker`."""
    ends = [*range(min(levels, FIRST_LEVELS), levels, LEVELS_PER_STAGE), levels]
    return [range(start, end) for start, end in zip([0, *ends], ends, strict=False)]


def levels_of(lanes: int, word_bits: int) -> int:
    """Levels of a network; ValueError when a number is no power of two of at least 2."""
    for name, number in (("Number of lanes", lanes), ("Width of a word", word_bits)):
        if number < 2 or number & (number - 1):
            raise ValueError(f"{name} must be a power of two of at least 2, not {number!r}")
    return (lanes * word_bits).bit_length() - 1


def exceeded(number: Value) -> list:
    """For each number of as many bits: ``number`` is greater.

    As a tree: synthesis makes chains of comparisons with constants.
    """
    return [above for above, _ in _decoded(number)]


def _decoded(number: Value) -> list[tuple]:
    """For each number of as many bits: ``number`` is greater, and ``number`` equals it."""
    if not len(number):
        return [(Const(0, 1), Const(1, 1))]
    if len(number) == 1:
        return [(number, ~number), (Const(0, 1), number)]
    half = len(number) // 2
    return [
        (high_above | (high_here & above), high_here & here)
        for high_above, high_here in _decoded(number[half:])
        for above, here in _decoded(number[:half])
    ]


def _crossings(m: Module, starts: list, level: int, word_bits: int) -> list:
    """Of each group of a level between words: the bits that change sides, of each half."""
    span, found = 1 << level, []
    if span < word_bits:
        return found
    for group in range(0, len(starts) * word_bits, 2 * span):
        # The fields of the upper half begin where its first word's field starts.
        start = starts[(group + span) // word_bits]
        crossing = Signal(span, name=f"crossing{level}_{group}")
        m.d.comb += crossing.eq(Cat(~(start[level] ^ above) for above in exceeded(start[:level])))
        found.append(crossing)
    return found


def _level(m: Module, bits: Value, starts: list, level: int, word_bits: int, crossings: list):
    """The bits behind one level."""
    span, after = 1 << level, Signal(len(bits), name=f"level{level}")
    if span < word_bits:
        for word, start in enumerate(starts):
            old = bits.word_select(word, word_bits)
            m.d.comb += after.word_select(word, word_bits).eq(
                Mux(start[level], old.rotate_left(span), old)
            )
        return after
    for crossing, group in zip(crossings, range(0, len(bits), 2 * span), strict=True):
        low, high = bits[group : group + span], bits[group + span : group + 2 * span]
        m.d.comb += after[group : group + 2 * span].eq(
            Cat(
                *(Mux(*each) for each in zip(crossing, high, low, strict=True)),
                *(Mux(*each) for each in zip(crossing, low, high, strict=True)),
            )
        )
    return after


def _stage(m: Module, name: str, enable, bits: Value, starts: list) -> tuple[Signal, list]:
    """Registers for the bits and for the places; synthesis drops those that nobody reads."""
    held = Signal(len(bits), name=f"{name}_bits", reset_less=True)
    held_starts = [
        Signal.like(start, name=f"{name}_start{i}", reset_less=True)
        for i, start in enumerate(starts)
    ]
    with m.If(enable):
        m.d.sync += held.eq(bits)
        m.d.sync += [new.eq(old) for new, old in zip(held_starts, starts, strict=True)]
    return held, held_starts
