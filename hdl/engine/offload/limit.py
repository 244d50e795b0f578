"""Words that a stream may still have."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.counter import StepCounter

_ROWS = 8  # longest rows that the lower bits have room for: the upper ones follow in that time


class Limit(wiring.Component):
    """Let a stream's words pass up to a limit.

    The lower bits of what is left are counted down with each row, the upper ones by one when they
    borrow: some cycles later, which is before the lower bits can run out. Throughput a row a cycle;
    ``kept`` and ``cut`` follow ``count`` combinationally. A first row may come three cycles
    after ``start``.

    Parameters
    ----------
    width : int
        Bits of the limit.
    most : int
        Most words of a row.

    Members
    -------
    start, limit : In, a stream begins, of at most so many words
    takes, count : In, the stream gets a row of so many words
    kept : Out, words of these that pass
    cut : Out, not all of them pass
    """

    def __init__(self, width: int, most: int):
        self.width = width
        self.most = most
        super().__init__(
            {
                "start": In(1),
                "limit": In(width),
                "takes": In(1),
                "count": In(range(most + 1)),
                "kept": Out(range(most + 1)),
                "cut": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        low = (_ROWS * self.most - 1).bit_length()
        m.submodules.upper = upper = StepCounter(self.width - low, down=True)
        left, less, borrows = Signal(low), Signal(low + 1), Signal()
        m.d.comb += [
            less.eq(left - self.count),
            # No word is left above the lower bits, and the row has more than these.
            self.cut.eq(less[low] & upper.is_end),
            self.kept.eq(Mux(self.cut, left, self.count)),
            upper.load.eq(self.start),
            upper.load_value.eq(self.limit[low:]),
            upper.step.eq(borrows),
        ]
        m.d.sync += borrows.eq(self.takes & less[low] & ~upper.is_end)
        with m.If(self.start):
            m.d.sync += [left.eq(self.limit[:low]), borrows.eq(0)]
        with m.Elif(self.takes):
            m.d.sync += left.eq(Mux(self.cut, 0, less))
        return m
