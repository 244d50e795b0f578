"""Zero detection: the mask of a beat."""

from amaranth.hdl import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out


class MaskGenerator(wiring.Component):
    """Tell which words of a beat are not all-zero bit patterns.

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
