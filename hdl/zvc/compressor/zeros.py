"""Zero detection: the mask of a beat."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvc.config import Config

#: Bits that are compared with zero before the first register: a whole word of 32 takes too long.
PIECE_BITS = 16


class MaskGenerator(wiring.Component):
    """Mark the words of a beat that are not all-zero bit patterns.

    Combinational. Zero detection is on bits, so ``-0.0`` and denormals are not zero (cDMA, HPCA
    2018, section V: the compression unit's first step).

    Parameters
    ----------
    lanes : int
        Words in a beat.
    word_bits : int
        Bits in a word.

    Members
    -------
    words : In, array of ``lanes`` words
    keep : In, a bit per lane; a word that is not kept counts as zero
    mask : Out, a bit per lane: the word is kept and not zero
    """

    words: data.View
    keep: Signal
    mask: Signal

    def __init__(self, lanes: int, word_bits: int):
        super().__init__(
            {
                "words": In(data.ArrayLayout(word_bits, lanes)),
                "keep": In(lanes),
                "mask": Out(lanes),
            }
        )

    def elaborate(self, platform):
        m = Module()
        for lane, kept in enumerate(self.keep):
            m.d.comb += self.mask[lane].eq(self.words[lane].any() & kept)
        return m


def pieces_of(config: Config) -> int:
    """Pieces of a word that are compared with zero one by one."""
    return max(1, config.format.word_bits // PIECE_BITS)


def mask_of(pieces: Value, config: Config) -> Value:
    """A bit per word: one of its pieces is not zero."""
    size = pieces_of(config)
    return Cat(pieces[start : start + size].any() for start in range(0, len(pieces), size))
