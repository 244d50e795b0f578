"""The ends of packets: those of two packets at most, in order."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.ends import PacketEnds
from cdma.hdl.zvcplus.decompressor.layouts import StreamEnd
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import leave_open
from cdma.verify.proofs.proof import Proof, faults

NUMBER_BITS = 3  # packets are counted modulo 8, and two are in the ring


class KeepsEnds(Elaboratable):
    """The model counts packets that ended, started and were removed, and keeps the end of any.

    A packet is checked and read once, after its start; it is checked when its end has come. It
    fails while it is here.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        leave_open(m, dut, "arrives", "end", "start", "checked", "read", "fails", "failing")
        ended, started, removed = (
            Signal(NUMBER_BITS, name=name) for name in ("ended", "started", "removed")
        )
        here, begun = Signal(NUMBER_BITS), Signal(NUMBER_BITS)  # packets that are not removed
        is_checked, is_read, removes, accepts = Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            here.eq(ended - removed),
            begun.eq(started - removed),
            removes.eq(is_checked & is_read & (here != 0)),
            Assume(accepts | ~dut.arrives),
            Assume(dut.can_start | ~dut.start),
            Assume(~dut.checked | ((begun != 0) & (here != 0) & ~is_checked)),
            Assume(~dut.read | ((begun != 0) & ~is_read)),
        ]
        m.d.sync += [
            accepts.eq(dut.accept),
            ended.eq(ended + dut.arrives),
            started.eq(started + dut.start),
            removed.eq(removed + removes),
            is_checked.eq((is_checked | dut.checked) & ~removes),
            is_read.eq((is_read | dut.read) & ~removes),
        ]
        # Of the packets here, in order.
        failed, fails = Signal(2), Signal(2)
        second = dut.failing != removed[0]
        m.d.comb += [
            fails.eq(failed | Cat(dut.fails & ~second, dut.fails & second)),
            Assume(~dut.fails | (begun > second)),
        ]
        m.d.sync += failed.eq(Mux(removes, fails[1], fails))
        has_ended = Signal()
        m.d.comb += [
            has_ended.eq((begun != 0) & (here >= begun)),
            Assert(dut.accept == (here + dut.arrives < 2)),
            Assert(dut.has_two == (begun == 2)),
            Assert(dut.ended == has_ended),
            Assert(dut.parity == removed[0]),
            Assert(dut.drain == is_read),
            Assert(dut.failed == ((begun != 0) & failed.bit_select(begun == 2, 1))),
            Assert(probe(m, "dut.have_failed", 2) == failed),
            Assert((begun == 2) | ~failed[1]),
            Assert((begun != 0) | ~failed[0]),
            Cover(failed[1] & removes),
            Assert(here <= 2),
            Assert(begun <= 2),
            Assert(~accepts | (here < 2)),
            Assert(begun <= here + 1),
            Assert(~is_checked | ((begun != 0) & (here != 0))),
            Assert(~is_read | (begun != 0)),
            Cover((here == 2) & (begun == 2) & removes),
            Cover(dut.can_start & (begun == 1) & dut.start),
        ]
        for parity, flag in enumerate(dut.has_ended):
            number = Mux(removed[0] == parity, 0, 1)
            m.d.comb += Assert(flag == ((here > number) | failed.bit_select(number, 1)))
        self._keep(m, ended, started, removed, here, begun, has_ended, is_checked)
        return m

    def _keep(self, m, ended, started, removed, here, begun, has_ended, is_checked):
        """The end of any packet is there from when it comes until the next packet is started."""
        dut = self.dut
        number, end = Signal(NUMBER_BITS), Signal(StreamEnd(dut.config, dut.depth))
        has_come, newest = Signal(), Signal(NUMBER_BITS)
        m.d.comb += [number.eq(AnyConst(NUMBER_BITS)), newest.eq(started - 1)]
        with m.If(dut.arrives & (ended == number)):
            m.d.sync += [end.eq(dut.end), has_come.eq(1)]
        same = end.as_value()
        with m.If(has_ended & (newest == number)):
            m.d.comb += Assert(dut.current.as_value() == same)
        with m.If((here != 0) & (removed == number)):
            m.d.comb += Assert(dut.first.as_value() == same)
        # The next packet may start a cycle after its row is known; the first at once.
        is_known, is_next = Signal(), probe(m, "dut.is_next", 1)
        m.d.sync += is_known.eq(has_ended & ~dut.start)
        m.d.comb += [
            Assert(dut.can_start == (is_next & (begun != 2))),
            Assert(~is_known | is_next),
            Assert(~is_next | (begun <= here)),
            # Invariants: the second end, and which packets are in the ring.
            Assert(probe(m, "dut.valid", 2) == Mux(here == 2, 3, here)),
            Assert(probe(m, "dut.has_one", 1) == (begun != 0)),
            Assert(probe(m, "dut.is_checked", 1) == is_checked),
        ]
        with m.If(has_come & is_next & (newest == number)):
            m.d.comb += Assert(dut.row == end.start)
        with m.If((here == 2) & ((removed + 1)[:NUMBER_BITS] == number)):
            m.d.comb += Assert(probe(m, "dut.second", len(same)) == same)
        # A packet that is here, or behind which the next starts, has come.
        with m.If(((number - removed)[:NUMBER_BITS] < here) | (has_ended & (newest == number))):
            m.d.comb += Assert(has_come)


PROOFS = (
    Proof(
        name="packet_ends",
        promise="The ends of two packets are kept in order until both are done with",
        components=(PacketEnds,),
        design=lambda depth: KeepsEnds(PacketEnds(Config("fp32"), depth)),
        sizes={"4 rows": 4, "16 rows": 16},
        broken=faults(
            4,
            10,
            late("dut.ended"),
            stuck_at(1, "dut.accept"),
            inverted("dut.second", 3),
            stuck_at(0, "dut.is_checked"),
        ),
    ),
)
