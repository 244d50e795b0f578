"""A job has ended when all of its work of each kind is done, and then soon."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.engine.common.ends import JobEnds, WorkCount
from cdma.verify.formal.fault import stuck_at
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import BOUNDED, Proof, faults

MOST, KINDS, JOBS = 2, 2, 2


class EndsAfterItsWork(Elaboratable):
    """Pieces of work are begun, done and marked at any time, in order, of up to two jobs.

    One job is picked: what is open when its mark comes must be done when it ends, and it ends at
    most three cycles after that and after the job before it, unless it waits.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        jobs, open_ = Signal(2), [Signal(3, name=f"open{k}") for k in range(KINDS)]
        begins, done = anything(m, KINDS, "begins"), anything(m, KINDS, "done")
        mark, waits = anything(m, 1, "mark"), anything(m, 1, "waits")
        m.d.comb += [
            dut.begins.eq(begins),
            dut.done.eq(done),
            dut.mark.eq(mark),
            dut.waits.eq(waits),
            Assume(~mark | ((begins == 0) & (jobs != JOBS))),
            Assert(~dut.ended | ((jobs != 0) & ~waits)),
        ]
        is_picked, ahead = Signal(), Signal(2)
        left = [Signal(3, name=f"left{k}") for k in range(KINDS)]
        picks = mark & ~is_picked & anything(m, 1, "picks")
        m.d.sync += jobs.eq(jobs + mark - dut.ended)
        for k in range(KINDS):
            m.d.comb += [
                Assume(~done[k] | (open_[k] != 0)),
                Assume(~begins[k] | (open_[k] != MOST)),
            ]
            m.d.sync += open_[k].eq(open_[k] + begins[k] - done[k])
            with m.If(picks):
                m.d.sync += left[k].eq(open_[k] - done[k])
            with m.Elif(done[k] & (left[k] != 0)):
                m.d.sync += left[k].eq(left[k] - 1)
        ends, late_by, is_due = Signal(), Signal(3), Signal()
        all_done = (left[0] == 0) & (left[1] == 0)
        m.d.comb += [
            ends.eq(is_picked & dut.ended & (ahead == 0)),
            is_due.eq(is_picked & (ahead == 0) & all_done & ~waits),
            Assert(~ends | all_done),
            Assert(late_by < 4),
            Cover(ends & (late_by == 0)),
            Cover(is_picked & (ahead == 1) & all_done),
        ]
        m.d.sync += late_by.eq(Mux(is_due & ~ends, late_by + 1, 0))
        with m.If(picks):
            m.d.sync += [is_picked.eq(1), ahead.eq(jobs - dut.ended)]
        with m.Elif(ends):
            m.d.sync += is_picked.eq(0)
        with m.Elif(dut.ended & (ahead != 0)):
            m.d.sync += ahead.eq(ahead - 1)
        return m


PROOFS = (
    Proof(
        name="job_ends",
        promise="A job ends when all of its work of each kind is done, not before and soon after",
        components=(JobEnds,),
        parts=(WorkCount,),
        design=lambda kinds: EndsAfterItsWork(JobEnds(kinds, JOBS)),
        sizes={"2 kinds": (MOST,) * KINDS},
        slow=("2 kinds",),
        mode=BOUNDED,
        depth=12,
        broken=faults(
            (MOST,) * KINDS,
            10,
            stuck_at(0, "dut.count1.early"),
            stuck_at(1, "dut.count1.o__valid"),
        ),
    ),
)
