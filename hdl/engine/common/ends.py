"""When each of several overlapping jobs has ended."""

from amaranth.hdl import Cat, Module, ResetInserter, Signal, unsigned
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.common.records import JOB_BITS
from cdma.hdl.lib.buffer import RowBuffer


class WorkCount(wiring.Component):
    """Count the jobs of which all work of one kind is done, in order.

    Pieces of work are begun and done in the order of the jobs. A mark notes what was begun: when
    as much is done, one more job has ended: two cycles after ``done``, from a register.

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
    mark : In, all pieces of the job were begun before this cycle
    o : Out stream without payload: a job has ended
    """

    clear: Signal
    begins: Signal
    done: Signal
    mark: Signal
    o: stream.Interface

    def __init__(self, most: int, jobs: int = 1 << JOB_BITS):
        self.jobs = jobs
        # The count of pieces that are done may be past a mark by as many as there are jobs.
        self.bits = (most + jobs + 2).bit_length() + 1
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
        marks = ResetInserter(self.clear)(RowBuffer(unsigned(self.bits), self.jobs))
        m.submodules.marks = marks
        begun, done, past = (Signal(self.bits, name=name) for name in ("begun", "done", "past"))
        ended, reaches = Signal(range(self.jobs + 1)), Signal()
        m.d.comb += [
            marks.i.valid.eq(self.mark),
            marks.i.payload.eq(begun),
            past.eq(done - marks.o.payload),
            reaches.eq(marks.o.valid & ~past[-1]),
            marks.o.ready.eq(reaches),
            self.o.valid.eq(ended != 0),
        ]
        m.d.sync += [
            begun.eq(begun + self.begins),
            done.eq(done + self.done),
            ended.eq(ended + reaches - (self.o.valid & self.o.ready)),
        ]
        with m.If(self.clear):
            m.d.sync += [begun.eq(0), done.eq(0), ended.eq(0)]
        return m


class JobEnds(wiring.Component):
    """Tell when a job has ended: when all of its work of each kind is done.

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
    mark : In, all work of the job was begun before this cycle
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
        m.d.comb += self.ended.eq(Cat(count.o.valid for count in counts).all() & ~self.waits)
        for k, count in enumerate(counts):
            m.submodules[f"count{k}"] = count
            m.d.comb += [
                count.clear.eq(self.clear),
                count.begins.eq(self.begins[k]),
                count.done.eq(self.done[k]),
                count.mark.eq(self.mark),
                count.o.ready.eq(self.ended),
            ]
        return m
