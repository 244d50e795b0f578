"""The payload's beats in the ring: each begins behind the one in front of it."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import BIT_BITS
from cdma.hdl.zvcplus.decompressor.payload.placer import BeatPlacer
from cdma.hdl.zvcplus.decompressor.rows import slot_of
from cdma.hdl.zvcplus.decompressor.unit import Decompressor
from cdma.verify.formal.fault import inverted, late
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import offer, take
from cdma.verify.proofs.proof import Proof, faults

ROW = 1 << BIT_BITS


class FollowsThePayload(Elaboratable):
    """A block's first beat begins where its front says, and each other behind the beat before.

    The model counts bits, modulo those of the ring. The first beat that comes is a block's.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        beat, front, placed = dut.i.payload, dut.i_front.payload, dut.o.payload
        enters, leaves = offer(m, dut.i, "i"), take(m, dut.o, "o")
        fronts = offer(m, dut.i_front, "front")
        bits = BIT_BITS + (dut.depth - 1).bit_length()
        used, first, front_row = Signal(bits), Signal(bits), Signal(range(dut.depth))
        is_known = Signal()  # a beat has come
        m.d.comb += [
            front_row.eq(sum(Mux(front.slot[k], k, 0) for k in range(dut.depth))),
            Assume(front.slot == slot_of(front_row, dut.depth)),
            Assume(beat.length <= ROW),
            Assume(beat.first | is_known),
            Assume(beat.begins == beat.first.replicate(2)),
            first.eq(Mux(beat.first, (front_row + front.wraps) * ROW + front.bit, used)),
            Assert(dut.o.valid == (dut.i.valid & (~beat.first | dut.i_front.valid))),
            Assert(enters == leaves),
            Assert(fronts == (enters & beat.first)),
        ]
        with m.If(enters):
            m.d.sync += [used.eq(first + beat.length), is_known.eq(1)]
        with m.If(dut.o.valid):
            m.d.comb += [
                Assert(placed.bit == first[:BIT_BITS]),
                Assert(placed.slot == slot_of(first[BIT_BITS:], dut.depth)),
                Assert(placed.is_odd == first[BIT_BITS]),
                Assert(placed.is_empty == (beat.length == 0)),
                Assert(placed.crosses == Mux(beat.first, front.crosses, 0)),
                Assert(placed.tags.as_value() == beat.tags.as_value()),
                *(
                    Assert(start == (first + own)[:BIT_BITS])
                    for start, own in zip(placed.starts, beat.starts, strict=True)
                ),
                Cover(~beat.first & (first == 3 * ROW + 5)),
                Cover(~beat.first & (first[:BIT_BITS] == 255) & (beat.length == ROW)),
            ]
        with m.If(is_known):
            m.d.comb += [
                Assert(probe(m, "dut.bit", BIT_BITS) == used[:BIT_BITS]),
                Assert(probe(m, "dut.slot", dut.depth) == slot_of(used[BIT_BITS:], dut.depth)),
            ]
        return m


SIZES = {
    **{name: Config(name) for name in ("fp32", "int8")},
    **{f"{name}-left": Config(name, "left") for name in ("bf16", "int8")},
}

PROOFS = (
    Proof(
        name="beat_placer",
        promise="A beat begins where its block says, or behind the beat before",
        components=(BeatPlacer,),
        design=lambda config: FollowsThePayload(BeatPlacer(config, Decompressor.rows(config))),
        sizes=SIZES,
        slow=("int8", "bf16-left", "int8-left"),
        broken=faults(
            SIZES["fp32"], 6, late("dut.slot"), inverted("dut.is_front_odd"), inverted("dut.bit", 3)
        ),
    ),
)
