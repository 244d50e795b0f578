"""Bytes of all rows of a job."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out


class RowsProduct(wiring.Component):
    """Multiply bytes per row by rows, one bit of ``rows`` a cycle.

    For jobs that must know their size before they begin; takes as many cycles as ``rows`` has bits
    up to its highest one.

    Members
    -------
    start : In, begin with ``rows`` and ``row_bytes``
    rows, row_bytes : In
    busy : Out, ``product`` is not yet valid
    product : Out, modulo 2**64
    """

    start: In(1)
    rows: In(32)
    row_bytes: In(64)
    busy: Out(1)
    product: Out(64)

    def elaborate(self, platform):
        m = Module()
        rows, addend = Signal(32), Signal(64)
        m.d.comb += self.busy.eq(rows != 0)
        with m.If(self.start):
            m.d.sync += [rows.eq(self.rows), addend.eq(self.row_bytes), self.product.eq(0)]
        with m.Else():
            m.d.sync += [rows.eq(rows >> 1), addend.eq(addend << 1)]
            with m.If(rows[0]):
                m.d.sync += self.product.eq(self.product + addend)
        return m
