"""Words that equal the word before them."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvcplus.config import Config

#: Bits that are compared before the register: whole words of 32 take too long.
PIECE_BITS = 16


class LeftCompare(wiring.Component):
    """Compare each word of a packet with the word before it, across beats.

    Throughput one beat a cycle, latency one cycle; behind the register is one gate.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    enable : In, the registers load
    valid : In, there is a beat
    words : In, array of its words
    last : In, the packet ends with it
    equal : Out, a bit per word that equals the word before it; none for a packet's first word
    """

    enable: Signal
    valid: Signal
    words: data.View
    last: Signal
    equal: Signal

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "enable": In(1),
                "valid": In(1),
                "words": In(data.ArrayLayout(config.word.bits, config.lanes)),
                "last": In(1),
                "equal": Out(config.lanes),
            }
        )

    def elaborate(self, platform):
        m = Module()
        bits = self.config.word.bits
        before = Signal(bits, reset_less=True)
        has_before = Signal()
        piece_bits = min(PIECE_BITS, bits)
        size = bits // piece_bits
        pieces = Signal(self.config.lanes * size, reset_less=True)
        sources = [before, *self.words][: self.config.lanes]
        with m.If(self.enable):
            m.d.sync += pieces.eq(
                Cat(
                    (word.word_select(k, piece_bits) == source.word_select(k, piece_bits))
                    & (1 if lane else has_before)
                    for lane, (word, source) in enumerate(zip(self.words, sources, strict=True))
                    for k in range(size)
                )
            )
            with m.If(self.valid):
                m.d.sync += [before.eq(self.words[-1]), has_before.eq(~self.last)]
        m.d.comb += self.equal.eq(
            Cat(pieces.word_select(lane, size).all() for lane in range(self.config.lanes))
        )
        return m
