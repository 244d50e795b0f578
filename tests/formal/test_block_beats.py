"""From blocks to beats: each block's beats, in order, with their words counted and placed."""

import pytest
from amaranth.hdl import Array, Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.hdl.beat import thermometer
from cdma.hdl.block_beats import BlockBeats
from cdma.hdl.butterfly import routes
from cdma.hdl.config import Config
from cdma.hdl.fetch import Block
from cdma.hdl.prefix import popcount
from cdma.sim.stream_rules import offer, take


class Cuts(Elaboratable):
    """What leaves is what follows from the block that came in last, beat by beat.

    Where the words of a beat stand is counted from those that left before it in the packet.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        config = dut.config
        lanes, beats = config.lanes, config.block_beats
        lane_bits, mask_words = lanes.bit_length() - 1, config.format.mask_words
        enters, leaves = offer(m, dut.i, "i"), take(m, dut.o, "o")
        with m.If(dut.i.valid):
            given = dut.i.payload
            m.d.comb += [Assume(given.beats < beats), Assume(given.words <= lanes)]

        # The blocks that came in, and how many beats of the first have left.
        room = BlockBeats.latency(config) + 1
        blocks = [Signal(Block(config), name=f"block{k}") for k in range(room)]
        count, number = Signal(range(room + 2)), Signal(range(beats))
        block, valid = blocks[0], dut.o.valid
        is_final = number == block.beats
        pops = leaves & is_final
        with m.If(leaves):
            m.d.sync += number.eq(Mux(is_final, 0, number + 1))
        m.d.sync += count.eq(count + enters - pops)
        for k, (held, behind) in enumerate(zip(blocks, [*blocks[1:], blocks[-1]], strict=True)):
            with m.If(enters & (count - pops == k)):
                m.d.sync += held.eq(dut.i.payload)
            with m.Elif(pops):
                m.d.sync += held.eq(behind)
        will_be_ready, came, mask = Signal(init=1), Signal(), Signal.like(dut.mask)
        waits = Signal(range(room + 1))
        m.d.sync += [
            will_be_ready.eq(dut.next_ready),
            came.eq(enters),
            mask.eq(dut.i.payload.mask),
            waits.eq(Mux((count != 0) & ~valid, waits + 1, 0)),
        ]
        m.d.comb += [
            Assert(dut.i.ready == will_be_ready),
            Assert(count <= room),
            Assert(waits < BlockBeats.latency(config)),
        ]
        with m.If(count == 0):
            m.d.comb += [Assert(~valid), Assert(dut.i.ready)]
        with m.If(came):
            m.d.comb += Assert(dut.mask == mask)

        counted, tags = dut.o.payload, dut.o.payload.tags
        lane = Signal(lane_bits)  # behind the words before
        ends = block.last & is_final
        part, kept, start = Signal(lanes), Signal(lanes), Signal(range(lanes + mask_words))
        masks = [block.mask[k * lanes : (k + 1) * lanes] for k in range(beats)]
        past = [block.mask[(k + 1) * lanes :].any() if k + 1 < beats else 0 for k in range(beats)]
        is_whole = (~block.truncated).replicate(lanes)
        m.d.comb += [
            part.eq(Array(masks)[number]),
            kept.eq(part & Mux(ends, thermometer(block.words, lanes), ~0) & is_whole),
            start.eq(lane + Mux((number == 0) & ~block.void, mask_words, 0)),
        ]
        below = [popcount(m, kept[:k]) if k else 0 for k in range(lanes)]
        ranks = [Signal(lane_bits, name=f"rank{k}") for k in range(lanes)]
        m.d.comb += [rank.eq(count) for rank, count in zip(ranks, below, strict=True)]
        with m.If(valid):
            m.d.comb += [
                Assert(counted.mask == kept),
                Assert(counted.total == popcount(m, kept)),
                *(
                    Assert(row == (start >> lane_bits) + (start[:lane_bits] > bank))
                    for bank, row in enumerate(counted.rows)
                ),
                Assert(counted.behind == start + popcount(m, kept)),
                # The row up to which its words reach, of those that it may touch.
                Assert(counted.needs[0] == ~kept.any()),
                *(
                    Assert(needs == (kept.any() & ((counted.behind - 1) >> lane_bits == row)))
                    for row, needs in enumerate(counted.needs[1:])
                ),
                Assert(
                    Value.cast(counted.routes) == Value.cast(routes(m, ranks, start[:lane_bits]))
                ),
                Assert(tags.first == ((number == 0) & ~block.void)),
                Assert(tags.last == ends),
                Assert(tags.words == block.words),
                Assert(tags.truncated == block.truncated),
                Assert(
                    tags.past_end
                    == (
                        ends
                        & ((part != kept) | Array(past)[number])
                        & ~block.truncated
                        & ~block.void
                    )
                ),
                Cover(leaves & (number == beats - 1) & (kept != 0) & (lane != 0)),
                Cover(leaves & tags.past_end),
            ]
        with m.If(leaves):
            m.d.sync += lane.eq(Mux(ends, 0, (start + popcount(m, kept))[:lane_bits]))
        return m


@pytest.mark.slow
@pytest.mark.proof(BlockBeats, "8x32, 4x8 with blocks of 8", bounded=11)
@pytest.mark.parametrize("config", [Config.of(8, 32), Config.of(4, 8, 8)], ids=lambda c: c.name)
def test_a_block_gives_its_beats_counted_and_placed(formal, config):
    formal(Cuts(BlockBeats(config)))


@pytest.mark.proof(BlockBeats, "2x8 with blocks of 8", bounded=11)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("next_final & next_step", "next_step"),
        ("lane.eq(Mux(beat.tags.last, 0, ", "lane.eq(Mux(0, 0, "),
        ("(part & ~keep).any() | ", ""),
        ("has_mask.eq(0)", "has_mask.eq(1)"),
        ("~are_valid[stage] | is_free", "is_free"),
    ],
)
def test_a_broken_cutter_is_refuted(formal, mutated, old, new):
    formal.refutes(Cuts(mutated(BlockBeats, old, new)(Config.of(2, 8, 8))))
