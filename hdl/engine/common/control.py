"""The life of a job: taken, started, drained, answered."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import LINK, Op, Status
from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.product import RowsProduct
from cdma.hdl.engine.common.records import ErrorReport, Halt
from cdma.hdl.engine.job import Done, Job


class JobControl(wiring.Component):
    """Take one job after the other and answer each.

    A copy (operations 3 and 4) that does not fit its limit is answered without being started.
    A job that is offered during an abort is not taken.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    i : In stream of :class:`~cdma.hdl.engine.job.Job`
    o : Out stream of :class:`~cdma.hdl.engine.job.Done`
    abort : In, level
    busy : Out, a job was taken and not answered
    waits : Out, no job was taken: ``i`` is looked at
    begins : Out, ``i`` is taken and will ``start`` in the next cycle, or a copy starts now
    job : Out, the job, from ``start`` on
    start : Out, begin with ``job``
    running : Out, from the cycle after ``start`` until the job has finished
    failing : Out, the job is running and met an error
    total : Out, bytes of a copy
    finished : In, nothing of the job is left or outstanding
    stripes, raw_stripes, stream_bytes : In, results of a job that did not fail
    found, error, error_bytes : In, the error to report, and the stream's bytes then
    halt_errors : In, :class:`~cdma.hdl.engine.common.records.Halt` by errors
    halt : Out, the same, and all when the job is aborted
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(Job(config.address_bits))),
                "o": Out(stream.Signature(Done())),
                "abort": In(1),
                "busy": Out(1),
                "waits": Out(1),
                "begins": Out(1),
                "job": Out(Job(config.address_bits)),
                "start": Out(1),
                "running": Out(1),
                "failing": Out(1),
                "total": Out(64),
                "finished": In(1),
                "stripes": In(32),
                "raw_stripes": In(32),
                "stream_bytes": In(64),
                "found": In(1),
                "error": In(ErrorReport()),
                "error_bytes": In(64),
                "halt_errors": In(Halt()),
                "halt": Out(Halt()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.size = size = RowsProduct()
        is_copy, fits, aborted, cycles = Signal(), Signal(), Signal(), Signal(32)
        job = self.job
        m.d.comb += [
            is_copy.eq((job.op == Op.COPY_OUT) | (job.op == Op.COPY_IN)),
            size.rows.eq(job.rows),
            size.row_bytes.eq(job.row_bytes),
            self.total.eq(size.product),
            self.failing.eq(self.running & self.found),
            self.halt.eq(self.halt_errors),
            self.halt.all.eq(aborted | self.halt_errors.all),
        ]
        m.d.sync += [cycles.eq(cycles + 1), fits.eq(size.product <= job.limit)]
        with m.If(self.abort):
            m.d.sync += aborted.eq(1)
        with m.FSM():
            with m.State("IDLE"):
                op = self.i.payload.op
                is_offered_copy = (op == Op.COPY_OUT) | (op == Op.COPY_IN)
                m.d.comb += [
                    self.waits.eq(1),
                    self.i.ready.eq(~self.abort),
                    self.begins.eq(self.i.valid & self.i.ready & ~is_offered_copy),
                ]
                m.d.sync += [job.eq(self.i.payload), aborted.eq(0), cycles.eq(1)]
                with m.If(self.i.valid & self.i.ready):
                    m.next = "SIZE"
            with m.State("SIZE"):
                m.d.comb += [self.busy.eq(1), size.start.eq(is_copy), self.start.eq(~is_copy)]
                m.next = "RUN"
                with m.If(is_copy):
                    m.next = "MULTIPLY"
            with m.State("MULTIPLY"):
                m.d.comb += self.busy.eq(1)
                with m.If(~size.busy):
                    m.next = "CHECK"
            with m.State("CHECK"):
                m.d.comb += [self.busy.eq(1), self.start.eq(fits), self.begins.eq(fits)]
                m.next = "DONE"
                with m.If(fits):
                    m.next = "RUN"
                with m.Else():
                    self._overflow(m)
            with m.State("RUN"):
                m.d.comb += [self.busy.eq(1), self.running.eq(1)]
                with m.If(self.finished):
                    self._answer(m, aborted)
                    m.next = "DONE"
            with m.State("DONE"):
                m.d.comb += [self.busy.eq(1), self.o.valid.eq(1)]
                with m.If(self.o.ready):
                    m.next = "IDLE"
        with m.If(~self.o.valid):
            m.d.sync += self.o.payload.cycles.eq(cycles)
        return m

    def _overflow(self, m):
        """Answer a copy that does not fit."""
        done = self.o.payload
        m.d.sync += [
            done.status.eq(Status.OVERFLOW),
            done.stream_bytes.eq(self.total),
            done.where.eq(self.job.limit),
            done.stripe.eq(0),
            done.raw_stripes.eq(0),
            done.channel.eq(LINK),
        ]

    def _answer(self, m, aborted):
        """Answer a job that ran."""
        done, error = self.o.payload, self.error
        m.d.sync += [
            done.status.eq(Mux(self.found, error.status, Status.OK)),
            done.stream_bytes.eq(Mux(self.found, self.error_bytes, self.stream_bytes)),
            done.where.eq(Mux(self.found, error.where, 0)),
            done.stripe.eq(Mux(self.found, error.tag.number, self.stripes)),
            done.raw_stripes.eq(self.raw_stripes),
            done.channel.eq(Mux(self.found, error.channel, LINK)),
        ]
        with m.If(aborted):
            m.d.sync += [done.status.eq(Status.ABORTED), done.where.eq(0), done.channel.eq(LINK)]
