"""Rows leave in the order of their stripes, each once, and AUTO waits for what it depends on."""

from amaranth.hdl import Array, Assert, Assume, Cover, Elaboratable, Module, Signal, Value

from cdma.engine_codes import Raw
from cdma.hdl.engine.offload.gather import Gather
from cdma.hdl.engine.offload.policy import RawDecision
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.stream_rules import anything, offer, take
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import PDR, Proof, faults


class TakesTurns(Elaboratable):
    """Channels offer rows and statuses at any time; the order names one channel after the other.

    A row that leaves is that of the channel whose turn it is, and the turn ends with a stripe's
    last row, with which the status of the stripe is taken.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        channels = dut.config.channels
        turns = offer(m, dut.order, "order")
        with m.If(dut.order.valid):
            m.d.comb += Assume(dut.order.payload < channels)
        rows = [offer(m, port, f"row{k}") for k, port in enumerate(dut.i)]
        ends = [offer(m, port, f"status{k}") for k, port in enumerate(dut.i_status)]
        leaves = take(m, dut.o, "o")
        turn = dut.order.payload
        valid = Array([port.valid for port in dut.i])[turn]
        row, out = Array([Value.cast(port.payload) for port in dut.i])[turn], dut.o.payload
        m.d.comb += [
            Assert(leaves == (sum(rows[1:], rows[0]) != 0)),
            Assert(turns == (leaves & out.row.last)),
            Cover(turns & (turn == channels - 1)),
        ]
        for k in range(channels):
            m.d.comb += [
                Assert(rows[k] == (leaves & (turn == k))),
                Assert(ends[k] == (leaves & out.row.last & (turn == k))),
            ]
        with m.If(leaves):
            m.d.comb += [
                Assert(valid & dut.order.valid),
                Assert(Value.cast(out.row) == row),
                Assert(out.channel == turn),
            ]
            statuses = Array([Value.cast(port.payload) for port in dut.i_status])
            with m.If(out.row.last):
                m.d.comb += Assert(Value.cast(out.status) == statuses[turn])
        # Nothing waits without need.
        status_valid = Array([port.valid for port in dut.i_status])[turn]
        is_last = Array([port.payload.last for port in dut.i])[turn]
        can = dut.order.valid & valid & (~is_last | status_valid)
        m.d.comb += Assert(dut.o.valid == can)
        return m


class WaitsForSize(Elaboratable):
    """A stripe of AUTO passes when the size of the one ``D`` before is known, and is raw when that
    one would be longer compressed.

    The stripes come in order; sizes become known in order, at any time after their stripe passed.
    One stripe, picked at any time, is remembered.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        distance = dut.config.auto_distance
        enters, leaves = offer(m, dut.i, "i"), take(m, dut.o, "o")
        number, known = Signal(4), Signal(4)  # of the next stripe; stripes of which it is known
        policy = Signal(2)
        m.d.comb += dut.policy.eq(policy)
        was_raw = Signal(2)
        m.d.sync += was_raw.eq(policy)
        is_fresh = Signal(init=1)
        m.d.sync += is_fresh.eq(0)
        with m.If(is_fresh):
            m.d.comb += policy.eq(anything(m, 2, "policy"))
        with m.Else():
            m.d.comb += policy.eq(was_raw)
        m.d.comb += [
            Assume(dut.i.payload.number == number),
            Assume(number < 12),
            dut.known.eq(anything(m, 1, "known") & (known != number)),
            dut.exceeds.eq(anything(m, 1, "exceeds")),
            Assert(enters == leaves),
        ]
        m.d.sync += [number.eq(number + enters), known.eq(known + dut.known)]
        picked, is_picked, exceeds = Signal(4), Signal(), Signal()
        with m.If(dut.known & ~is_picked & anything(m, 1, "pick")):
            m.d.sync += [is_picked.eq(1), picked.eq(known), exceeds.eq(dut.exceeds)]
        is_auto = policy == Raw.AUTO
        with m.If(dut.o.valid):
            raw = dut.o.payload.raw
            m.d.comb += [
                Assert(~is_auto | (number < distance) | (known + distance > number)),
                Assert(is_auto | (raw == (policy == Raw.ALWAYS))),
                Assert(~is_auto | (number >= distance) | ~raw),
            ]
            with m.If(is_auto & is_picked & (number == picked + distance)):
                m.d.comb += [Assert(raw == exceeds), Cover(raw), Cover(~raw)]
        return m


class Near(type(small())):
    """AUTO acts on the stripe two before."""

    @property
    def auto_distance(self) -> int:
        """Two stripes."""
        return 2


NEAR = Near(**vars(small()))

PROOFS = (
    Proof(
        name="gather",
        promise="Rows leave in the order of their stripes, each once, with the stripe's status",
        components=(Gather,),
        design=lambda config: TakesTurns(Gather(config)),
        sizes={"3 channels": small(3)},
        broken=faults(small(3), 4, stuck_at(1, "dut.order__ready"), stuck_at(0, "dut.row", 0)),
    ),
    Proof(
        name="raw_decision",
        promise="AUTO waits for the size of the stripe that it depends on, and follows it",
        components=(RawDecision,),
        design=lambda config: WaitsForSize(RawDecision(config)),
        sizes={"distance of 2": NEAR},
        slow=("distance of 2",),
        mode=PDR,
        depth=6,
        broken=faults(NEAR, 10, late("dut.count"), stuck_at(0, "dut.waits")),
    ),
)
