"""The life of a job: started once, answered once, and not before all of the job has finished."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.engine_codes import Op, Status
from cdma.hdl.engine.common.control import JobControl
from cdma.verify.formal.fault import stuck_at
from cdma.verify.formal.stream_rules import anything, offer, take
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import PDR, Proof, faults


class LivesOnce(Elaboratable):
    """Jobs are offered at any time; the data path finishes and fails at any time.

    The order of events of one job is: taken, started, finished, answered. Nothing of another job
    is between them. A job is not taken during an abort; one that is aborted before its answer is
    made is answered ABORTED.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        taken, answered = offer(m, dut.i, "i"), take(m, dut.o, "o")
        for name in ("abort", "finished", "found"):
            m.d.comb += getattr(dut, name).eq(anything(m, 1, name))
        m.d.comb += [
            Value.cast(dut.error.status).eq(anything(m, 8, "error_status")),
            dut.halt_errors.all.eq(anything(m, 1, "halt_all")),
        ]
        is_taken, is_started, has_finished = Signal(), Signal(), Signal()
        op, is_aborted, status = Signal(4), Signal(), Signal(8)
        is_copy = (op == Op.COPY_OUT) | (op == Op.COPY_IN)
        finishes = dut.running & dut.finished
        with m.If(taken):
            m.d.sync += [is_taken.eq(1), op.eq(dut.i.payload.op), is_aborted.eq(0)]
        with m.Elif(dut.abort):
            m.d.sync += is_aborted.eq(1)
        with m.If(dut.start):
            m.d.sync += is_started.eq(1)
        with m.If(finishes):
            found = Mux(dut.found, dut.error.status, Status.OK)
            m.d.sync += [
                has_finished.eq(1),
                status.eq(Mux(is_aborted, Status.ABORTED, found)),
            ]
        with m.If(answered):
            m.d.sync += [is_taken.eq(0), is_started.eq(0), has_finished.eq(0)]
        m.d.comb += [
            Assert(~taken | ~is_taken),
            Assert(~taken | ~dut.abort),
            Assert(dut.busy == is_taken),
            Assert(~dut.start | (is_taken & ~is_started)),
            Assert(dut.running == (is_started & ~has_finished)),
            Assert(~dut.failing | dut.running),
            Cover(dut.o.valid & has_finished & (status == Status.ABORTED)),
            Cover(dut.o.valid & ~is_started),
        ]
        # A job that was started is answered only when it has finished, once.
        with m.If(dut.o.valid):
            m.d.comb += [Assert(is_taken), Assert(has_finished == is_started)]
            with m.If(has_finished):
                m.d.comb += Assert(Value.cast(dut.o.payload.status) == status)
            with m.Else():
                m.d.comb += [Assert(is_copy), Assert(dut.o.payload.status == Status.OVERFLOW)]
        # All of the work is halted from the cycle after an abort on.
        with m.If(is_started & is_aborted):
            m.d.comb += Assert(dut.halt.all)
        # Apart from copies, whose size is multiplied first, a job begins in the cycle after.
        was_taken = Signal()
        m.d.sync += was_taken.eq(taken)
        with m.If(was_taken & ~is_copy):
            m.d.comb += Assert(dut.start)
        return m


PROOFS = (
    Proof(
        name="job_control",
        promise="A job is started once and answered once, after all of the job has finished",
        components=(JobControl,),
        design=lambda config: LivesOnce(JobControl(config)),
        sizes={"any": small()},
        slow=("any",),
        mode=PDR,
        depth=6,
        broken=faults(
            small(),
            10,
            stuck_at(1, "dut.running"),
            stuck_at(0, "dut.halt.all"),
        ),
    ),
)
