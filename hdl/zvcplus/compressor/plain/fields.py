"""The bits of a word that are sent."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvcplus.compressor.plain.records import FieldCoding
from cdma.hdl.zvcplus.config import Config


class SplitFields(wiring.Component):
    """Turn floats into fields: mantissa, offset of the exponent, and sign.

    Throughput one beat a cycle; two registers, the output is registered.

    Parameters
    ----------
    config : Config
        Element type, a float.

    Members
    -------
    load : In, the first registers load
    advance : In, the second registers load
    sends : In, they load the words of the first, or else zeros
    words : In, array of words
    mask : In, the words that are not zero; the others are anything
    coding : In, :class:`~cdma.hdl.zvcplus.compressor.plain.records.FieldCoding` of the block
    fields : Out, array of words that have their field in the lowest bits, and zeros elsewhere
    """

    load: Signal
    advance: Signal
    sends: Signal
    words: data.View
    mask: Signal
    coding: data.View
    fields: data.View

    def __init__(self, config: Config):
        self.config = config
        words = data.ArrayLayout(config.word.bits, config.lanes)
        super().__init__(
            {
                "load": In(1),
                "advance": In(1),
                "sends": In(1),
                "words": In(words),
                "mask": In(config.lanes),
                "coding": In(FieldCoding(config)),
                "fields": Out(words),
            }
        )

    def elaborate(self, platform):
        m = Module()
        word, coding = self.config.word, self.coding
        sign, size = word.bits - 1, word.exponent
        half = size // 2
        mask = Signal.like(self.mask, reset_less=True)
        # The bits of the exponent that are sent, and where the sign comes behind them.
        below = Signal(size, reset_less=True)
        place = Signal(size + 1)
        upper_base = Signal(size - half, reset_less=True)
        m.d.comb += place.eq(Cat(Const(1, 1), below) & ~Cat(below, Const(0, 1)))
        with m.If(self.load):
            m.d.sync += [
                mask.eq(self.mask),
                below.eq(coding.sent),
                upper_base.eq(coding.base[half:]),
            ]
        for lane, (value, field) in enumerate(zip(self.words, self.fields, strict=True)):
            held = Signal(word.bits, name=f"held{lane}", reset_less=True)
            carry = Signal(name=f"carry{lane}", reset_less=True)
            result = Signal(word.bits, name=f"field{lane}", reset_less=True)
            turns = coding.changes[lane]
            # The base less the exponent, or the exponent itself: the upper half a cycle later.
            exponent = value[word.mantissa : sign] ^ turns.replicate(size)
            lower = coding.base[:half] + exponent[:half] + turns
            kept = Cat(value[: word.mantissa], lower[:half], exponent[half:])
            upper = upper_base + held[word.mantissa + half : sign] + carry
            offset = Cat(held[word.mantissa : word.mantissa + half], upper)[:size]
            above = (offset & below) | (place & held[sign].replicate(size + 1))
            m.d.comb += field.eq(result)
            with m.If(self.load):
                m.d.sync += [
                    held.eq(Cat(kept, value[sign] & coding.is_wide)),
                    carry.eq(lower[half]),
                ]
            with m.If(self.advance):
                is_sent = (mask[lane] & self.sends).replicate(word.bits)
                m.d.sync += result.eq(Cat(held[: word.mantissa], above) & is_sent)
        return m
