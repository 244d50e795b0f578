"""The bits of a word that are sent."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvcplus.compressor.records import SENT
from cdma.hdl.zvcplus.config import Config


class FloatFields(wiring.Component):
    """Turn floats into fields: mantissa, offset of the exponent, and sign.

    Throughput one beat a cycle, latency :attr:`LATENCY` cycles; the output is registered. Bits
    above a field are anything.

    Parameters
    ----------
    config : Config
        Element type, a float.

    Members
    -------
    enable : In, the registers load
    words : In, array of words
    base : In, largest exponent of the block
    k : In, bits of an offset; 7: exponents as they are
    is_raw : In, words as they are
    fields : Out, array of words that have their field in the lowest bits
    """

    #: Cycles from words to fields.
    LATENCY = 2

    enable: Signal
    words: data.View
    base: Signal
    k: Signal
    is_raw: Signal
    fields: data.View

    def __init__(self, config: Config):
        self.config = config
        words = data.ArrayLayout(config.word.bits, config.lanes)
        super().__init__(
            {
                "enable": In(1),
                "words": In(words),
                "base": In(config.word.exponent),
                "k": In(3),
                "is_raw": In(1),
                "fields": Out(words),
            }
        )

    def elaborate(self, platform):
        m = Module()
        word = self.config.word
        sign = word.bits - 1
        is_as_is, held_as_is, held_k = Signal(), Signal(reset_less=True), Signal(3, reset_less=True)
        m.d.comb += is_as_is.eq(self.is_raw | (self.k == SENT))
        with m.If(self.enable):
            m.d.sync += [held_as_is.eq(is_as_is), held_k.eq(self.k)]
        for lane, (value, field) in enumerate(zip(self.words, self.fields, strict=True)):
            exponent = value[word.mantissa : sign]
            offset = Signal(word.exponent, name=f"offset{lane}")
            held = Signal(word.bits, name=f"held{lane}", reset_less=True)
            result = Signal(word.bits, name=f"field{lane}", reset_less=True)
            m.d.comb += [
                offset.eq(Mux(is_as_is, exponent, self.base - exponent)),
                field.eq(result),
            ]
            # The sign comes behind the bits of the offset that are sent.
            above = Signal(word.exponent + 1, name=f"above{lane}")
            m.d.comb += above.eq(held[word.mantissa : sign])
            for bits in range(word.exponent):
                with m.If(~held_as_is & (held_k == bits)):
                    m.d.comb += above[bits].eq(held[sign])
            with m.If(held_as_is):
                m.d.comb += above[word.exponent].eq(held[sign])
            with m.Elif(held_k == word.exponent):
                m.d.comb += above[word.exponent].eq(held[sign])
            with m.If(self.enable):
                m.d.sync += [
                    held.eq(Cat(value[: word.mantissa], offset, value[sign])),
                    result.eq(Cat(held[: word.mantissa], above)),
                ]
        return m
