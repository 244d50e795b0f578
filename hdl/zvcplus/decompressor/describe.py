"""What a control says of its block."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvc.beat import thermometer
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import Block, Header, window_bits
from cdma.hdl.zvcplus.decompressor.payload.words import AS_IS

START_DIFFERENCE = 3  # of bases, for d = 0: the base is 3 lower


class BlockDescriber(wiring.Component):
    """Turn the header of a control into what its block's beats need, and follow the base.

    ``widths`` come a cycle after ``header``. The block is kept from ``keep`` on, but for its mask,
    which the caller keeps at the same time. All outputs come from registers.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    header : In, :class:`~cdma.hdl.zvcplus.decompressor.layouts.Header`
    follow : In, the header is of a control: the base follows it
    start : In, the next control is a packet's first, and its base 0
    keep : In, keep the block of the last control, whose header is still there
    mask : In, the block's mask
    last, words, parity : In, with ``keep``: of the block
    failed : In, with repeats, with ``keep``: an error was found in front of the block
    widths : Out, per group of words, bits of a new word
    block : Out, :class:`~cdma.hdl.zvcplus.decompressor.layouts.Block`
    is_reserved : Out, its control has an extension that is reserved
    is_past : Out, two cycles after ``keep``: a word past the packet's end is not zero
    length : Out, bits of its control
    """

    header: data.View
    follow: Signal
    start: Signal
    keep: Signal
    mask: Signal
    last: Signal
    words: Signal
    parity: Signal
    widths: data.View
    block: data.View
    is_reserved: Signal
    is_past: Signal
    length: Signal

    def __init__(self, config: Config):
        self.config = config
        word = config.word
        super().__init__(
            {
                "header": In(Header(config)),
                **dict.fromkeys(("follow", "start", "keep", "last", "parity"), In(1)),
                "mask": In(word.block_words),
                "words": In(range(word.block_words + 1)),
                **({"failed": In(1)} if config.has_repeats else {}),
                "widths": Out(data.ArrayLayout(range(word.bits + 1), config.block_groups)),
                "block": Out(Block(config)),
                "is_reserved": Out(1),
                "is_past": Out(1),
                "length": Out(range(window_bits(config) + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        word, header = self.config.word, self.header
        kept = Signal(Block(self.config), reset_less=True)
        is_coded = Signal(reset_less=True)
        m.d.comb += [self.block.eq(kept), self.block.mask.eq(self.mask)]
        with m.If(self.keep):
            m.d.sync += [
                kept.code.raw.eq(header.raw),
                kept.widths.eq(self.widths),
                kept.last.eq(self.last),
                kept.words.eq(self.words),
                kept.parity.eq(self.parity),
                is_coded.eq(header.coded),
                self.is_reserved.eq(header.reserved),
                self.length.eq(header.length),
            ]
            if self.config.has_repeats:
                m.d.sync += [
                    kept.has_repeats.eq(header.has_repeats),
                    kept.failed.eq(self.failed),
                ]
        if word.is_float:
            self._floats(m, kept)
        else:
            for width, sent in zip(self.widths, header.widths, strict=True):
                m.d.sync += width.eq(Mux(header.raw, word.bits, sent + header.wide))
        past = self.mask & ~thermometer(kept.words, word.block_words)
        m.d.sync += self.is_past.eq(is_coded & kept.last & past.any())
        return m

    def _floats(self, m, kept):
        """Base, exponents and signs. Raw words are those with a sign and exponents as they are."""
        word, header = self.config.word, self.header
        base = Signal(word.exponent)
        is_raw, is_sent = header.raw, header.raw | (header.k == AS_IS)
        exponent_bits = Mux(header.k == AS_IS, word.exponent, header.k)
        m.d.sync += self.widths[0].eq(
            Mux(is_raw, word.bits, word.mantissa + exponent_bits + header.wide)
        )
        with m.If(self.start):
            m.d.sync += base.eq(0)
        with m.Elif(self.follow & header.coded):
            m.d.sync += base.eq(Mux(header.d == 7, header.base, base + header.d - START_DIFFERENCE))
        with m.If(self.keep):
            m.d.sync += [
                kept.code.wide.eq(header.wide | is_raw),
                kept.code.k.eq(Mux(is_raw, AS_IS, header.k)),
                kept.code.base.eq(Mux(is_sent, 0, base)),
            ]
