"""The routing networks: one cyclic butterfly, run forwards and backwards."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out


class Compactor(wiring.Component):
    """Send the marked words of a beat, in order, to cyclically consecutive banks.

    The ``r``-th marked word leaves in bank ``(offset + r) % lanes``: collapse and alignment in one
    network of ``log2(lanes)`` levels of 2:1 multiplexers, a reverse banyan that resolves the least
    significant bit of the destination first. Two marked words that share a switch at level ``k``
    have equal low ``k`` destination bits and stand less than ``2**(k+1)`` lanes apart, so their
    ranks differ by less than that: their destinations differ in bit ``k`` and they never collide.

    Throughput one beat a cycle, no back-pressure. Latency ``log2(lanes) - 1`` cycles: a register
    follows every level but the last, whose outputs are combinational.

    Parameters
    ----------
    lanes : int
        Words in a beat, a power of two of at least 2.
    word_bits : int
        Bits in a word.

    Members
    -------
    words : In, array of ``lanes`` words
    mask : In, the marked words
    ranks : In, array: number of marked words below each (see :class:`PrefixSum`)
    offset : In, bank of the first marked word
    bank_words : Out, array of ``lanes`` words, valid where ``bank_mask`` is set
    bank_mask : Out, the banks that hold a word
    """

    def __init__(self, lanes: int, word_bits: int):
        self.levels = _levels(lanes)
        super().__init__(
            {
                "words": In(data.ArrayLayout(word_bits, lanes)),
                "mask": In(lanes),
                "ranks": In(data.ArrayLayout(self.levels, lanes)),
                "offset": In(self.levels),
                "bank_words": Out(data.ArrayLayout(word_bits, lanes)),
                "bank_mask": Out(lanes),
            }
        )

    @property
    def latency(self) -> int:
        """Cycles from ``words`` to ``bank_words``."""
        return self.levels - 1

    def elaborate(self, platform):
        m = Module()
        words = list(self.words)
        tags = _destinations(m, self)
        for level in range(self.levels):
            span = 1 << level
            crossing = _crossing(m, tags, level)
            words = [
                Mux(crossing[lane ^ span], words[lane ^ span], words[lane])
                for lane in range(len(words))
            ]
            tags = _route(m, tags, crossing, level)
            if level < self.levels - 1:
                words = [_registered(m, word, f"word{level}_{i}") for i, word in enumerate(words)]
                tags = [_registered(m, tag, f"tag{level}_{i}") for i, tag in enumerate(tags)]
        for lane, (word, tag) in enumerate(zip(words, tags, strict=True)):
            m.d.comb += [
                self.bank_words[lane].eq(word),
                self.bank_mask[lane].eq(tag[0]),
            ]
        return m


class Expander(wiring.Component):
    """Bring words from cyclically consecutive banks to the marked lanes of a beat, in order.

    The reverse of :class:`Compactor`: the marked lane of rank ``r`` gets the word of bank
    ``(offset + r) % lanes``, every other lane gets zero. The tags run through the network as they
    would in the compactor and leave behind how each switch stands; the words then take the
    switches in the opposite order.

    Throughput one beat a cycle, no back-pressure. The words are wanted one cycle after mask, ranks
    and offset; latency from there ``log2(lanes) - 1`` cycles: a register follows every level but
    the last, whose outputs are combinational.

    Parameters
    ----------
    lanes : int
        Words in a beat, a power of two of at least 2.
    word_bits : int
        Bits in a word.

    Members
    -------
    mask : In, the lanes that get a word
    ranks : In, array: number of marked lanes below each (see :class:`PrefixSum`)
    offset : In, bank of the first word
    bank_words : In, array of ``lanes`` words, a cycle after the three above
    words : Out, array of ``lanes`` words
    """

    def __init__(self, lanes: int, word_bits: int):
        self.levels = _levels(lanes)
        super().__init__(
            {
                "mask": In(lanes),
                "ranks": In(data.ArrayLayout(self.levels, lanes)),
                "offset": In(self.levels),
                "bank_words": In(data.ArrayLayout(word_bits, lanes)),
                "words": Out(data.ArrayLayout(word_bits, lanes)),
            }
        )

    @property
    def latency(self) -> int:
        """Cycles from mask, ranks and offset to ``words``."""
        return self.levels

    def elaborate(self, platform):
        m = Module()
        tags = _destinations(m, self)
        settings = []  # of the switches, level by level
        for level in range(self.levels):
            crossing = _crossing(m, tags, level)
            settings.append(_registered(m, crossing, f"cross{level}"))
            tags = _route(m, tags, crossing, level)
        mask = _registered(m, self.mask, "mask0")
        words = list(self.bank_words)
        for level in reversed(range(self.levels)):
            span = 1 << level
            crossing = settings.pop()
            words = [
                Mux(crossing[lane], words[lane ^ span], words[lane]) for lane in range(len(words))
            ]
            if level:
                words = [_registered(m, word, f"word{level}_{i}") for i, word in enumerate(words)]
                settings = [_registered(m, s, f"cross{i}_{level}") for i, s in enumerate(settings)]
                mask = _registered(m, mask, f"mask{level}")
        for lane, word in enumerate(words):
            m.d.comb += self.words[lane].eq(Mux(mask[lane], word, 0))
        return m


def _levels(lanes: int) -> int:
    if lanes < 2 or lanes & (lanes - 1):
        raise ValueError(f"Number of lanes must be a power of two of at least 2, not {lanes!r}")
    return lanes.bit_length() - 1


# A tag is a valid bit and, above it, the destination.


def _destinations(m: Module, network: Compactor | Expander) -> list:
    tags = []
    for lane, (valid, rank) in enumerate(zip(network.mask, network.ranks, strict=True)):
        tag = Signal(1 + network.levels, name=f"tag_{lane}")
        m.d.comb += tag.eq(Cat(valid, (network.offset + rank)[: network.levels]))
        tags.append(tag)
    return tags


def _crossing(m: Module, tags: list, level: int) -> Signal:
    """Per lane: its word changes to the other side of its switch at this level."""
    crossing = Signal(len(tags), name=f"crossing_{level}")
    for lane, tag in enumerate(tags):
        m.d.comb += crossing[lane].eq(tag[0] & (tag[1 + level] != (lane >> level & 1)))
    return crossing


def _route(m: Module, tags: list, crossing: Signal, level: int) -> list:
    routed = []
    for lane, tag in enumerate(tags):
        other = lane ^ 1 << level
        result = Signal(len(tag), name=f"routed_{level}_{lane}")
        # A lane whose own word leaves and that gets none must not keep a copy of its tag.
        m.d.comb += [
            result[0].eq(crossing[other] | (tag[0] & ~crossing[lane])),
            result[1:].eq(Mux(crossing[other], tags[other][1:], tag[1:])),
        ]
        routed.append(result)
    return routed


def _registered(m: Module, value, name: str) -> Signal:
    register = Signal(len(value), name=name, reset_less=True)
    m.d.sync += register.eq(value)
    return register
