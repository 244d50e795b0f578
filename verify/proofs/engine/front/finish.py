"""What a ring started is completed once, in order."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Signal, Value

from cdma.hdl.engine.front.ring.finish import Finisher
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.stream_rules import anything, offer, take
from cdma.verify.proofs.proof import PDR, Proof, faults

ADDRESS_BITS = 12


class CompletesInOrder(Elaboratable):
    """Each descriptor that was started has one completion, in order, with its own cookie.

    A descriptor, picked at any time, is followed. Jobs of the data path have one answer each.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        enters, leaves = offer(m, dut.i, "i"), take(m, dut.o, "o")
        # The data path answers each job that was started, in order.
        jobs = Signal(range(dut.depth + 2))
        record = dut.i.payload
        is_answered = Signal()
        m.d.comb += [
            dut.done.valid.eq(is_answered & (jobs != 0)),
            dut.done.payload.as_value().eq(0),
            Value.cast(dut.done.payload.status).eq(0),
        ]
        answered = dut.done.valid & dut.done.ready
        m.d.sync += [
            jobs.eq(jobs + (enters & ~record.is_local) - answered),
            is_answered.eq((is_answered & (jobs != 0) & ~answered) | anything(m, 1, "answers")),
        ]
        level = Signal(range(dut.depth + 2))
        m.d.sync += level.eq(level + enters - leaves)
        is_inside, ahead = Signal(), Signal(range(dut.depth + 1))
        cookie, is_local = Signal(4), Signal()
        with m.If(anything(m, 1, "marks") & enters & ~is_inside):
            m.d.sync += [
                is_inside.eq(1),
                ahead.eq(level - leaves),
                cookie.eq(record.cookie[:4]),
                is_local.eq(record.is_local),
            ]
        count = Signal(4)
        m.d.sync += count.eq(count + leaves)
        with m.If(dut.o.valid):
            m.d.comb += [
                Assert(level != 0),
                Assert(dut.o.payload.completion.head[:4] == (count + 1)[:4]),
            ]
        m.d.comb += [Assert(jobs <= level), Assert(level <= dut.depth), Cover(level == dut.depth)]
        with m.If(is_inside & leaves):
            m.d.sync += [ahead.eq(ahead - 1), is_inside.eq(ahead != 0)]
            with m.If(ahead == 0):
                m.d.sync += ahead.eq(0)
                m.d.comb += [
                    Assert(dut.o.payload.completion.cookie[:4] == cookie),
                    Assert(answered == ~is_local),
                    Cover(is_local & (cookie == 5)),
                ]
        m.d.comb += Assert(~is_inside | (ahead < level))
        return m


PROOFS = (
    Proof(
        name="finisher",
        promise="Each started descriptor has one completion, in order, with its cookie",
        components=(Finisher,),
        design=lambda depth: CompletesInOrder(Finisher(ADDRESS_BITS, depth)),
        sizes={"2 in flight": 2},
        slow=("2 in flight",),
        mode=PDR,
        depth=5,
        broken=faults(2, 10, stuck_at(0, "dut.ends"), late("dut.started.level"), late("dut.count")),
    ),
)
