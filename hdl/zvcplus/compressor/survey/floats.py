"""What a block is made of: mask, exponents, signs, and where it ends."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvcplus.compressor.records import Extent
from cdma.hdl.zvcplus.compressor.survey.base import Survey
from cdma.hdl.zvcplus.compressor.survey.exponents import ExponentRange
from cdma.hdl.zvcplus.compressor.survey.masks import MaskGather, gather_beats
from cdma.hdl.zvcplus.compressor.survey.new_exponents import NewExponentRange
from cdma.hdl.zvcplus.compressor.survey.repeats import LeftCompare
from cdma.hdl.zvcplus.config import Config

#: Bits that are compared with zero before the first register: a whole word of 32 takes too long.
PIECE_BITS = 16


class FloatSurvey(Survey):
    """Gather what the choice of a block's coding depends on, for floats.

    Throughput one beat a cycle, latency :meth:`latency` cycles; the outputs are registered. Members
    are those of :class:`~cdma.hdl.zvcplus.compressor.survey.base.Survey`.

    Parameters
    ----------
    config : Config
        Element type, a float.
    """

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from the last beat of a block to its statistics."""
        return _range_class(config).latency(config)

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.range = exponents = _range_class(config)(config)
        m.submodules.masks = masks = MaskGather(config)
        # The mask is there in the second cycle, and the exponents need all but the last.
        m.submodules.first = first = DelayLine(_Tags(config), 1)
        m.submodules.wait = wait = DelayLine(_Marked(config), self.latency(config) - 2)
        pieces = Signal(config.lanes * max(1, config.word.bits // PIECE_BITS), reset_less=True)
        size = len(pieces) // config.lanes
        has_sign = Signal(reset_less=True)
        is_wide = Signal()
        ended = Signal()
        words = Cat(self.words[lane] for lane in range(config.lanes))
        with m.If(self.enable):
            m.d.sync += [
                pieces.eq(
                    Cat(
                        words.word_select(i, PIECE_BITS).any() & self.keep[i // size]
                        for i in range(len(pieces))
                    )
                ),
                has_sign.eq((Cat(word[-1] for word in self.words) & self.keep).any()),
            ]
        m.d.comb += [
            first.enable.eq(self.enable),
            first.i_valid.eq(self.valid),
            first.i.index.eq(self.index),
            first.i.extent.eq(self.extent),
            first.i.end.eq(self.end),
            exponents.enable.eq(self.enable),
            exponents.valid.eq(self.valid),
            exponents.first.eq(self.index == 0),
            exponents.words.eq(self.words),
            wait.enable.eq(self.enable),
            wait.i_valid.eq(first.o_valid),
            wait.i.tags.eq(first.o),
            wait.i.mask.eq(
                Cat(pieces.word_select(lane, size).any() for lane in range(config.lanes))
            ),
            wait.i.has_sign.eq(has_sign),
            masks.enable.eq(self.enable),
            masks.valid.eq(wait.o_valid),
            masks.index.eq(wait.o.tags.index),
            masks.mask.eq(wait.o.mask),
            self.o_valid.eq(ended),
            self.o.masks.eq(masks.o),
            self.o.is_wide.eq(is_wide),
            self.o.top.eq(exponents.top),
            self.o.least.eq(exponents.least),
        ]
        if config.has_repeats:
            self._find_repeats(m, exponents, wait)
        else:
            m.d.comb += [exponents.keep.eq(self.keep), exponents.mask.eq(wait.i.mask)]
        extent = Signal(Extent(config), reset_less=True)
        m.d.comb += self.o.extent.eq(extent)
        with m.If(self.enable):
            m.d.sync += [ended.eq(wait.o_valid & wait.o.tags.end), extent.eq(wait.o.tags.extent)]
            with m.If(wait.o_valid):
                m.d.sync += is_wide.eq(wait.o.has_sign | (is_wide & (wait.o.tags.index != 0)))
        return m

    def _find_repeats(self, m, exponents, wait):
        """Repeated words, their number, and the exponents of the others."""
        config, word = self.config, self.config.word
        m.submodules.compare = compare = LeftCompare(config)
        m.d.comb += [
            compare.enable.eq(self.enable),
            compare.valid.eq(self.valid),
            compare.words.eq(self.words),
            compare.last.eq(self.extent.last),
            wait.i.repeated.eq(wait.i.mask & compare.equal),
            exponents.mask.eq(wait.i.mask & ~compare.equal),
            exponents.is_repeated.eq(wait.i.repeated[0]),
            self.o.new_top.eq(exponents.new_top),
            self.o.new_least.eq(exponents.new_least),
        ]
        enable, index = self.enable & wait.o_valid, wait.o.tags.index
        for name, mask in (("nonzeros", wait.o.mask), ("repeats", wait.o.repeated)):
            count = Signal(range(word.block_words + 1), name=name, reset_less=True)
            with m.If(enable):
                m.d.sync += count.eq(Mux(index == 0, 0, count) + popcount(m, mask))
            m.d.comb += self.o[name].eq(count)
        gather_beats(m, enable, index, wait.o.repeated, self.o.repeated, "repeated")


def _range_class(config: Config) -> type:
    return NewExponentRange if config.has_repeats else ExponentRange


class _Tags(data.StructLayout):
    def __init__(self, config: Config):
        super().__init__({"index": 2, "extent": Extent(config), "end": 1})


class _Marked(data.StructLayout):
    def __init__(self, config: Config):
        repeated = {"repeated": config.lanes} if config.has_repeats else {}
        super().__init__({"tags": _Tags(config), "mask": config.lanes, "has_sign": 1, **repeated})
