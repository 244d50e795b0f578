"""Words from their bits in the payload."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import any_of, one_of, registered_if, wire
from cdma.hdl.zvc.beat import thermometer
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import BeatTags

AS_IS = 7  # of k: exponents as they are


class WordBuilder(wiring.Component):
    """Make the words of a beat; zero where the mask is 0.

    Floats have a mantissa, an exponent that is the base less an offset, and a sign. Words of int8
    are greater by 1 than what is sent of them.

    In one cycle the fields are cut out; in the next they are added to what words are built on.
    Throughput one beat a cycle while ``enable``; latency one cycle. ``words`` and ``is_past`` come
    from an adder behind registers.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    enable : In, the registers load
    fields : In, array of ``lanes`` words: the bits of each from its lowest on, with anything above
    tags : In, :class:`~cdma.hdl.zvcplus.decompressor.layouts.BeatTags`
    o_tags : In, the same, a cycle with ``enable`` later
    words : Out, array of ``lanes`` words; zero past the packet's end
    is_past : Out, a raw word past the packet's end is not zero
    """

    enable: Signal
    fields: data.View
    tags: data.View
    o_tags: data.View
    words: data.View
    is_past: Signal

    #: Cycles from fields to words.
    LATENCY = 1

    def __init__(self, config: Config):
        self.config = config
        words = data.ArrayLayout(config.word.bits, config.lanes)
        super().__init__(
            {
                "enable": In(1),
                "fields": In(words),
                "tags": In(BeatTags(config)),
                "o_tags": In(BeatTags(config)),
                "words": Out(words),
                "is_past": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        word, lanes, tags = self.config.word, self.config.lanes, self.o_tags
        kept = wire(m, thermometer(tags.words, lanes), "kept")
        cut, made = self._floats(m) if word.is_float else self._integers(m)
        past = []
        for lane in range(lanes):
            held = registered_if(m, self.enable, cut(lane), f"held{lane}")
            is_set = tags.mask[lane] & kept[lane]
            m.d.comb += self.words[lane].eq(made(held) & is_set.replicate(word.bits))
            past.append(~kept[lane] & held.any())
        m.d.comb += self.is_past.eq(tags.code.raw & any_of(past))
        return m

    def _integers(self, m):
        """Cut out words of int8 less 1, and make the words."""
        bits, groups = self.config.word.bits, self.config.beat_groups
        masks = [thermometer(width, bits) for width in self.tags.widths]

        def cut(lane):
            return self.fields[lane] & masks[lane * groups // self.config.lanes]

        return cut, lambda held: (held + ~self.o_tags.code.raw)[:bits]

    def _floats(self, m):
        """Take whole fields, and make words of mantissa, exponent or complement of its offset, and
        sign."""
        word, code = self.config.word, self.o_tags.code
        widths = range(word.exponent + 1)  # of the exponent's field
        # The width is decoded while the field is still in the network.
        sent = self.tags.code.k == AS_IS
        has_width = registered_if(
            m,
            self.enable,
            Cat(
                (self.tags.code.k == k) & (k < AS_IS) | sent & (k == word.exponent) for k in widths
            ),
            "has_width",
        )
        own = registered_if(
            m,
            self.enable,
            thermometer(Mux(sent, word.exponent, self.tags.code.k), word.exponent),
            "own",
        )
        is_offset = registered_if(m, self.enable, ~sent, "is_offset")

        def cut(lane):
            return self.fields[lane]

        def made(held):
            above = held[word.mantissa :]
            exponent = (above & own)[: word.exponent] ^ is_offset.replicate(word.exponent)
            built = (code.base + exponent + is_offset)[: word.exponent]
            sign = one_of(has_width, list(above)) & code.wide
            return Cat(held[: word.mantissa], built, sign)

        return cut, made
