"""The payload's beats in the rows: which rows are passed, and where words begin."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import PlacedBeat, skip_bits, window_bits
from cdma.hdl.zvcplus.decompressor.payload.placer import BeatPlacer
from cdma.hdl.zvcplus.decompressor.payload.reader import PayloadReader
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import leave_open, offer, take
from cdma.verify.proofs.proof import Proof, faults

ROW = 256
DEPTH = 6


class FollowsThePayload(Elaboratable):
    """A beat begins behind all bits in front of it, the controls and repeats of blocks included.

    The model counts bits from the row that the reader has at hand: the reader passes the rows that
    a beat says, so that the beat's first bit is in its first row.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        beat, config = dut.i.payload, dut.config
        enters, leaves = offer(m, dut.i, "i"), take(m, dut.o, "o")
        skips = offer(m, dut.i_skip, "skip")
        leave_open(m, dut, "start", "start_bits")
        used, first, end = Signal(10), Signal(10), Signal(10)
        is_full, expected = Signal(), Signal(PlacedBeat(config))
        placed = Signal(PlacedBeat(config))
        m.d.comb += [
            Assume(dut.start_bits <= window_bits(config)),
            Assume(dut.i_skip.payload <= skip_bits(config)),
            Assume(beat.length <= ROW),
            first.eq(used + Mux(beat.first, dut.i_skip.payload, 0)),
            end.eq(first + beat.length),
            placed.passes.eq(first >> 8),
            placed.rows.eq((first >> 8) + _rows(first, end)),
            placed.place.eq(first),
            placed.starts.eq(beat.starts),
            placed.tags.eq(beat.tags),
        ]
        with m.If(dut.start):
            m.d.sync += used.eq(dut.start_bits)
        with m.Elif(enters):
            m.d.sync += used.eq(end - (first & ~(ROW - 1)))
        m.d.sync += is_full.eq(enters | (is_full & ~leaves))
        with m.If(enters):
            m.d.sync += expected.eq(placed)
        m.d.comb += [
            Assert(dut.o.valid == is_full),
            Assert(skips == (enters & beat.first)),
            Assert(~dut.i.ready | ~beat.first | dut.i_skip.valid),
            Assert(dut.i.ready == ((~is_full | dut.o.ready) & (~beat.first | dut.i_skip.valid))),
            Assert(used < 2 * ROW),
            Assert(probe(m, "dut.at", 8) == used[:8]),
            Assert(probe(m, "dut.is_ahead", 1) == used[8]),
        ]
        with m.If(is_full):
            m.d.comb += [
                Assert(dut.o.payload.as_value() == expected.as_value()),
                Cover((expected.passes == 2) & (expected.rows == 3)),
                Cover((expected.rows == 0) & (expected.place == 5)),
            ]
        return m


def _rows(first, end):
    """Rows that have a bit from ``first`` up to the one before ``end``."""
    return Mux(first == end, 0, ((end - 1)[:10] >> 8) - (first >> 8) + 1)


class ReadsRows(Elaboratable):
    """A beat is issued when its rows have come, or the stream has ended; a cycle later its bits are
    those of both rows, each at its place, and its words begin behind its own place."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        beat = dut.i.payload
        issues = offer(m, dut.i, "i")
        leave_open(m, dut, "enable", "valid", "ended", "row0", "row1")
        bit, lane = Signal(8), Signal(range(dut.config.lanes))
        rows = Signal(range(dut.depth + 1))
        m.d.comb += [
            bit.eq(AnyConst(8)),
            lane.eq(AnyConst(len(lane))),
            rows.eq(popcount(m, dut.valid)),
            Assume((dut.valid & (dut.valid + 1)) == 0),
            Assume(beat.rows <= 4),
            Assert(issues == (dut.i.valid & dut.enable & (dut.ended | (beat.rows <= rows)))),
            Assert(dut.issued == issues),
            Assert(dut.passes == Mux(issues, beat.passes, 0)),
        ]
        was_issued, place, start = Signal(), Signal(8), Signal(8)
        tags = Signal.like(beat.tags.as_value(), name="was_tags")
        is_known = Signal()
        with m.If(dut.enable):
            m.d.sync += [
                is_known.eq(1),
                was_issued.eq(issues),
                place.eq(beat.place),
                start.eq(beat.place + beat.starts[lane]),
                tags.eq(beat.tags.as_value()),
            ]
        here = Mux(bit < place, dut.row1.bit_select(bit, 1), dut.row0.bit_select(bit, 1))
        with m.If(is_known):
            m.d.comb += [
                Assert(probe(m, "dut.place", 8) == place),
                Assert(dut.o_valid == was_issued),
                Assert(dut.bits.bit_select(bit, 1) == here),
                Assert(dut.starts[lane] == start),
                Assert(dut.tags.as_value() == tags),
                Cover(was_issued & (bit < place) & here),
                Cover(was_issued & (start < place)),
            ]
        return m


SIZES = {"fp32": Config("fp32"), "int8": Config("int8"), "bf16-left": Config("bf16", "left")}

PROOFS = (
    Proof(
        name="beat_placer",
        promise="A beat begins behind all bits in front of it, and rows are passed once",
        components=(BeatPlacer,),
        design=lambda config: FollowsThePayload(BeatPlacer(config)),
        sizes=SIZES,
        slow=("int8", "bf16-left"),
        broken=faults(
            SIZES["fp32"], 6, late("dut.at"), stuck_at(0, "dut.is_ahead"), inverted("dut.ahead", 0)
        ),
    ),
    Proof(
        name="payload_reader",
        promise="A beat is read when its rows have come, from its place on in two rows",
        components=(PayloadReader,),
        design=lambda config: ReadsRows(PayloadReader(config, DEPTH)),
        sizes=SIZES,
        slow=("int8", "bf16-left"),
        broken=faults(
            SIZES["fp32"], 6, late("dut.place"), stuck_at(0, "dut.o_valid"), late("dut.tags")
        ),
    ),
)
