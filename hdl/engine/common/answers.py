"""Answers to jobs: what is sent when one has ended."""

from amaranth.hdl import Module, Mux, ResetInserter, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import LINK, Status
from cdma.hdl.engine.common.records import OFFSET_BITS, ErrorReport
from cdma.hdl.engine.job import Done
from cdma.hdl.lib.buffer import RowBuffer
from cdma.hdl.lib.parts import advance_in_parts

#: Bits of a count of cycles.
CYCLE_BITS = 32


class Result(data.StructLayout):
    """Results of a job without errors: ``stream_bytes``, ``stripes``, ``raw_stripes``."""

    def __init__(self):
        super().__init__(
            {
                "stream_bytes": unsigned(OFFSET_BITS),
                "stripes": unsigned(32),
                "raw_stripes": unsigned(32),
            }
        )


class FinishedJob(data.StructLayout):
    """The ``result`` of a job, and the cycle in which it was ``taken``."""

    def __init__(self):
        super().__init__({"result": Result(), "taken": unsigned(CYCLE_BITS)})


class Refusal(data.StructLayout):
    """A copy that does not fit: ``total``, its bytes, and its ``limit``."""

    def __init__(self, address_bits: int):
        size_bits = min(address_bits + 1, 64)
        super().__init__({"total": unsigned(OFFSET_BITS), "limit": unsigned(size_bits)})


class JobAnswers(wiring.Component):
    """Keep the results of jobs, and answer the oldest job when that is asked for.

    Five cycles from ``begin`` to the answer, because its cycles are subtracted in parts. Status and
    channel of an answer come from registers, all else through one multiplexer. Inputs of an answer
    stay from ``begin`` until it is ``accepted``.

    Parameters
    ----------
    address_bits : int
    depth : int
        Most results that wait.

    Members
    -------
    clear : In, forget all results
    now : In, count of cycles
    i : In stream of :class:`FinishedJob`, in the order of the jobs
    begin : In, answer the oldest job, whose result is the oldest; only when ``idle``
    has_failed, was_aborted, was_refused : In, with ``begin``: how it ended, else it is OK. An abort
        beats an error, and nothing else is combined.
    error, error_bytes : In, error of the job, and bytes of the stream before that
    refusal : In, :class:`Refusal` of the job
    oldest : Out, the oldest :class:`Result`, zero when there is none
    idle : Out, no answer is on its way
    accepted : Out, the answer was taken
    o : Out stream of :class:`~cdma.hdl.engine.job.Done`
    """

    i: stream.Interface
    o: stream.Interface

    def __init__(self, address_bits: int, depth: int):
        self.depth = depth
        super().__init__(
            {
                "clear": In(1),
                "now": In(CYCLE_BITS),
                "i": In(stream.Signature(FinishedJob())),
                "begin": In(1),
                "has_failed": In(1),
                "was_aborted": In(1),
                "was_refused": In(1),
                "error": In(ErrorReport()),
                "error_bytes": In(64),
                "refusal": In(Refusal(address_bits)),
                "oldest": Out(Result()),
                "idle": Out(1, init=1),
                "accepted": Out(1),
                "o": Out(stream.Signature(Done())),
            }
        )

    def elaborate(self, platform):
        m = Module()
        results = ResetInserter(self.clear)(RowBuffer(FinishedJob(), self.depth, pipe=False))
        m.submodules.results = results
        wiring.connect(m, wiring.flipped(self.i), results.i)
        steps = Signal(4)  # one bit goes up: subtract, then the carries pass
        cycles = Signal(CYCLE_BITS)
        taken = Mux(steps[0], results.o.payload.taken, 0)
        carries = advance_in_parts(m, cycles, taken, "cycles", parts=4, down=True)
        m.d.comb += [
            self.oldest.eq(Mux(results.o.valid, results.o.payload.result.as_value(), 0)),
            self.accepted.eq(self.o.valid & self.o.ready),
            results.o.ready.eq(self.accepted),
            self.o.payload.cycles.eq(cycles),
        ]
        m.d.sync += steps.eq(steps << 1)
        with m.If(self.begin):
            m.d.sync += [self.idle.eq(0), steps.eq(1), cycles.eq(self.now), carries.eq(0)]
        with m.Elif(steps[-1]):
            m.d.sync += self.o.valid.eq(1)
        with m.Elif(self.accepted):
            m.d.sync += [self.o.valid.eq(0), self.idle.eq(1)]
        self._describe(m)
        return m

    def _describe(self, m):
        """What the answer says."""
        done, error, refusal, result = self.o.payload, self.error, self.refusal, self.oldest
        is_failed, is_aborted, is_refused = (
            Signal(name=f"is_{kind}") for kind in ("failed", "aborted", "refused")
        )
        with m.If(self.begin):
            m.d.sync += [
                is_failed.eq(self.has_failed),
                is_aborted.eq(self.was_aborted),
                is_refused.eq(self.was_refused),
                done.status.eq(Status.OK),
                done.channel.eq(LINK),
            ]
            with m.If(self.was_aborted):
                m.d.sync += done.status.eq(Status.ABORTED)
            with m.Elif(self.has_failed):
                m.d.sync += [done.status.eq(error.status), done.channel.eq(error.channel)]
            with m.Elif(self.was_refused):
                m.d.sync += done.status.eq(Status.OVERFLOW)
        m.d.comb += [
            done.stream_bytes.eq(result.stream_bytes),
            done.stripe.eq(result.stripes),
            done.raw_stripes.eq(result.raw_stripes),
        ]
        with m.If(is_failed):
            m.d.comb += [done.stream_bytes.eq(self.error_bytes), done.stripe.eq(error.tag.number)]
            with m.If(~is_aborted):
                m.d.comb += done.where.eq(error.where)
        with m.If(is_refused):  # there are no results
            m.d.comb += [done.stream_bytes.eq(refusal.total), done.where.eq(refusal.limit)]
