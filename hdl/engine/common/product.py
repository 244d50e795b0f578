"""Number of bytes or stripes of all rows of a job."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

#: Bits of the product that one adder has.
_PIECE_BITS = 13


class RowsProduct(wiring.Component):
    """Multiply the size of a row by the number of rows, one bit of ``rows`` a cycle.

    Each piece of the product has an adder of its own: its carry reaches the next piece a cycle
    later. Takes as many cycles as ``rows`` has bits up to its highest one, and up to one more for
    each piece but the first; one row takes one cycle without ``first``.

    Parameters
    ----------
    bits : int
        Of the product.

    Members
    -------
    start : In, begin with ``rows``, ``factor`` and ``first``
    rows, factor : In, what is multiplied
    first : In, is added to the product
    busy : Out, ``product`` is not yet valid
    product : Out, modulo ``2**bits``
    over : Out, the product is ``2**bits`` or more
    """

    start: Signal
    rows: Signal
    factor: Signal
    first: Signal
    busy: Signal
    product: Signal
    over: Signal

    def __init__(self, bits: int):
        self.bits = bits
        super().__init__(
            {
                "start": In(1),
                "rows": In(32),
                "factor": In(bits),
                "first": In(32),
                "busy": Out(1),
                "product": Out(bits),
                "over": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        rows, addend = Signal(32), Signal(self.bits)
        places = range(0, self.bits, _PIECE_BITS)
        carries = Signal(len(places))  # into each piece; none into the first
        is_cut = Signal()  # the addend has lost a bit
        m.d.comb += self.busy.eq((rows != 0) | carries.any())
        with m.If(self.start):
            m.d.sync += [
                rows.eq(self.rows),
                addend.eq(self.factor),
                self.product.eq(self.first),
                self.over.eq(self.first[self.bits :].any()),
                carries.eq(0),
                is_cut.eq(0),
            ]
        with m.Else():
            m.d.sync += [
                rows.eq(rows >> 1),
                addend.eq(addend << 1),
                is_cut.eq(is_cut | addend[-1]),
            ]
            for k, low in enumerate(places):
                piece = self.product[low : low + _PIECE_BITS]
                added = addend[low : low + _PIECE_BITS] & rows[0].replicate(len(piece))
                total = Signal(len(piece) + 1, name=f"total{k}")
                m.d.comb += total.eq(piece + added + carries[k])
                m.d.sync += piece.eq(total)
                if k + 1 < len(places):
                    m.d.sync += carries[k + 1].eq(total[-1])
                else:
                    with m.If(total[-1] | (rows[0] & is_cut)):
                        m.d.sync += self.over.eq(1)
        return m
