"""The life of jobs: taken, started, drained, answered."""

from amaranth.hdl import Module, Mux, ResetInserter, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import LINK, Op, Status
from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.product import RowsProduct
from cdma.hdl.engine.common.records import JOB_BITS, OFFSET_BITS, ErrorReport, Halt
from cdma.hdl.engine.job import Done, Job
from cdma.hdl.lib.buffer import RowBuffer

#: Jobs of a direction in work at a time.
JOBS = 1 << JOB_BITS


class JobView(wiring.Signature):
    """A later stage's place in the jobs.

    Members
    -------
    valid : Out, there is a job for the stage
    job : Out, :class:`~cdma.hdl.engine.job.Job`
    number : Out, the job's number, also of one that is still to come
    next : In, the stage goes on to the next job
    """

    def __init__(self, address_bits: int):
        super().__init__(
            {
                "valid": Out(1),
                "job": Out(Job(address_bits)),
                "number": Out(JOB_BITS),
                "next": In(1),
            }
        )


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


class _Kept(data.StructLayout):
    """A ``job``, and the cycle in which it was ``taken``."""

    def __init__(self, address_bits: int):
        super().__init__({"job": Job(address_bits), "taken": unsigned(32)})


class JobControl(wiring.Component):
    """Take jobs, start each when the first stage is done with the one before, answer in order.

    Jobs overlap: each stage of the data path has a job of its own, and gives an event for each job
    that has ended well. When one meets an error, or with an abort, no job is started, and the data
    path runs empty. Then all jobs before that one are answered, that one with its error, and those
    behind it, which were halted, are started again. VERIFY, and a copy that does not fit its
    limit, have the data path for themselves; the latter is answered without being started.
    A job that is offered during an abort is not taken.

    Parameters
    ----------
    config : EngineConfig
    views : int
        Later stages that need the job.
    depth : int
        Most jobs in work, a power of two up to ``JOBS``.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.engine.job.Job`
    o : Out stream of :class:`~cdma.hdl.engine.job.Done`
    abort : In, level
    busy : Out, a job was taken and not answered
    waits : Out, the first stage has no job: ``next`` is looked at
    next : Out, the job that it gets
    begins : Out, ``next`` will ``start`` in the next cycle, or a copy starts now
    job, number : Out, the first stage's job, from ``start`` on, and its number
    start : Out, begin with ``job``
    running : Out, from the cycle after ``start`` until ``leaves``
    leaves : In, the first stage is done with its job
    alone : Out, the last job that was started has the data path for itself
    views : Out, array of :class:`JobView`
    total : Out, bytes of a copy
    result : In stream of :class:`Result`, one for each started job, as the first view leaves it
    oldest_result : Out, that of the oldest job
    ended : In, one more job has ended, in order, without error
    finished : In, nothing of any job is left or outstanding; the views and the first stage excepted
    oldest : Out, number of the oldest job
    failing : Out, an error was met
    drains : Out, no job is started until all have ended
    clear : Out, one cycle: all has ended, forget what was counted and found
    found, error, error_bytes : In, the error to report, and the stream's bytes then
    halt_errors : In, :class:`~cdma.hdl.engine.common.records.Halt` by errors
    halt : Out, the same, and all with an abort
    """

    def __init__(self, config: EngineConfig, views: int = 1, depth: int = JOBS):
        self.config, self.depth = config, depth
        self.bits = depth.bit_length()  # of a count of jobs, modulo twice the depth
        super().__init__(
            {
                "i": In(stream.Signature(Job(config.address_bits))),
                "o": Out(stream.Signature(Done())),
                "abort": In(1),
                "busy": Out(1),
                "waits": Out(1),
                "next": Out(Job(config.address_bits)),
                "begins": Out(1),
                "job": Out(Job(config.address_bits)),
                "number": Out(JOB_BITS),
                "start": Out(1),
                "running": Out(1),
                "leaves": In(1),
                "alone": Out(1),
                "views": Out(JobView(config.address_bits)).array(views),
                "total": Out(OFFSET_BITS),
                "result": In(stream.Signature(Result())),
                "oldest_result": Out(Result()),
                "ended": In(1),
                "finished": In(1),
                "oldest": Out(JOB_BITS),
                "failing": Out(1),
                "drains": Out(1),
                "clear": Out(1),
                "found": In(1),
                "error": In(ErrorReport()),
                "error_bytes": In(64),
                "halt_errors": In(Halt()),
                "halt": Out(Halt()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # Jobs taken, given to the first stage, started there, and answered.
        taken, given, started, answered = (
            Signal(self.bits, name=name) for name in ("taken", "given", "started", "answered")
        )
        aborted, is_refused = Signal(), Signal()
        # Cycles, and when the job was taken that the first of the views is left by.
        self._now, self._taken = Signal(32), Signal(32)
        m.d.comb += [
            self.busy.eq((taken != answered) | self.o.valid),
            self.oldest.eq(answered),
            self.failing.eq(self.found),
            self.drains.eq(aborted | self.found),
            self.halt.eq(self.halt_errors),
            self.halt.all.eq(aborted | self.halt_errors.all),
        ]
        with m.If(self.clear):
            m.d.sync += aborted.eq(0)
        with m.Elif(self.abort & (taken != answered)):
            m.d.sync += aborted.eq(1)
        self._start(m, taken, given, started, answered, is_refused)
        is_viewed = self._view(m, started, answered, is_refused)
        quiet = self.finished & self.waits & is_viewed
        self._answer(m, taken, given, answered, aborted, quiet, is_refused)
        with m.If(self.clear | is_refused):
            m.d.sync += [given.eq(answered + is_refused), started.eq(answered + is_refused)]
        return m

    def _start(self, m, taken, given, started, answered, is_refused):
        """Give the first stage its jobs."""
        m.submodules.size = size = RowsProduct(OFFSET_BITS)
        m.submodules.jobs = self._jobs = jobs = Memory(
            shape=_Kept(self.config.address_bits), depth=self.depth, init=[]
        )
        write, again = jobs.write_port(), jobs.read_port(domain="comb")
        job, fits, is_alone = self.job, Signal(), self.alone
        # Nothing is taken in the cycle before one in which these registers count.
        has_again, is_full, is_empty, was_cleared = Signal(), Signal(), Signal(), Signal()
        can, takes, number = Signal(), Signal(), Signal(self.bits)
        m.d.sync += [
            has_again.eq(given != taken),
            is_full.eq(number[-1]),
            is_empty.eq(given == answered),
            was_cleared.eq(self.clear | is_refused),
        ]
        wants_alone, is_copy = self.next.op == Op.VERIFY, _is_copy(job.op)
        m.d.comb += [
            number.eq(taken - answered),
            self.next.eq(Mux(has_again, again.data.job.as_value(), self.i.payload.as_value())),
            again.addr.eq(given),
            can.eq(
                ~self.abort
                & ~self.drains
                & ~was_cleared
                & (is_empty | ~(wants_alone | is_alone))
                & (has_again | ~is_full)
            ),
            write.en.eq(takes & ~has_again),
            write.addr.eq(taken),
            write.data.job.eq(self.i.payload),
            write.data.taken.eq(self._now),
            size.rows.eq(job.rows),
            size.factor.eq(job.row_bytes),
            self.total.eq(size.product),
        ]
        m.d.sync += fits.eq(size.product <= job.limit)
        # Equal to the state IDLE: a register of its own has the load of the job's many bits.
        loads = Signal(init=1)
        with m.If(loads):
            m.d.sync += [job.eq(self.next), self.number.eq(given)]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [
                    self.waits.eq(1),
                    takes.eq(can & (has_again | self.i.valid)),
                    self.i.ready.eq(can & ~has_again),
                    self.begins.eq(takes & ~_is_copy(self.next.op)),
                ]
                with m.If(takes):
                    m.d.sync += [
                        loads.eq(0),
                        is_alone.eq(wants_alone),
                        given.eq(given + 1),
                        taken.eq(taken + ~has_again),
                    ]
                    m.next = "SIZE"
            with m.State("SIZE"):
                m.d.comb += [size.start.eq(is_copy), self.start.eq(~is_copy)]
                m.next = "RUN"
                with m.If(is_copy):
                    m.next = "MULTIPLY"
            with m.State("MULTIPLY"), m.If(~size.busy):
                m.next = "CHECK"
            with m.State("CHECK"):
                m.d.comb += [self.start.eq(fits), self.begins.eq(fits)]
                m.next = "REFUSE"
                with m.If(fits):
                    m.next = "RUN"
            with m.State("REFUSE"):
                # Started again, or aborted, when the data path has run empty.
                m.d.comb += is_refused.eq((started == answered) & ~self.o.valid & ~self.drains)
                with m.If(self.drains | is_refused):
                    m.d.sync += loads.eq(1)
                    m.next = "IDLE"
            with m.State("RUN"):
                m.d.comb += self.running.eq(1)
                with m.If(self.leaves):
                    m.d.sync += loads.eq(1)
                    m.next = "IDLE"
        with m.If(self.start):
            m.d.sync += started.eq(started + 1)

    def _view(self, m, started, answered, is_refused):
        """Places of the later stages; gives whether they are done with all that was started."""
        is_done = 1
        for k, view in enumerate(self.views):
            place = Signal(self.bits, name=f"place{k}")
            port = self._jobs.read_port(domain="comb")
            m.d.comb += [
                port.addr.eq(place),
                view.valid.eq(place != started),
                view.job.eq(port.data.job),
                view.number.eq(place),
            ]
            is_done = is_done & (place == started)
            if k == 0:
                m.d.comb += self._taken.eq(port.data.taken)
            with m.If(self.clear | is_refused):
                m.d.sync += place.eq(answered + is_refused)
            with m.Elif(view.next):
                m.d.sync += place.eq(place + 1)
        return is_done

    def _answer(self, m, taken, given, answered, aborted, quiet, is_refused):
        """Answer the oldest job when it has ended, or when all has."""
        finished = data.StructLayout({"result": Result(), "taken": unsigned(32)})
        m.submodules.results = results = ResetInserter(self.clear)(RowBuffer(finished, self.depth))
        ended = Signal(self.bits)
        answers, has_failed, was_failed = Signal(), Signal(), Signal()
        oldest = results.o.payload
        m.d.comb += [
            results.i.valid.eq(self.result.valid),
            results.i.payload.result.eq(self.result.payload),
            results.i.payload.taken.eq(self._taken),
            self.result.ready.eq(results.i.ready),
            self.oldest_result.eq(Mux(results.o.valid, oldest.result.as_value(), 0)),
            results.o.ready.eq(answers),
            has_failed.eq(self.found & (self.error.tag.job == self.oldest)),
        ]
        with m.If(~self.o.valid & self.drains):
            m.d.comb += [
                self.clear.eq(quiet & ((was_failed & ~aborted) | (taken == answered))),
                answers.eq(quiet & ~self.clear),
            ]
        with m.Elif(~self.o.valid):
            ends_alone = self.alone & quiet & (given != answered)
            m.d.comb += answers.eq((ended != 0) | self.ended | ends_alone)
        m.d.sync += [
            self._now.eq(self._now + 1),
            ended.eq(ended + self.ended - (answers & ~self.alone)),
            answered.eq(answered + (answers | is_refused)),
            self.o.valid.eq(Mux(self.o.valid, ~self.o.ready, answers | is_refused)),
        ]
        with m.If(answers):
            m.d.sync += was_failed.eq(has_failed & ~aborted)
        with m.If(self.clear):
            m.d.sync += [was_failed.eq(0), ended.eq(0)]
        with m.If(~self.o.valid):
            m.d.sync += self.o.payload.cycles.eq(self._now - oldest.taken)
            self._describe(m, has_failed, aborted)
            with m.If(is_refused):
                self._overflow(m)

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

    def _describe(self, m, has_failed, aborted):
        """Answer a job that ran."""
        done, error, result = self.o.payload, self.error, self.oldest_result
        m.d.sync += [
            done.status.eq(Mux(has_failed, error.status, Status.OK)),
            done.stream_bytes.eq(Mux(has_failed, self.error_bytes, result.stream_bytes)),
            done.where.eq(Mux(has_failed, error.where, 0)),
            done.stripe.eq(Mux(has_failed, error.tag.number, result.stripes)),
            done.raw_stripes.eq(result.raw_stripes),
            done.channel.eq(Mux(has_failed, error.channel, LINK)),
        ]
        with m.If(aborted):
            m.d.sync += [done.status.eq(Status.ABORTED), done.where.eq(0), done.channel.eq(LINK)]


def _is_copy(op):
    return (op == Op.COPY_OUT) | (op == Op.COPY_IN)
