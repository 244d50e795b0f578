"""From blocks to beats."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.beat import thermometer
from cdma.hdl.config import Config
from cdma.hdl.fetch import Block
from cdma.hdl.prefix import PrefixSum
from cdma.hdl.reader import Counted


class BlockBeats(wiring.Component):
    """The beats of each block, one after the other, with their words counted.

    Throughput one beat a cycle, also from block to block; latency one cycle and that of the prefix
    sum.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.fetch.Block`
    o : Out stream of :class:`~cdma.hdl.reader.Counted`
    mask : Out, in the cycle after a block came in: its mask
    """

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(Block(config))),
                "o": Out(stream.Signature(Counted(config))),
                "mask": Out(config.format.block_words),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes = self.config.lanes
        block = Signal(Block(self.config), reset_less=True)
        valid, is_first = Signal(), Signal()
        kept = Signal(lanes, reset_less=True)  # words of the beat that are data
        is_final = Signal()  # the block ends with the beat
        step = Signal()
        m.d.comb += [
            self.mask.eq(block.mask),
            is_final.eq(block.beats == 0),
            self.i.ready.eq(~valid | (step & is_final)),
        ]

        def kept_of(block, is_final):
            data_words = Mux(block.last & is_final, thermometer(block.words, lanes), ~0)
            return data_words & (~block.truncated).replicate(lanes)

        with m.If(self.i.ready):
            m.d.sync += [
                valid.eq(self.i.valid),
                block.eq(self.i.payload),
                is_first.eq(1),
                kept.eq(kept_of(self.i.payload, self.i.payload.beats == 0)),
            ]
        with m.Elif(step):
            m.d.sync += [
                block.mask.eq(block.mask >> lanes),
                block.beats.eq(block.beats - 1),
                is_first.eq(0),
                kept.eq(kept_of(block, block.beats == 1)),
            ]

        beat = Signal(Counted(self.config))
        past = (block.mask[:lanes] & ~kept).any() | block.mask[lanes:].any()
        m.submodules.prefix = prefix = PrefixSum(lanes)
        m.d.comb += [
            beat.mask.eq(block.mask[:lanes] & kept),
            prefix.mask.eq(beat.mask),
            prefix.enable.eq(step),
            beat.words.eq(block.words),
            beat.first.eq(is_first & ~block.void),
            beat.last.eq(block.last & is_final),
            beat.truncated.eq(block.truncated),
            beat.past_end.eq(beat.last & past & ~block.truncated & ~block.void),
        ]
        if prefix.latency(lanes):
            counting, counting_valid = Signal.like(beat, reset_less=True), Signal()
            m.d.comb += step.eq(~counting_valid | self.o.ready)
            with m.If(step):
                m.d.sync += [counting.eq(beat), counting_valid.eq(valid)]
            beat, valid = counting, counting_valid
        else:
            m.d.comb += step.eq(self.o.ready)
        m.d.comb += [
            self.o.valid.eq(valid),
            self.o.payload.eq(beat),
            self.o.payload.total.eq(prefix.total),
            self.o.payload.ranks.eq(prefix.ranks),
        ]
        return m
