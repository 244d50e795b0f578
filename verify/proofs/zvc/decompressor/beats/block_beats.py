"""From blocks to beats: the beats of each block, in order, with their word counts."""

from itertools import pairwise

from amaranth.hdl import Array, Assert, Assume, Cat, Const, Cover, Elaboratable, Module, Mux, Signal
from amaranth.lib import data

from cdma.hdl.lib.prefix import PrefixSum, popcount
from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.beat import thermometer
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.beats.beat import BeatTags, CountedBeat
from cdma.hdl.zvc.decompressor.beats.block_beats import BlockBeats
from cdma.hdl.zvc.decompressor.beats.counter import BeatCounter
from cdma.hdl.zvc.decompressor.beats.cutter import BlockCutter
from cdma.hdl.zvc.decompressor.fetch import CountingFetcher, fetcher_of
from cdma.hdl.zvc.decompressor.fetch.block import Block
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.stream_rules import offer, take
from cdma.verify.proofs.proof import PDR, Proof, faults, named


class Cuts(Elaboratable):
    """The output beats agree with a model that cuts the input blocks into beats.

    The model is a pipeline of registers. Each register is loaded as soon as it is free.
    """

    def __init__(self, dut):
        self.dut = dut
        self.config = dut.config
        self.lanes = dut.config.lanes

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        config = self.config
        enters = offer(m, dut.i, "i")
        take(m, dut.o, "o")
        with m.If(dut.i.valid):
            given = dut.i.payload
            m.d.comb += [
                Assume(given.beats < config.block_beats),
                Assume(given.words <= self.lanes),
                Assume(given.single == (given.beats == 0)),
            ]

        # The current block, and the number of its beats already sent.
        self.block, self.valid = block, valid = Signal(Block(config)), Signal()
        self.number = number = Signal(range(config.block_beats))
        is_final = number == block.beats
        goes = Signal()
        with m.If(enters):
            m.d.sync += [block.eq(dut.i.payload), valid.eq(1), number.eq(0)]
        with m.Elif(valid & goes):
            m.d.sync += [valid.eq(~is_final), number.eq(number + 1)]
        next_ready = Signal(init=1)
        m.d.sync += next_ready.eq(dut.next_ready)
        m.d.comb += [
            Assert(~dut.i.ready | ~valid | (goes & is_final)),
            Assert(dut.i.ready == next_ready),
        ]

        # The pipeline.
        is_counted = fetcher_of(config) is CountingFetcher
        m.submodules.waiting = waiting = Queue(CountedBeat(config), 2 if is_counted else 3)
        line = [(valid, self._cut(m))]
        for stage in range(PrefixSum.latency(self.lanes)):
            beat = Signal.like(line[0][1], name=f"beat{stage}")
            line.append((Signal(name=f"valid{stage}"), beat))
        moves = waiting.i.ready
        for (was_valid, before), (is_valid, beat) in reversed(list(pairwise(line))):
            moves = ~is_valid | moves
            with m.If(moves):
                m.d.sync += [is_valid.eq(was_valid), beat.eq(before)]
        m.d.comb += goes.eq(moves)
        # A block is accepted as soon as there is room. The variant for short blocks may stall
        # earlier, but only with a full pipeline and two further beats waiting.
        may_wait = Const(0, 1)
        if not is_counted:
            may_wait = Cat(is_valid for is_valid, _ in line).all() & waiting.valid[1]
        m.d.comb += Assert(dut.i.ready | (valid & ~(goes & is_final)) | may_wait)
        m.d.comb += [
            waiting.i.valid.eq(line[-1][0]),
            waiting.o.ready.eq(dut.o.ready),
            Assert(dut.o.valid == waiting.o.valid),
        ]
        self._count(m, line[-1][1], waiting.i.payload)
        with m.If(dut.o.valid):
            tags = dut.o.payload.tags
            m.d.comb += [
                Assert(dut.o.payload.as_value() == waiting.o.payload.as_value()),
                Cover(dut.o.ready & ~tags.first & (dut.o.payload.total != 0) & valid),
                Cover(dut.o.ready & (tags.rest if config.format.ends_itself else tags.past_end)),
            ]
        return m

    def _cut(self, m):
        """The next beat of the block."""
        block, number, lanes = self.block, self.number, self.lanes
        beat = Signal(data.StructLayout({"mask": lanes, "tags": BeatTags(self.config)}))
        ends = block.last & (number == block.beats)
        masks = [block.mask[k : k + lanes] for k in range(0, len(block.mask), lanes)]
        past = [block.mask[k + lanes :].any() for k in range(0, len(block.mask) - lanes, lanes)]
        self.within = Mux(ends, thermometer(block.words, lanes), ~0)[:lanes]
        part = Array(masks)[number]
        if self.config.format.ends_itself:
            rest = [block.mask[k + lanes :].all() for k in range(0, len(block.mask), lanes)]
            m.d.comb += [
                beat.mask.eq(part & (~block.void).replicate(lanes)),
                beat.tags.first.eq((number == 0) & ~block.void),
                beat.tags.final.eq(number == block.beats),
                beat.tags.last.eq(ends),
                beat.tags.rest.eq(Array(rest)[number]),
            ]
            return beat
        is_past = (part & ~self.within).any() | Array([*past, 0])[number]
        m.d.comb += [
            beat.mask.eq(part & self.within & (~block.truncated).replicate(lanes)),
            beat.tags.first.eq((number == 0) & ~block.void),
            beat.tags.final.eq(number == block.beats),
            beat.tags.last.eq(ends),
            beat.tags.words.eq(block.words),
            beat.tags.truncated.eq(block.truncated),
            beat.tags.past_end.eq(ends & is_past & ~block.truncated & ~block.void),
        ]
        return beat

    def _count(self, m, beat, counted):
        """Count the words of a beat."""
        for k, rank in enumerate(counted.ranks):
            m.d.comb += rank.eq(popcount(m, beat.mask[:k]) if k else 0)
        m.d.comb += [
            counted.mask.eq(beat.mask),
            counted.total.eq(popcount(m, beat.mask)),
            counted.is_empty.eq(counted.total == 0),
            counted.tags.eq(beat.tags),
        ]


OPTIONS = [
    Config.parse(f"{size}{option}")
    for size, option in (
        *(("4x8b8", option) for option in ("-ones", "-asic", "-ones-asic")),
        *(("2x8b8", option) for option in ("-ones", "-asic")),
    )
]

PROOFS = (
    Proof(
        name="block_beats",
        promise="Each block gives its beats in order, with their word counts",
        components=(BlockBeats,),
        parts=(BlockCutter, BeatCounter),
        design=lambda config: Cuts(BlockBeats(config)),
        sizes=named(
            *(Config.of(8, 32), Config.of(16, 16), Config.of(4, 8, 8), Config.of(8, 8, 8)),
            *OPTIONS,
        ),
        slow=("8x32", "16x16", *(config.name for config in OPTIONS)),
        mode=PDR,
        depth=3,
        broken=(
            *faults(
                Config.of(2, 8, 8),
                8,
                stuck_at(0, "dut.cutter.has_mask"),
                late("dut.cutter.is_final"),
                stuck_at(1, "dut.cutter.keep", 1),
                stuck_at(1, "dut.counter.next_step"),
            ),
            *faults(
                Config.of(4, 8, 8),
                8,
                stuck_at(0, "dut.counter.next_step"),
                stuck_at(0, "dut.counter.queue.valid", 2),
            ),
        ),
    ),
)
