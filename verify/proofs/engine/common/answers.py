"""An answer says what its job has done, and stays until it is taken."""

from amaranth.hdl import (
    Array,
    Assert,
    Assume,
    Cat,
    Const,
    Cover,
    Elaboratable,
    Module,
    Mux,
    Signal,
    Value,
)

from cdma.engine_codes import LINK, Status
from cdma.hdl.engine.common.answers import CYCLE_BITS, FinishedJob, JobAnswers
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, hold_to_rule
from cdma.verify.proofs.proof import Proof, faults

ADDRESS_BITS, DEPTH = 12, 2
STEPS = 5  # cycles from the request to the answer


class AnswersOldest(Elaboratable):
    """Results come at any time, and answers of any kind are asked for at any time.

    What an answer is made of stays until it is taken. The model is a queue of results, and a
    subtraction in one step.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        shape = FinishedJob()
        results = [Signal(shape, name=f"result{k}") for k in range(DEPTH)]
        count, step = Signal(range(DEPTH + 1)), Signal(range(STEPS + 1))
        pushes, pops = dut.i.valid & dut.i.ready, dut.o.valid & dut.o.ready
        kinds, kind = anything(m, 3, "kinds"), Signal(3)
        is_failed, is_aborted, is_refused = kind
        m.d.comb += [
            dut.i.valid.eq(anything(m, 1, "i_valid") & (count != DEPTH)),
            Value.cast(dut.i.payload).eq(anything(m, len(Value.cast(dut.i.payload)), "i")),
            dut.o.ready.eq(anything(m, 1, "o_ready")),
            dut.now.eq(anything(m, CYCLE_BITS, "now")),
            dut.clear.eq(anything(m, 1, "clear") & (step == 0)),
            dut.begin.eq(anything(m, 1, "begin") & (step == 0) & ~dut.clear),
            Cat(dut.has_failed, dut.was_aborted, dut.was_refused).eq(kinds),
            # A refused copy has no results, and no job has any behind one that has none.
            Assume(~(dut.begin & kinds[2]) | ((count == 0) & ~kinds[:2].any())),
            Assume(~dut.i.valid | (count != 0) | ((step == 0) & ~dut.begin)),
            # A job that has ended well has results.
            Assume(~dut.begin | (count != 0) | kinds.any()),
            Assert(dut.i.ready | (count == DEPTH)),
            Assert(dut.idle == (step == 0)),
            Assert(dut.o.valid == (step == STEPS)),
            Assert(dut.accepted == pops),
            Cover(pops & (kind == 0) & (count == DEPTH) & (dut.o.payload.cycles == 77)),
            Cover(pops & is_refused),
        ]
        hold_to_rule(m, dut.o, "o")
        self._hold(m, dut, step, kinds)
        first, second = results
        with m.If(dut.clear):
            m.d.sync += count.eq(0)
        with m.Else():
            m.d.sync += count.eq(count + pushes - (pops & (count != 0)))
        with m.If(pops & (count != 0)):
            m.d.sync += first.eq(second)
        for k, result in enumerate(results):
            with m.If(pushes & (count - (pops & (count != 0)) == k)):
                m.d.sync += result.eq(dut.i.payload)
        with m.If(dut.begin):
            m.d.sync += [step.eq(1), kind.eq(kinds)]
        with m.Elif(pops):
            m.d.sync += step.eq(0)
        with m.Elif((step != 0) & (step != STEPS)):
            m.d.sync += step.eq(step + 1)
        result = Signal(shape)
        m.d.comb += result.eq(Mux(count != 0, Value.cast(first), 0))
        m.d.comb += Assert(Value.cast(dut.oldest) == Value.cast(result.result))
        done = dut.o.payload
        with m.If((step == STEPS) & (count != 0)):
            m.d.comb += Assert(done.cycles == (self._begun - first.taken)[:CYCLE_BITS])
        with m.If(step != 0):
            m.d.comb += [
                Assert(~is_refused | ((count == 0) & ~is_failed & ~is_aborted)),
                Assert(done.raw_stripes == result.result.raw_stripes),
            ]
            stream_bytes, stripe = Signal(64), Signal(32)
            status, where, channel = Signal(8), Signal(64), Signal(7)
            m.d.comb += [
                stream_bytes.eq(result.result.stream_bytes),
                stripe.eq(result.result.stripes),
                status.eq(Status.OK),
                channel.eq(LINK),
            ]
            with m.If(is_failed):
                m.d.comb += [
                    stream_bytes.eq(dut.error_bytes),
                    stripe.eq(dut.error.tag.number),
                    status.eq(dut.error.status),
                    channel.eq(dut.error.channel),
                    where.eq(dut.error.where),
                ]
            with m.If(is_aborted):
                m.d.comb += [status.eq(Status.ABORTED), channel.eq(LINK), where.eq(0)]
            with m.If(is_refused):
                m.d.comb += [
                    stream_bytes.eq(dut.refusal.total),
                    status.eq(Status.OVERFLOW),
                    where.eq(dut.refusal.limit),
                ]
            m.d.comb += [
                Assert(done.stream_bytes == stream_bytes),
                Assert(done.stripe == stripe),
                Assert(done.status == status),
                Assert(done.channel == channel),
                Assert(done.where == where),
            ]
        self._state(m, dut, results, count, step, kind)
        return m

    def _hold(self, m, dut, step, kinds):
        """Drive what an answer is made of: any value, which stays from its beginning on."""
        self._begun = Signal(CYCLE_BITS, name="begun")
        with m.If(dut.begin):
            m.d.sync += self._begun.eq(dut.now)
        for name in ("error", "error_bytes", "refusal"):
            port = Value.cast(getattr(dut, name))
            kept, fresh = Signal(len(port), name=f"kept_{name}"), anything(m, len(port), name)
            m.d.comb += port.eq(Mux(step == 0, fresh, kept))
            m.d.sync += kept.eq(port)
        # A job that has failed has an error.
        channel, status = Signal(7), Signal(8)
        with m.If(dut.begin):
            m.d.sync += [channel.eq(dut.error.channel), status.eq(dut.error.status)]
        with m.If(step != 0):
            m.d.comb += [
                Assert(dut.error.channel == channel),
                Assert(dut.error.status == status),
            ]

    def _state(self, m, dut, results, count, step, kind):
        """Invariants: the registers of the unit are those of the model."""
        width = len(Value.cast(results[0]))
        head, level = probe(m, "dut.results.read__addr", 1), probe(m, "dut.results.level", 2)
        tail = probe(m, "dut.results.tail", 1)
        rows = Array(probe(m, f"dut.results.memory[{k}]", width) for k in range(DEPTH))
        steps, carries = probe(m, "dut.steps", 4), probe(m, "dut.cycles_carries", 3)
        cycles, taken = dut.o.payload.cycles, Signal(CYCLE_BITS)
        left = cycles - (carries[0] << 8) - (carries[1] << 16) - (carries[2] << 24)
        for bit, name in zip(kind, ("failed", "aborted", "refused"), strict=True):
            m.d.comb += Assert((step == 0) | (probe(m, f"dut.is_{name}", 1) == bit))
        m.d.comb += [
            Assert(level == count),
            Assert(tail == (head + count)[0]),
            Assert(steps == Mux(step == STEPS, 0, Const(1) << step >> 1)),
            taken.eq(rows[head][-CYCLE_BITS:]),
        ]
        for k, result in enumerate(results):
            with m.If(count > k):
                m.d.comb += Assert(rows[(head + k)[0]] == Value.cast(result))
        # The carries of the subtraction move up by a part in each cycle.
        with m.If(step == 1):
            m.d.comb += [Assert(cycles == self._begun), Assert(carries == 0)]
        with m.Elif((step != 0) & (count != 0)):
            m.d.comb += Assert(left[:CYCLE_BITS] == (self._begun - taken)[:CYCLE_BITS])
        for k in range(3):
            with m.If(step > k + 2):
                m.d.comb += Assert(~carries[k])


PROOFS = (
    Proof(
        name="job_answers",
        promise="An answer says what the oldest job has done, and in how many cycles",
        components=(JobAnswers,),
        design=lambda bits: AnswersOldest(JobAnswers(bits, DEPTH)),
        sizes={"2 jobs": ADDRESS_BITS},
        broken=faults(
            ADDRESS_BITS,
            14,
            stuck_at(0, "dut.cycles_carries", 1),
            late("dut.is_aborted"),
            stuck_at(1, "dut.results.read__addr"),
        ),
    ),
)
