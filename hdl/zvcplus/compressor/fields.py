"""The bits of a word that are sent."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvcplus.compressor.records import SENT, Coding
from cdma.hdl.zvcplus.config import Config


class _Fields(wiring.Component):
    """Turn words into fields; ports of all element types.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    enable : In, the registers load
    words : In, array of words
    mask : In, the words that are sent
    coding : In, :class:`~cdma.hdl.zvcplus.compressor.records.Coding` of the block
    fields : Out, array of words that have their field in the lowest bits, and zeros elsewhere
    """

    #: Cycles from words to fields.
    LATENCY = 2

    enable: Signal
    words: data.View
    mask: Signal
    coding: data.View
    fields: data.View

    def __init__(self, config: Config):
        self.config = config
        words = data.ArrayLayout(config.word.bits, config.lanes)
        super().__init__(
            {
                "enable": In(1),
                "words": In(words),
                "mask": In(config.lanes),
                "coding": In(Coding(config)),
                "fields": Out(words),
            }
        )


class IntFields(_Fields):
    """Turn words of int8 into fields: the value less 1, or the value itself in a raw block.

    Throughput one beat a cycle, latency :attr:`LATENCY` cycles; the output is registered.

    Parameters
    ----------
    config : Config
        Element type int8.

    Members
    -------
    As of :class:`_Fields`.
    """

    def elaborate(self, platform):
        m = Module()
        bits, mask = self.config.word.bits, Signal.like(self.mask, reset_less=True)
        with m.If(self.enable):
            m.d.sync += mask.eq(self.mask)
        for lane, (value, field) in enumerate(zip(self.words, self.fields, strict=True)):
            held = Signal(bits, name=f"held{lane}", reset_less=True)
            result = Signal(bits, name=f"field{lane}", reset_less=True)
            m.d.comb += field.eq(result)
            with m.If(self.enable):
                m.d.sync += [
                    held.eq(Mux(self.coding.is_raw, value, value - 1)),
                    result.eq(held & mask[lane].replicate(bits)),
                ]
        return m


class FloatFields(_Fields):
    """Turn floats into fields: mantissa, offset of the exponent, and sign.

    Throughput one beat a cycle, latency :attr:`LATENCY` cycles; the output is registered.

    Parameters
    ----------
    config : Config
        Element type, a float.

    Members
    -------
    As of :class:`_Fields`.
    """

    def elaborate(self, platform):
        m = Module()
        word, coding = self.config.word, self.coding
        sign = word.bits - 1
        is_as_is, is_wide = Signal(), Signal(reset_less=True)
        mask = Signal.like(self.mask, reset_less=True)
        # Where the sign comes, one-hot, and the bits of the exponent below.
        places = [Signal(word.exponent + 1, name=f"place{k}", reset_less=k > 0) for k in range(2)]
        below = Signal(word.exponent)
        m.d.comb += [
            is_as_is.eq(coding.k == SENT),
            places[0].eq(Mux(is_as_is, 1 << word.exponent, 1 << coding.k)),
            below.eq(Cat(places[1][bit + 1 :].any() for bit in range(word.exponent))),
        ]
        with m.If(self.enable):
            m.d.sync += [
                mask.eq(self.mask),
                is_wide.eq(coding.is_wide),
                places[1].eq(places[0]),
            ]
        for lane, (value, field) in enumerate(zip(self.words, self.fields, strict=True)):
            exponent = value[word.mantissa : sign]
            held = Signal(word.bits, name=f"held{lane}", reset_less=True)
            result = Signal(word.bits, name=f"field{lane}", reset_less=True)
            has_sign = held[sign] & is_wide
            above = (held[word.mantissa : sign] & below) | (
                places[1] & has_sign.replicate(word.exponent + 1)
            )
            offset = Mux(is_as_is, exponent, coding.base - exponent)[: word.exponent]
            m.d.comb += field.eq(result)
            with m.If(self.enable):
                m.d.sync += [
                    held.eq(Cat(value[: word.mantissa], offset, value[sign])),
                    result.eq(Cat(held[: word.mantissa], above) & mask[lane].replicate(word.bits)),
                ]
        return m
