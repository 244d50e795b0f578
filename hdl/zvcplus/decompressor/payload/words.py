"""Words from their bits in the payload."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import any_of, select
from cdma.hdl.zvc.beat import thermometer
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import BeatTags

AS_IS = 7  # of k: exponents as they are


class WordBuilder(wiring.Component):
    """Make the words of a beat; zero where the mask is 0.

    Floats have a mantissa, an exponent that is the base less an offset, and a sign. Words of int8
    are greater by 1 than what is sent of them.

    Combinational.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    fields : In, array of ``lanes`` words: the bits of each from its lowest on, with anything above
    tags : In, :class:`~cdma.hdl.zvcplus.decompressor.layouts.BeatTags`
    words : Out, array of ``lanes`` words; zero past the packet's end
    is_past : Out, a raw word past the packet's end is not zero
    """

    fields: data.View
    tags: data.View
    words: data.View
    is_past: Signal

    def __init__(self, config: Config):
        self.config = config
        words = data.ArrayLayout(config.word.bits, config.lanes)
        super().__init__(
            {
                "fields": In(words),
                "tags": In(BeatTags(config)),
                "words": Out(words),
                "is_past": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        word, code = self.config.word, self.tags.code
        kept = thermometer(self.tags.words, self.config.lanes)
        past = []
        make = self._make_floats if word.is_float else self._make_integers
        for lane, (field, made) in enumerate(zip(self.fields, make(m), strict=True)):
            is_set = self.tags.mask[lane] & kept[lane]
            m.d.comb += self.words[lane].eq(
                Mux(code.raw, field, made) & is_set.replicate(word.bits)
            )
            past.append(~kept[lane] & field.any())
        m.d.comb += self.is_past.eq(code.raw & any_of(past))
        return m

    def _make_integers(self, m):
        """Words of int8 from their fields."""
        bits, groups = self.config.word.bits, self.config.beat_groups
        masks = [thermometer(width, bits) for width in self.tags.widths]
        made = []
        for lane, field in enumerate(self.fields):
            word = Signal(bits, name=f"made{lane}")
            m.d.comb += word.eq((field & masks[lane * groups // self.config.lanes]) + 1)
            made.append(word)
        return made

    def _make_floats(self, m):
        """Floats from their fields."""
        word, code = self.config.word, self.tags.code
        bits = Signal(range(word.exponent + 1))  # of the exponent's field
        is_sent = Signal()
        m.d.comb += [is_sent.eq(code.k == AS_IS), bits.eq(Mux(is_sent, word.exponent, code.k))]
        own = Signal(word.exponent)
        m.d.comb += own.eq(thermometer(bits, word.exponent))
        base = Mux(is_sent, 0, code.base)
        made = []
        for lane, field in enumerate(self.fields):
            above = field[word.mantissa :]
            sign = select(m, bits, list(above), f"sign{lane}")
            offset = Signal(word.exponent, name=f"offset{lane}")
            exponent = Signal(word.exponent, name=f"exponent{lane}")
            m.d.comb += [
                offset.eq(above & own),
                exponent.eq(Mux(is_sent, offset, base - offset)),
            ]
            made.append(Cat(field[: word.mantissa], exponent, sign & code.wide))
        return made
