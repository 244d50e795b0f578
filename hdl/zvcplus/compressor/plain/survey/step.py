"""What a block is made of: mask, exponents, signs, and where it ends."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.zvcplus.compressor.plain.records import BlockStats
from cdma.hdl.zvcplus.compressor.plain.survey.exponents import PairedRange
from cdma.hdl.zvcplus.compressor.plain.survey.tally import MaskTally
from cdma.hdl.zvcplus.compressor.records import Extent
from cdma.hdl.zvcplus.config import Config


class StepSurvey(wiring.Component):
    """Gather what the choice of a block's coding depends on, for floats.

    Throughput one beat a cycle, latency :attr:`LATENCY` cycles; the outputs are registered, but for
    ``mask``.

    Parameters
    ----------
    config : Config
        Element type, a float without repeats.

    Members
    -------
    enable : In, array of equal bits, one for each step: the registers load; a block that has ended
        is given until then
    valid : In, there is a beat
    words : In, array of its words
    keep : In, a bit per word of the packet, contiguous from word 0; the others count as zeros
    index : In, number of the beat in its block
    extent : In, :class:`~cdma.hdl.zvcplus.compressor.records.Extent` of the block up to the beat
    end : In, the block ends with the beat
    mask : Out, a bit per word of the beat that is not zero, in the same cycle
    o_valid : Out, a block has ended
    o : Out, its :class:`~cdma.hdl.zvcplus.compressor.plain.records.BlockStats`
    """

    #: Cycles from the last beat of a block to its statistics.
    LATENCY = 2

    enable: Signal
    valid: Signal
    words: data.View
    keep: Signal
    index: Signal
    extent: data.View
    end: Signal
    mask: Signal
    o_valid: Signal
    o: data.View

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "enable": In(2),
                "valid": In(1),
                "words": In(data.ArrayLayout(config.word.bits, config.lanes)),
                "keep": In(config.lanes),
                "index": In(2),
                "extent": In(Extent(config)),
                "end": In(1),
                "mask": Out(config.lanes),
                "o_valid": Out(1),
                "o": Out(BlockStats(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, word = self.config, self.config.word
        m.submodules.range = exponents = PairedRange(config)
        m.submodules.masks = masks = MaskTally(config)
        m.submodules.tags = tags = DelayLine(_Tags(config), 1)
        m.submodules.ended = ended = DelayLine(Extent(config), 1)
        signs = Cat(each[-1] for each in self.words)
        has_sign, is_wide = Signal(reset_less=True), Signal(reset_less=True)
        m.d.comb += [
            self.mask.eq(Cat(each.any() for each in self.words) & self.keep),
            tags.enable.eq(self.enable[0]),
            tags.i_valid.eq(self.valid),
            tags.i.first.eq(self.index == 0),
            tags.i.extent.eq(self.extent),
            tags.i.end.eq(self.end),
            ended.enable.eq(self.enable[1]),
            ended.i_valid.eq(tags.o_valid & tags.o.end),
            ended.i.eq(tags.o.extent),
            exponents.enable.eq(self.enable),
            exponents.valid.eq(self.valid),
            exponents.first.eq(self.index == 0),
            exponents.mask.eq(self.mask),
            *(
                exponent.eq(each[word.mantissa :])
                for exponent, each in zip(exponents.exponents, self.words, strict=True)
            ),
            masks.enable.eq(self.enable),
            masks.valid.eq(self.valid),
            masks.index.eq(self.index),
            masks.end.eq(self.end),
            masks.mask.eq(self.mask),
            self.o_valid.eq(ended.o_valid),
            self.o.extent.eq(ended.o),
            self.o.masks.eq(masks.o),
            self.o.is_wide.eq(is_wide),
            self.o.top.eq(exponents.top),
            self.o.least.eq(exponents.least),
        ]
        with m.If(self.enable[0]):
            m.d.sync += has_sign.eq((signs & self.keep).any())
        with m.If(self.enable[1] & tags.o_valid):
            m.d.sync += is_wide.eq(has_sign | (is_wide & ~tags.o.first))
        return m


class _Tags(data.StructLayout):
    """Where a beat lies.

    Members
    -------
    first : the block begins with it
    end : the block ends with it
    extent : :class:`~cdma.hdl.zvcplus.compressor.records.Extent` of the block up to the beat
    """

    def __init__(self, config: Config):
        super().__init__({"first": 1, "end": 1, "extent": Extent(config)})
