"""From blocks to beats."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.beat import thermometer
from cdma.hdl.butterfly import routes
from cdma.hdl.config import Config
from cdma.hdl.fetch import Block
from cdma.hdl.prefix import PrefixSum, add
from cdma.hdl.reader import BeatTags, Counted


class BlockBeats(wiring.Component):
    """The beats of each block, one after the other, with their words counted and placed.

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
        valid, has_mask = Signal(), Signal()
        kept_part = Signal(lanes, reset_less=True)  # the beat's part, within the data
        is_final = Signal(reset_less=True)  # the block ends with the beat
        step = Signal()
        m.d.comb += [
            self.mask.eq(block.mask),
            self.i.ready.eq(~valid | (step & is_final)),
        ]

        def kept(block, start, is_final):
            data_words = Mux(block.last & is_final, thermometer(block.words, lanes), ~0)
            is_whole = (~block.truncated).replicate(lanes)
            return block.mask[start : start + lanes] & data_words & is_whole

        with m.If(self.i.ready):
            m.d.sync += [
                valid.eq(self.i.valid),
                block.eq(self.i.payload),
                has_mask.eq(~self.i.payload.void),
                is_final.eq(self.i.payload.beats == 0),
                kept_part.eq(kept(self.i.payload, 0, self.i.payload.beats == 0)),
            ]
        with m.Elif(step):
            m.d.sync += [
                block.mask.eq(block.mask >> lanes),
                block.beats.eq(block.beats - 1),
                has_mask.eq(0),
                is_final.eq(block.beats == 1),
                kept_part.eq(kept(block, lanes, block.beats == 1)),
            ]

        part = block.mask[:lanes]
        m.submodules.prefix = prefix = PrefixSum(lanes)
        beat = Signal(data.StructLayout({"mask": lanes, "tags": BeatTags(self.config)}))
        tags = beat.tags
        m.d.comb += [
            prefix.mask.eq(kept_part),
            prefix.enable.eq(step),
            beat.mask.eq(kept_part),
            tags.words.eq(block.words),
            tags.first.eq(has_mask),
            tags.last.eq(block.last & is_final),
            tags.truncated.eq(block.truncated),
            tags.past_end.eq(
                tags.last
                & ((part != kept_part) | block.mask[lanes:].any())
                & ~block.truncated
                & ~block.void
            ),
        ]
        if prefix.latency(lanes):
            counting, counting_valid = Signal.like(beat, reset_less=True), Signal()
            m.d.comb += step.eq(~counting_valid | self.o.ready)
            with m.If(step):
                m.d.sync += [counting.eq(beat), counting_valid.eq(valid)]
            beat, valid = counting, counting_valid
        else:
            m.d.comb += step.eq(self.o.ready)

        # Where its words stand, if all went well: behind those before it and their block's mask.
        mask_words = self.config.format.mask_words
        lane_bits = lanes.bit_length() - 1
        counted = self.o.payload
        lane = Signal(lane_bits)  # behind the words before it
        start = Signal(range(lanes + mask_words))
        m.d.comb += [
            start.eq(Mux(beat.tags.first, add(m, lane, Const(mask_words)), lane)),
            self.o.valid.eq(valid),
            counted.mask.eq(beat.mask),
            counted.routes.eq(routes(m, prefix.ranks, start[:lane_bits])),
            counted.start.eq(start),
            counted.behind.eq(add(m, start, prefix.total)),
            counted.total.eq(prefix.total),
            counted.needs[0].eq(prefix.total == 0),
            counted.tags.eq(beat.tags),
        ]
        for row, needs in enumerate(counted.needs[1:]):
            ends_here = (counted.behind > row * lanes) & (counted.behind <= (row + 1) * lanes)
            m.d.comb += needs.eq((prefix.total != 0) & ends_here)
        with m.If(valid & self.o.ready):
            m.d.sync += lane.eq(Mux(beat.tags.last, 0, counted.behind[:lane_bits]))
        return m
