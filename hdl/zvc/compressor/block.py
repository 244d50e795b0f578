"""Mask of the block at the head of the intake."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvc.beat import thermometer
from cdma.hdl.zvc.compressor.intake import Intake, MaskPart
from cdma.hdl.zvc.compressor.zeros import mask_of
from cdma.hdl.zvc.config import Config


class BlockMask(wiring.Component):
    """Gather the mask of the block at the head from the parts of its beats.

    Combinational. Meaningful when all beats of the block wait, and of a block that is being issued
    for the beats that are left.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    parts : In, array of :class:`~cdma.hdl.zvc.compressor.intake.MaskPart`, the head first
    mask : Out, a bit per word of the block, from the beat at the head on; with a tail of ones, the
        bits past the end of the data are set
    is_zero_behind : Out, no beat of the block behind the one at the head has a non-zero word
    words : Out, words of the block, from the beat at the head on
    last : Out, the packet ends with the block
    """

    parts: data.View
    mask: Signal
    is_zero_behind: Signal
    words: Signal
    last: Signal

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "parts": In(data.ArrayLayout(MaskPart(config), Intake.rows(config))),
                "mask": Out(config.format.block_words),
                "is_zero_behind": Out(1),
                "words": Out(range(config.format.block_words + 1)),
                "last": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        lane_bits = config.lanes.bit_length() - 1
        masks, padding, is_inside = [], [], Const(1)
        for index, part in enumerate(list(self.parts)[: config.block_beats]):
            masks.append(mask_of(part.pieces, config) & is_inside.replicate(config.lanes))
            inside = thermometer(part.kept, config.lanes) | (~part.last).replicate(config.lanes)
            padding.append(~inside | (~is_inside).replicate(config.lanes))
            with m.If(is_inside & part.end):
                m.d.comb += [
                    # Before the packet's last beat all words are kept, and `tkeep` is ignored.
                    self.words.eq(
                        Cat(
                            part.kept[:lane_bits] & part.last.replicate(lane_bits),
                            (part.kept[lane_bits] | ~part.last) + index,
                        )
                    ),
                    self.last.eq(part.last),
                ]
            is_inside = is_inside & ~part.end
        m.d.comb += [
            self.mask.eq(Cat(masks) | Cat(padding) if config.format.ends_itself else Cat(masks)),
            self.is_zero_behind.eq(~Cat(masks[1:]).any()),
        ]
        return m
