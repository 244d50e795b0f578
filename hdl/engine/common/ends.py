"""When each of several overlapping jobs has ended."""

from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.common.records import JOB_BITS
from cdma.hdl.lib.fifo import Fifo
from cdma.hdl.lib.signals import assert_ready

_PASSING = 4  # bits that are in a queue only since they pass it, at most


class WorkCount(wiring.Component):
    """Count the jobs of which all work of one kind is done, in order.

    Pieces of work are begun and done in the order of the jobs. A queue of single bits keeps what
    was begun, and a mark behind the last piece of each job: when that mark is at its head, one more
    job has ended: two cycles after ``done``, three after ``mark``, from a register.

    Parameters
    ----------
    most : int
        Most pieces that are begun and not done.
    jobs : int
        Most jobs that have not ended.

    Members
    -------
    clear : In, forget all
    begins, done : In, one piece of work is begun, or is done
    mark : In, all pieces of the job were begun before this cycle, and none is begun in it
    o : Out stream without payload: a job has ended
    """

    clear: Signal
    begins: Signal
    done: Signal
    mark: Signal
    o: stream.Interface

    def __init__(self, most: int, jobs: int = 1 << JOB_BITS):
        self.jobs = jobs
        # A bit leaves a cycle, and not in the two in which it passes the queue.
        self.depth = 1 << (most + jobs + _PASSING - 1).bit_length()
        super().__init__(
            {
                "clear": In(1),
                "begins": In(1),
                "done": In(1),
                "mark": In(1),
                "o": Out(stream.Signature(0)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        order = ResetInserter(self.clear)(Fifo(unsigned(1), self.depth))  # 1 is a mark
        m.submodules.order = order
        assert_ready(m, platform, order.i)
        early = Signal(range(self.depth))  # pieces that are done and are in the queue
        ended, takes, reaches = Signal(range(self.jobs + 1)), Signal(), Signal()
        is_mark = order.o.payload
        m.d.comb += [
            order.i.valid.eq(self.begins | self.mark),
            order.i.payload.eq(self.mark),
            reaches.eq(order.o.valid & is_mark),
            takes.eq(order.o.valid & ~is_mark & (self.done | (early != 0))),
            order.o.ready.eq(is_mark | takes),
            self.o.valid.eq(ended != 0),
        ]
        m.d.sync += [
            early.eq(early + self.done - takes),
            ended.eq(ended + reaches - (self.o.valid & self.o.ready)),
        ]
        with m.If(self.clear):
            m.d.sync += [early.eq(0), ended.eq(0)]
        return m


class JobEnds(wiring.Component):
    """Tell when a job has ended: when all of its work of each kind is done.

    ``ended`` comes two cycles after ``done``, four after ``mark``. What is begun is known late: it
    is counted a cycle later.

    Parameters
    ----------
    kinds : sequence of int
        For each kind the most pieces that are begun and not done.
    jobs : int
        Most jobs that have not ended.

    Members
    -------
    clear : In, forget all
    begins, done : In, a bit for each kind, see :class:`WorkCount`
    mark : In, all work of the job was begun before this cycle, and none of it is begun in it
    waits : In, give no event in this cycle
    ended : Out, one cycle: one more job has ended, in order
    """

    clear: Signal
    begins: Signal
    done: Signal
    mark: Signal
    waits: Signal
    ended: Signal

    def __init__(self, kinds, jobs: int = 1 << JOB_BITS):
        self.kinds, self.jobs = tuple(kinds), jobs
        count = len(self.kinds)
        super().__init__(
            {
                "clear": In(1),
                "begins": In(count),
                "done": In(count),
                "mark": In(1),
                "waits": In(1),
                "ended": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        counts = [WorkCount(most, self.jobs) for most in self.kinds]
        begins, mark = Signal.like(self.begins), Signal()
        m.d.sync += [
            begins.eq(Mux(self.clear, 0, self.begins)),
            mark.eq(self.mark & ~self.clear),
        ]
        m.d.comb += self.ended.eq(Cat(count.o.valid for count in counts).all() & ~self.waits)
        for k, count in enumerate(counts):
            m.submodules[f"count{k}"] = count
            m.d.comb += [
                count.clear.eq(self.clear),
                count.begins.eq(begins[k]),
                count.done.eq(self.done[k]),
                count.mark.eq(mark),
                count.o.ready.eq(self.ended),
            ]
        return m
