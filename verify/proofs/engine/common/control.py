"""The life of jobs: started in order, answered once, in order, and not before they have ended."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.engine_codes import Op, Status
from cdma.hdl.engine.common.control import JobControl
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import PDR, Proof, faults

DEPTH = 2


class LiveOnce(Elaboratable):
    """Jobs are offered, left by the stages, ended and aborted at any time, and fail at any time.

    A job that was started is answered when an event said that it has ended, or when all is idle.
    With an error or an abort it is the latter: then nothing of any job is left. A job is not taken
    then. The jobs behind one that failed are started again.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        taken, answered = Signal(), Signal()
        m.d.comb += [
            # A job that was offered and not taken may be taken back, or become another one.
            dut.i.valid.eq(anything(m, 1, "i_valid")),
            Value.cast(dut.i.payload).eq(anything(m, len(Value.cast(dut.i.payload)), "i")),
            taken.eq(dut.i.valid & dut.i.ready),
            dut.o.ready.eq(anything(m, 1, "o_ready")),
            answered.eq(dut.o.valid & dut.o.ready),
        ]
        width = DEPTH.bit_length() + 1
        for name in ("abort", "finished", "leaves"):
            m.d.comb += getattr(dut, name).eq(anything(m, 1, name))
        started, ended = Signal(width), Signal(width)  # jobs of those that are not answered
        found, failed_job, fails = Signal(), Signal(4), anything(m, 1, "fails") & ~dut.clear
        chosen, error = anything(m, 4, "failed_job"), anything(m, 8, "error_status")
        status = Signal(8)
        is_viewed, are_viewed = self._view(m, width)
        m.d.comb += [
            dut.result.valid.eq(dut.views[0].next),
            dut.ended.eq(anything(m, 1, "ended") & is_viewed & ~dut.drains & ~dut.alone),
            dut.found.eq(found),
            dut.error.tag.job.eq(failed_job),
            Value.cast(dut.error.status).eq(status),
        ]
        fails = fails & ~found & (started > ended + dut.ended)
        with m.If(fails):
            age = (chosen - dut.oldest)[: width - 1]
            m.d.comb += Assume((chosen < 2 * DEPTH) & (age >= ended + dut.ended) & (age < started))
            m.d.sync += [found.eq(1), failed_job.eq(chosen), status.eq(error)]
        with m.Elif(dut.clear):
            m.d.sync += found.eq(0)

        # An answer says how the job had ended when the answer was begun.
        begins = probe(m, "dut.answers.begin", 1)
        was_finished, was_idle, was_valid = Signal(), Signal(), Signal()
        was_found, was_draining, was_aborted = Signal(), Signal(), Signal()
        had_ended, could_overflow, was_status = Signal(), Signal(), Signal(8)
        op = dut.job.op
        m.d.sync += [
            was_finished.eq(dut.finished),
            was_valid.eq(dut.o.valid & ~answered),
            was_status.eq(dut.o.payload.status),
        ]
        # What else an answer says is proven of JobAnswers.
        with m.If(was_valid):
            m.d.comb += [Assert(dut.o.valid), Assert(dut.o.payload.status == was_status)]
        with m.If(begins):
            m.d.sync += [
                was_idle.eq(was_finished & dut.waits & are_viewed),
                was_found.eq(found & (failed_job == dut.oldest)),
                was_draining.eq(dut.drains),
                was_aborted.eq(dut.halt.all),
                had_ended.eq(ended != 0),
                could_overflow.eq((op == Op.COPY_OUT) | (op == Op.COPY_IN)),
            ]
        rises = dut.o.valid & ~was_valid
        now_started = Mux(answered & (started != 0), started - 1, started)
        now_ended = Mux(answered & (ended != 0), ended - 1, ended)
        m.d.sync += [
            started.eq(Mux(dut.clear, 0, now_started + dut.start)),
            ended.eq(Mux(dut.clear, 0, now_ended + dut.ended)),
        ]
        in_work = Signal(width + 1)  # with the one that is answered
        m.d.sync += in_work.eq(in_work + taken - answered)
        m.d.comb += [
            Assert(in_work <= DEPTH),
            Assert(dut.busy == (in_work != 0)),
            Assert(~taken | ~(dut.abort | dut.drains)),
            Assert(~dut.running | (started != 0) | dut.drains),
            Cover(rises & was_aborted & (in_work == DEPTH)),
            Cover(rises & was_found & was_draining),
            Cover(taken & (started == DEPTH - 1)),
        ]
        found_status = Value.cast(dut.o.payload.status)
        with m.If(rises):
            m.d.comb += Assert(in_work != 0)
            with m.If(was_draining):
                m.d.comb += Assert(was_idle)
            with m.Elif(started != 0):
                m.d.comb += Assert(had_ended | was_idle)
            with m.If(was_aborted):
                m.d.comb += Assert(found_status == Status.ABORTED)
            with m.Elif(was_found):
                m.d.comb += Assert(found_status == status)
            with m.Elif(started != 0):
                m.d.comb += Assert(found_status == Status.OK)
            with m.Else():
                m.d.comb += Assert((found_status == Status.OVERFLOW) & could_overflow)
        return m

    def _view(self, m, width):
        """Later stages leave each job behind the first one, and before it has ended.

        A stage has a job as long as it has not left all that were started. Gives whether all stages
        have left a job whose end is to come, and whether they have left all that were started.
        """
        dut, is_viewed, are_viewed = self.dut, 1, 1
        for k, view in enumerate(dut.views):
            # Jobs that the stage has not left; that it has left, and whose end is to come.
            behind, viewed = Signal(width, name=f"behind{k}"), Signal(width, name=f"viewed{k}")
            goes_on = anything(m, 1, f"next{k}")
            m.d.comb += [
                view.next.eq(view.valid & goes_on & ~(dut.running & (view.number == dut.number))),
                Assert(view.valid == (behind != 0)),
            ]
            m.d.sync += [
                behind.eq(Mux(dut.clear, 0, behind + dut.start - view.next)),
                viewed.eq(Mux(dut.clear, 0, viewed + (view.next & ~dut.alone) - dut.ended)),
            ]
            is_viewed = is_viewed & (viewed != 0)
            are_viewed = are_viewed & ~view.valid
        return is_viewed, are_viewed


PROOFS = (
    Proof(
        name="job_control",
        promise="Jobs are answered once, in order, each when it has ended, or when all is idle",
        components=(JobControl,),
        design=lambda views: LiveOnce(JobControl(small(), views, DEPTH)),
        sizes={"2 jobs": 1, "2 jobs, 3 later stages": 3},
        slow=("2 jobs", "2 jobs, 3 later stages"),
        mode=PDR,
        depth=6,
        broken=faults(
            1,
            14,
            stuck_at(1, "dut.waits"),
            late("dut.given"),
        ),
    ),
)
