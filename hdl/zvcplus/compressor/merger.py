"""Up to two rows a cycle become one."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvcplus.compressor.assembler import BitRow
from cdma.hdl.zvcplus.config import Config


class RowMerger(wiring.Component):
    """Queue rows of which up to two come in a cycle and one leaves.

    Throughput one row a cycle, latency one cycle. ``enable`` comes from a register: in the cycle
    before, there is space for the rows that come next even if none leaves until then.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    rows : In, array of two :class:`~cdma.hdl.zvcplus.compressor.assembler.BitRow`
    has_row : In, a bit per row, the first first; they are taken with ``enable``
    completes : In, rows that come in the next cycle with ``enable``
    enable : Out, rows are taken
    o : Out stream of :class:`~cdma.hdl.zvcplus.compressor.assembler.BitRow`
    """

    #: Rows that wait.
    DEPTH = 3

    rows: data.View
    has_row: Signal
    completes: Signal
    enable: Signal
    o: stream.Interface

    def __init__(self, config: Config):
        self.config = config
        row = BitRow(config)
        super().__init__(
            {
                "rows": In(data.ArrayLayout(row, 2)),
                "has_row": In(2),
                "completes": In(2),
                "enable": Out(1, init=1),
                "o": Out(stream.Signature(row)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        entries = [
            Signal(BitRow(self.config), name=f"entry{k}", reset_less=True)
            for k in range(self.DEPTH)
        ]
        level = Signal(self.DEPTH + 1, init=1)  # entries that are taken, one-hot
        leaves = Signal()
        come = [self.enable & self.has_row[0], self.enable & self.has_row[1]]
        m.d.comb += [
            self.o.valid.eq(~level[0]),
            self.o.payload.eq(entries[0]),
            leaves.eq(self.o.valid & self.o.ready),
        ]
        outcomes = []
        for waiting in (level, level >> 1):
            after = Mux(come[1], waiting << 2, Mux(come[0], waiting << 1, waiting))
            after = after[: self.DEPTH + 1]
            fits = ((self.completes == 0) | ~after[-1]) & (
                (self.completes != 2) | ~after[-2:].any()
            )
            outcomes.append((after, fits))
        (stays, fits_so), (goes, fits_then) = outcomes
        m.d.sync += [
            level.eq(Mux(leaves, goes, stays)),
            self.enable.eq(Mux(leaves, fits_then, fits_so)),
        ]
        for k, entry in enumerate(entries):
            # Taken by the first row that comes, by the second, or by the entry behind.
            behind = entries[k + 1] if k + 1 < self.DEPTH else self.rows[0]
            is_first = Mux(leaves, level[k + 1], level[k])
            at_second = level[k] if k else 0
            is_second = Mux(leaves, at_second, level[k - 1] if k else 0)
            with m.If(is_first):
                m.d.sync += entry.eq(self.rows[0])
            with m.Elif(is_second):
                m.d.sync += entry.eq(self.rows[1])
            with m.Elif(leaves):
                m.d.sync += entry.eq(behind)
        return m
