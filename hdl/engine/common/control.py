"""The life of jobs: taken, started, drained, answered."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Op
from cdma.engine_config import EngineConfig
from cdma.hdl.axi.full import Attributes
from cdma.hdl.engine.common.answers import CYCLE_BITS, JobAnswers, Result
from cdma.hdl.engine.common.records import JOB_BITS, ErrorReport, Halt
from cdma.hdl.engine.job import Done, Job
from cdma.hdl.lib.counter import Counter
from cdma.hdl.lib.parts import is_below_later

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


class _Kept(data.StructLayout):
    """A ``job``, and the cycle in which it was ``taken``."""

    def __init__(self, address_bits: int):
        super().__init__({"job": Job(address_bits), "taken": unsigned(CYCLE_BITS)})


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
    halt : StructLayout or None
        Shape of what is halted, with a member ``all``; ``None`` is
        :class:`~cdma.hdl.engine.common.records.Halt`.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.engine.job.Job`; one that is not taken may be taken back
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
    attr : Out, :class:`~cdma.hdl.axi.full.Attributes` of that job; all jobs of a ring in work have
        the same
    views : Out, array of :class:`JobView`
    result : In stream of :class:`Result`, one for each started job, as the first view leaves it
    oldest_result : Out, that of the oldest job
    ended : In, one more job has ended, in order, without error
    finished : In, nothing of any job is left or outstanding; the views and the first stage excepted
    oldest : Out, number of the oldest job
    failing : Out, an error was met
    drains : Out, no job is started until all have ended
    clear : Out, one cycle: all has ended, forget what was counted and found
    found, error, error_bytes : In, the error to report, and the stream's bytes then
    halt_errors : In, what is halted by errors
    halt : Out, the same, and all with an abort
    """

    def __init__(self, config: EngineConfig, views: int = 1, depth: int = JOBS, halt=None):
        self.config, self.depth = config, depth
        self.bits = depth.bit_length()  # of a count of jobs, modulo twice the depth
        halt = Halt() if halt is None else halt
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
                "attr": Out(Attributes()),
                "views": Out(JobView(config.address_bits)).array(views),
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
                "halt_errors": In(halt),
                "halt": Out(halt),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.clock = self._clock = clock = Counter(CYCLE_BITS, 1)
        m.submodules.answers = self._answers = JobAnswers(self.config.address_bits, self.depth)
        # Jobs taken, given to the first stage, started there, and answered.
        self._taken, self._given, self._started, self._answered = (
            Signal(self.bits, name=name) for name in ("taken", "given", "started", "answered")
        )
        # All jobs in work are aborted; a copy is to be refused, and the answer to that is taken.
        self._aborted, self._refuses, self._refused = (
            Signal(name=name) for name in ("aborted", "refuses", "refused")
        )
        m.d.comb += [
            clock.enable.eq(1),
            clock.step.eq(1),
            self.busy.eq(self._taken != self._answered),
            self.oldest.eq(self._answered),
            self.failing.eq(self.found),
            self.drains.eq(self._aborted | self.found),
            self.halt.eq(self.halt_errors),
            self.halt.all.eq(self._aborted | self.halt_errors.all),
        ]
        with m.If(self.clear):
            m.d.sync += self._aborted.eq(0)
        with m.Elif(self.abort & self.busy):
            m.d.sync += self._aborted.eq(1)
        self._start(m)
        self._answer(m, self._view(m))
        following = self._answered + self._refused
        with m.If(self.clear | self._refused):
            m.d.sync += [self._given.eq(following), self._started.eq(following)]
        return m

    def _start(self, m):
        """Give the first stage its jobs."""
        given, taken = self._given, self._taken
        m.submodules.jobs = self._jobs = jobs = Memory(
            shape=_Kept(self.config.address_bits), depth=self.depth, init=[]
        )
        # In the state IDLE this is a job that was taken before and is started again, else that of
        # the first stage.
        write, read = jobs.write_port(), jobs.read_port(domain="comb")
        job = self.job
        # Nothing is taken in the cycle before one in which these registers count.
        has_again, is_full, is_empty, was_cleared = Signal(), Signal(), Signal(), Signal()
        can, takes, number = Signal(), Signal(), Signal(self.bits)
        m.d.sync += [
            has_again.eq(given != taken),
            is_full.eq(number[-1]),
            is_empty.eq(given == self._answered),
            was_cleared.eq(self.clear | self._refused),
        ]
        wants_alone, is_copy = self.next.op == Op.VERIFY, _is_copy(job.op)
        m.d.comb += [
            number.eq(taken - self._answered),
            read.addr.eq(self.number),
            job.eq(read.data.job),
            self.next.eq(Mux(has_again, job.as_value(), self.i.payload.as_value())),
            can.eq(
                ~self.abort
                & ~self.drains
                & ~was_cleared
                & (is_empty | ~(wants_alone | self.alone))
                & (has_again | ~is_full)
            ),
            # Written before it is known to be taken: the place is free.
            write.en.eq(self.waits & ~has_again & ~is_full),
            write.addr.eq(taken),
            write.data.job.eq(self.i.payload),
            write.data.taken.eq(self._clock.value),
        ]
        total = _total(self.config, job)
        m.d.comb += self._answers.refusal.total.eq(total)
        m.d.comb += self._answers.refusal.limit.eq(job.limit)
        exceeds = is_below_later(m, job.limit, total, "exceeds", parts=4)
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
                        self.alone.eq(wants_alone),
                        given.eq(given + 1),
                        taken.eq(taken + ~has_again),
                        self.attr.eq(self.next.attr),
                    ]
                    m.next = "START"
                with m.Else():
                    m.d.sync += self.number.eq(given)
            with m.State("START"):
                m.d.comb += self.start.eq(~is_copy)
                m.next = "RUN"
                with m.If(is_copy):
                    m.next = "COMPARE"
            with m.State("COMPARE"):
                m.next = "CHECK"
            with m.State("CHECK"):
                m.d.comb += [self.start.eq(~exceeds), self.begins.eq(~exceeds)]
                m.next = "RUN"
                with m.If(exceeds):
                    m.next = "REFUSE"
            with m.State("REFUSE"):
                # Started again, or aborted, when the data path has run empty.
                m.d.comb += self._refuses.eq(1)
                with m.If(self._refused | (self.drains & self._answers.idle)):
                    m.d.sync += self.number.eq(given)
                    m.next = "IDLE"
            with m.State("RUN"):
                m.d.comb += self.running.eq(1)
                with m.If(self.leaves):
                    m.d.sync += self.number.eq(given)
                    m.next = "IDLE"
        with m.If(self.start):
            m.d.sync += self._started.eq(self._started + 1)

    def _view(self, m):
        """Places of the later stages; gives whether they are done with all that was started."""
        is_done = 1
        for k, view in enumerate(self.views):
            place = Signal(self.bits, name=f"place{k}")
            port = self._jobs.read_port(domain="comb")
            m.d.comb += [
                port.addr.eq(place),
                view.valid.eq(place != self._started),
                view.job.eq(port.data.job),
                view.number.eq(place),
            ]
            is_done = is_done & (place == self._started)
            if k == 0:
                m.d.comb += self._answers.i.payload.taken.eq(port.data.taken)
            with m.If(self.clear | self._refused):
                m.d.sync += place.eq(self._answered + self._refused)
            with m.Elif(view.next):
                m.d.sync += place.eq(place + 1)
        return is_done

    def _answer(self, m, is_viewed):
        """Answer the oldest job when it has ended, or when all has."""
        answers, is_last = self._answers, Signal()  # the last answer before all is forgotten
        ended, was_finished, quiet = Signal(self.bits), Signal(), Signal()
        is_over, none_started, has_failed = Signal(), Signal(), Signal()
        wiring.connect(m, answers.o, wiring.flipped(self.o))
        m.d.comb += [
            answers.clear.eq(self.clear),
            answers.now.eq(self._clock.value),
            answers.i.valid.eq(self.result.valid),
            answers.i.payload.result.eq(self.result.payload),
            self.result.ready.eq(answers.i.ready),
            self.oldest_result.eq(answers.oldest),
            answers.error.eq(self.error),
            answers.error_bytes.eq(self.error_bytes),
            answers.has_failed.eq(has_failed),
            answers.was_aborted.eq(self._aborted),
            answers.was_refused.eq(self._refuses & none_started),
            has_failed.eq(self.found & (self.error.tag.job == self.oldest)),
            none_started.eq(self._started == self._answered),
            self._refused.eq(answers.accepted & self._refuses & none_started),
            quiet.eq(was_finished & self.waits & is_viewed),
            is_over.eq((is_last & ~self._aborted) | ~self.busy),
        ]
        with m.If(~answers.idle | self.clear):
            pass
        with m.Elif(self.drains):
            m.d.comb += answers.begin.eq(quiet & ~is_over)
        with m.Else():
            ends_alone = self.alone & quiet & (self._given != self._answered)
            refuses = self._refuses & none_started
            m.d.comb += answers.begin.eq((ended != 0) | ends_alone | refuses)
        m.d.sync += [
            was_finished.eq(self.finished),
            self.clear.eq(self.drains & quiet & is_over & answers.idle & ~self.clear),
            ended.eq(ended + self.ended - (answers.begin & (ended != 0))),
            self._answered.eq(self._answered + answers.accepted),
        ]
        with m.If(answers.begin):
            m.d.sync += is_last.eq(has_failed & ~self._aborted)
        with m.If(self.clear):
            m.d.sync += [is_last.eq(0), ended.eq(0)]


def _total(config, job):
    """Bytes of a job: rows are whole stripes, if there are several."""
    return Cat(job.row_bytes[: config.stripe_bytes.bit_length() - 1], job.stripes)


def _is_copy(op):
    return (op == Op.COPY_OUT) | (op == Op.COPY_IN)
