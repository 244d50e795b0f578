"""A job has ended when all of its work of each kind is done, and then soon."""

from unittest import mock

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.common import ends
from cdma.hdl.engine.common.ends import JobEnds, WorkCount
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import BOUNDED, Proof, faults

MOST, KINDS, JOBS = 2, 2, 2
#: Of a count alone: pieces, jobs, and bits that are in its queue.
MANY, MANY_JOBS, BITS = 9, 4, 16


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


class MarkedQueue(wiring.Component):
    """A queue of single bits of any latency, in place of :class:`~cdma.hdl.lib.fifo.Fifo`.

    Members
    -------
    i, o : In, Out streams
    tag : In, the bit that comes has a tag
    bits, tags : Out, the bits in the queue, the oldest first, and which has the tag
    level : Out, number of bits
    """

    def __init__(self, shape, depth):
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "tag": In(1),
                "bits": Out(BITS),
                "tags": Out(BITS),
                "level": Out(range(BITS + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        enters, leaves, level = Signal(), Signal(), Signal.like(self.level)
        m.d.comb += [
            self.i.ready.eq(1),
            self.o.valid.eq(anything(m, 1, "offers") & (self.level != 0)),
            self.o.payload.eq(self.bits[0]),
            enters.eq(self.i.valid & self.i.ready),
            leaves.eq(self.o.valid & self.o.ready),
            level.eq(self.level - leaves),
            Assume(~enters | (self.level != BITS)),
        ]
        m.d.sync += self.level.eq(level + enters)
        for values, new in ((self.bits, self.i.payload), (self.tags, self.tag)):
            moved = Signal(BITS)
            m.d.comb += moved.eq(values >> leaves)
            m.d.sync += values.eq(moved | ((enters & new) << level))
        return m


class CountsWork(Elaboratable):
    """Pieces of work are begun, done and marked at any time, and jobs taken at any time; the queue
    has any latency. A piece may be done in the cycle in which it is begun: this is known late.

    As many jobs have ended, or will when their marks leave the queue, as are open. Of a job that is
    picked, all pieces are done when it ends.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut, queue = self.dut, MarkedQueue(1, BITS)
        with mock.patch.object(ends, "Fifo", return_value=queue):
            m.submodules.dut = elaborated(dut, platform)
        open_, jobs = Signal(range(MANY + 1), name="open"), Signal(range(MANY_JOBS + 1))
        is_picked, left, ahead = Signal(), Signal.like(open_), Signal.like(jobs)
        picks = dut.mark & ~is_picked & anything(m, 1, "picks")
        ends_job = dut.o.valid & dut.o.ready
        for port in (dut.clear, dut.begins, dut.done, dut.mark, dut.o.ready):
            m.d.comb += port.eq(anything(m, 1, "any"))
        is_last = is_picked & ends_job & (ahead == 0)
        m.d.comb += [
            queue.tag.eq(picks),
            Assume(~dut.done | (open_ != 0) | dut.begins),
            Assume(~dut.begins | ((open_ != MANY) & ~dut.mark)),
            Assume(~dut.mark | (jobs != MANY_JOBS)),
            Assert(~dut.o.valid | (jobs != 0)),
            Assert(~is_last | (left == 0)),
            # With nothing in the queue, all jobs have ended.
            Assert((queue.level != 0) | (dut.o.valid == (jobs != 0))),
            Cover(is_last & (jobs == 2)),
        ]
        m.d.sync += [
            open_.eq(open_ + dut.begins - dut.done),
            jobs.eq(jobs + dut.mark - ends_job),
        ]
        with m.If(picks):
            m.d.sync += [is_picked.eq(1), left.eq(open_ - dut.done), ahead.eq(jobs - ends_job)]
        with m.Else():
            m.d.sync += [
                left.eq(left - (dut.done & (left != 0))),
                ahead.eq(ahead - (ends_job & (ahead != 0))),
                is_picked.eq(is_picked & ~is_last),
            ]
        with m.If(dut.clear):
            m.d.sync += [each.eq(0) for each in (open_, jobs, is_picked)]
        self._queue(m, queue, open_, jobs, (is_picked, left, ahead))
        return m

    def _queue(self, m, queue, open_, jobs, picked):
        """What is in the queue, and in front of the mark that is picked."""
        is_picked, left, ahead = picked
        early = probe(m, "dut.early", (self.dut.depth - 1).bit_length())
        ended = probe(m, "dut.ended", MANY_JOBS.bit_length())
        valid = Cat(k < queue.level for k in range(BITS))
        is_front = Cat((queue.tags >> k) != 0 for k in range(BITS)) & ~queue.tags
        pieces, marks = (_count(valid & kind) for kind in (~queue.bits, queue.bits))
        before, jobs_before = (_count(is_front & kind) for kind in (~queue.bits, queue.bits))
        is_queued = queue.tags != 0
        m.d.comb += [
            Assert(queue.level <= BITS),
            Assert((queue.bits & ~valid) == 0),
            Assert((queue.tags & ~queue.bits) == 0),
            Assert((queue.tags & (queue.tags - 1)) == 0),
            Assert(pieces == open_ + early),
            Assert(marks + ended == jobs),
            Assert((open_ <= MANY) & (jobs <= MANY_JOBS)),
            Assert(is_picked | ~is_queued),
        ]
        with m.If(is_queued):
            m.d.comb += [
                Assert(left == Mux(before > early, before - early, 0)),
                Assert(ahead == ended + jobs_before),
            ]
        with m.Elif(is_picked):
            m.d.comb += [Assert(left == 0), Assert(ahead < ended)]


def _count(bits):
    return sum(bits[k] for k in range(BITS))


PROOFS = (
    Proof(
        name="work_count",
        promise="A job ends when all of its work of one kind is done, and none is lost, whatever "
        "the order of pieces and jobs",
        components=(WorkCount,),
        design=lambda size: CountsWork(WorkCount(*size)),
        sizes={"9 pieces, 4 jobs": (MANY, MANY_JOBS)},
        broken=faults(
            (MANY, MANY_JOBS),
            12,
            stuck_at(0, "dut.early", 0),
            late("dut.takes"),
            stuck_at(0, "dut.reaches"),
        ),
    ),
    Proof(
        name="job_ends",
        promise="A job ends when all of its work of each kind is done, not before and soon after",
        components=(JobEnds,),
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
