"""From blocks to beats."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import PrefixSum
from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.beat import thermometer
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.fetch import Block, MaskFetcher
from cdma.hdl.zvc.decompressor.reader import BeatTags, Counted


class BlockBeats(wiring.Component):
    """The beats of each block, one after the other, with their words counted.

    Throughput one beat a cycle, also from block to block; latency :meth:`latency` cycles.
    ``i.ready`` and ``o`` come from registers.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.zvc.decompressor.fetch.Block`
    next_ready : Out, ``i.ready`` of the next cycle
    o : Out stream of :class:`~cdma.hdl.zvc.decompressor.reader.Counted`
    mask : Out, in the cycle after a block came in: its mask
    """

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(Block(config))),
                "o": Out(stream.Signature(Counted(config))),
                "next_ready": Out(1),
                "mask": Out(config.format.block_words),
            }
        )

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from a block to its first beat: taking it in, the counts."""
        return 2 + PrefixSum.latency(config.lanes)

    def elaborate(self, platform):
        m = Module()
        lanes = self.config.lanes
        m.submodules.prefix = prefix = PrefixSum(lanes)
        is_short = not MaskFetcher.is_counted(self.config)
        m.submodules.queue = queue = Queue(Counted(self.config), 3 if is_short else 2)
        wiring.connect(m, queue.o, wiring.flipped(self.o))

        # A beat at a time.
        block = Signal(Block(self.config), reset_less=True)
        has_mask = Signal(reset_less=True)
        keep = Signal(lanes, reset_less=True)  # the beat's words within the data
        is_final = Signal()  # the block ends with the beat
        valid, step, ready = Signal(), Signal(), Signal(init=1)
        next_valid, next_final = Signal.like(valid), Signal.like(is_final)
        m.d.comb += [
            self.mask.eq(block.mask),
            self.i.ready.eq(ready),
            next_valid.eq(valid),
            next_final.eq(is_final),
        ]
        m.d.sync += [valid.eq(next_valid), is_final.eq(next_final)]

        def within(block, is_final):
            return Mux(block.last & is_final, thermometer(block.words, lanes), ~0)

        with m.If(ready):
            m.d.comb += [next_valid.eq(self.i.valid), next_final.eq(self.i.payload.beats == 0)]
            m.d.sync += [
                block.eq(self.i.payload),
                has_mask.eq(~self.i.payload.void),
                keep.eq(within(self.i.payload, self.i.payload.beats == 0)),
            ]
        with m.Elif(step):
            m.d.comb += next_final.eq(block.beats == 1)
            if is_short:
                m.d.comb += next_valid.eq(~is_final)  # there may be room and no telling before
            m.d.sync += [
                block.mask.eq(block.mask >> lanes),
                block.beats.eq(block.beats - 1),
                has_mask.eq(0),
                keep.eq(within(block, block.beats == 1)),
            ]

        # Count its words.
        part = block.mask[:lanes]
        kept = part & keep & (~block.truncated).replicate(lanes)
        beat = Signal(data.StructLayout({"mask": lanes, "tags": BeatTags(self.config)}))
        tags = beat.tags
        m.d.comb += [
            prefix.mask.eq(kept),
            prefix.enable.eq(step),
            beat.mask.eq(kept),
            tags.words.eq(block.words),
            tags.first.eq(has_mask),
            tags.final.eq(is_final),
            tags.last.eq(block.last & is_final),
            tags.truncated.eq(block.truncated),
            tags.past_end.eq(
                tags.last
                & ((part & ~keep).any() | block.mask[lanes:].any())
                & ~block.truncated
                & ~block.void
            ),
        ]
        # Each register takes over what is before it when it is empty or emptied.
        stages = prefix.latency(lanes)
        are_valid, next_are_valid = Signal(stages), Signal(stages)
        steps = Signal(stages + 1)
        before = Cat(valid, are_valid)
        m.d.comb += steps[-1].eq(queue.i.ready)
        for stage in range(stages):
            m.d.comb += [
                steps[stage].eq(~are_valid[stage] | steps[stage + 1]),
                next_are_valid[stage].eq(Mux(steps[stage], before[stage], are_valid[stage])),
            ]
            held = Signal.like(beat, name=f"beat{stage}", reset_less=True)
            with m.If(steps[stage]):
                m.d.sync += held.eq(beat)
            beat = held
        m.d.sync += are_valid.eq(next_are_valid)
        m.d.comb += step.eq(steps[0])

        # Whether a block can be taken in is known a cycle before. Where blocks are short, the queue
        # has an entry more, so that it need not be known whether the reader takes one.
        next_step = ~queue.fills if is_short else (self.o.valid & self.o.ready) | ~queue.fills
        for next_is_valid in reversed(next_are_valid):
            next_step = ~next_is_valid | next_step
        m.d.comb += self.next_ready.eq(~next_valid | (next_final & next_step))
        m.d.sync += ready.eq(self.next_ready)

        counted = queue.i.payload
        m.d.comb += [
            queue.i.valid.eq(before[-1]),
            counted.mask.eq(beat.mask),
            counted.ranks.eq(prefix.ranks),
            counted.total.eq(prefix.total),
            counted.is_empty.eq(~beat.mask.any()),
            counted.tags.eq(beat.tags),
        ]
        return m
