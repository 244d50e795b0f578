"""The words of a mask, picked from the banks of the ring."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.shifter import rotate_down
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.fetch.base import reads_of


class MaskWindow(wiring.Component):
    """Pick the words of a mask from the banks, wherever it ends, and join its reads.

    Combinational for a mask that fits into a beat; a longer one is read in two cycles. Consecutive
    banks are all different modulo a power of two: of the banks that are equal, the one that is read
    is selected, and the words are rotated into their order.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    bank_words : In, array of a word per bank
    at : In, a bit per bank: it is read, see :meth:`banks`
    lane : In, for more than one word at a time: bank of the last word to pick
    fetch : In, the words are read
    void : In, there is no mask
    is_last_read : Out, the words complete the mask
    mask : Out, the mask, when ``is_last_read``
    """

    bank_words: data.View
    at: Signal
    lane: Signal
    fetch: Signal
    void: Signal
    is_last_read: Signal
    mask: Signal

    def __init__(self, config: Config):
        self.config = config
        lane = {"lane": In(range(config.lanes))} if self.width(config) > 1 else {}
        super().__init__(
            {
                **lane,
                "bank_words": In(data.ArrayLayout(config.format.word_bits, config.lanes)),
                "at": In(config.lanes),
                "fetch": In(1),
                "void": In(1),
                "is_last_read": Out(1),
                "mask": Out(config.format.block_words),
            }
        )

    @staticmethod
    def width(config: Config) -> int:
        """Banks that are read: the words of a mask, up to a power of two and to all banks."""
        return min(1 << (config.format.mask_words - 1).bit_length(), config.lanes)

    @staticmethod
    def banks(config: Config, lane: Value) -> Value:
        """A bit per bank: it is one of those that are read up to ``lane``."""
        lanes, width = config.lanes, MaskWindow.width(config)
        if width == 1:
            return Cat(lane == bank for bank in range(lanes))
        lane_bits = lanes.bit_length() - 1
        return Cat((lane - bank)[:lane_bits] < width for bank in range(lanes))

    def elaborate(self, platform):
        m = Module()
        lanes, fmt = self.config.lanes, self.config.format
        picked = self._pick(m)[-min(fmt.mask_words, lanes) :]
        if reads_of(self.config) == 1:
            m.d.comb += [self.is_last_read.eq(1), self.mask.eq(Cat(picked))]
            return m
        # Where the first beat is not complete, the place is kept, so the second is not either.
        final_words = fmt.mask_words - lanes
        is_second = Signal()
        earlier = Signal(lanes * fmt.word_bits, reset_less=True)
        m.d.comb += [
            self.is_last_read.eq(is_second | self.void),
            self.mask.eq(Cat(earlier, picked[lanes - final_words :])),
        ]
        with m.If(self.fetch):
            m.d.sync += [earlier.eq(Cat(picked)), is_second.eq(~self.is_last_read)]
        return m

    def _pick(self, m):
        """The words of all banks that are read, the last of them from bank ``lane``."""
        width, banks = self.width(self.config), list(zip(self.at, self.bank_words, strict=True))
        words = [_one_hot_mux(m, *zip(*banks[start::width], strict=True)) for start in range(width)]
        if width == 1:
            return words
        turned = rotate_down(m, words, self.lane[: width.bit_length() - 1], "turned")
        return [*turned[1:], turned[0]]


def _one_hot_mux(m, is_chosen, words):
    """The word whose bit of ``is_chosen`` is set."""
    terms = [word & bit.replicate(len(word)) for word, bit in zip(words, is_chosen, strict=True)]
    while len(terms) > 1:
        terms = [a | b for a, b in zip(terms[::2], terms[1::2], strict=True)]
    chosen = Signal(len(words[0]))
    m.d.comb += chosen.eq(terms[0])
    return chosen
