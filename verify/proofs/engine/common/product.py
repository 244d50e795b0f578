"""Rows times their size, whose adder is cut into pieces, is plain arithmetic."""

from amaranth.hdl import Assert, Cat, Const, Cover, Elaboratable, Module, Signal

from cdma.hdl.engine.common.product import _PIECE_BITS, RowsProduct
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults


class Multiplies(Elaboratable):
    """``product`` and ``over`` are those of ``rows * factor + first`` when ``busy`` falls.

    It may be started at any time, also while it is busy. Rows have ``row_bits`` bits. The sum of
    the rows' multiples, in one wide adder, is compared with the pieces; that it is the product, at
    the smallest size.

    Parameters
    ----------
    dut : RowsProduct
    row_bits : int
    """

    def __init__(self, dut, row_bits):
        self.dut, self.row_bits = dut, row_bits

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        bits, wide = dut.bits, dut.bits + self.row_bits + 1
        m.d.comb += [
            dut.start.eq(anything(m, 1, "start")),
            dut.rows.eq(anything(m, self.row_bits, "rows")),
            dut.factor.eq(anything(m, bits, "factor")),
            dut.first.eq(anything(m, min(32, bits + 1), "first")),
        ]
        # What remains, what one row of that is, and what was added, all without a limit of bits.
        left, weight = Signal(self.row_bits), Signal(wide)
        total, expected = Signal(wide), Signal(wide)
        is_known = Signal()
        with m.If(dut.start):
            m.d.sync += [
                left.eq(dut.rows),
                weight.eq(dut.factor),
                total.eq(dut.first),
                expected.eq(dut.rows * dut.factor + dut.first),
                is_known.eq(1),
            ]
        with m.Elif(left != 0):
            m.d.sync += [left.eq(left >> 1), weight.eq(weight << 1)]
            with m.If(left[0]):
                m.d.sync += total.eq(total + weight)
        addend, carries = probe(m, "dut.addend", bits), self._carries(m)
        is_cut, kept = probe(m, "dut.is_cut", 1), Signal(wide)
        m.d.comb += kept.eq(dut.product + carries)
        rest = Signal(wide)
        m.d.comb += rest.eq(total - kept)
        with m.If(is_known):
            m.d.comb += [
                Assert(dut.busy == ((left != 0) | (carries != 0))),
                Assert(rest[:bits] == 0),
                Assert((rest[bits:] != 0) == dut.over),
            ]
            if bits <= _PIECE_BITS:  # else the solver takes long: there the pieces are proven
                m.d.comb += Assert(total + left * weight == expected)
            with m.If(left != 0):
                m.d.comb += Assert(Cat(addend) == weight[:bits])
                m.d.comb += Assert(is_cut == weight[bits:].any())
            with m.If(~dut.busy):
                m.d.comb += [
                    Assert(dut.product == total[:bits]),
                    Assert(dut.over == total[bits:].any()),
                    Cover((dut.product != 0) & dut.over),
                    Cover((dut.product != 0) & ~dut.over),
                ]
        return m

    def _carries(self, m):
        """The carries between the pieces, at their places."""
        places = range(0, self.dut.bits, _PIECE_BITS)
        if len(places) == 1:
            return Const(0, 1)
        bits = probe(m, "dut.carries", len(places))
        m.d.comb += Assert(~bits[0])
        return sum(bits[k] << place for k, place in enumerate(places) if k)


PROOFS = (
    Proof(
        name="rows_product",
        promise="The product of rows and their size, and whether it is too large, is exact",
        components=(RowsProduct,),
        design=lambda size: Multiplies(RowsProduct(size[0]), size[1]),
        sizes={
            f"{bits} bits, rows of {rows} bits": (bits, rows)
            for bits, rows in ((6, 4), (15, 3), (28, 3))
        },
        slow=("6 bits, rows of 4 bits", "28 bits, rows of 3 bits"),
        # As many cycles as it takes until rows that are not those left show in ``busy``.
        depth=7,
        broken=faults(
            (15, 3),
            12,
            late("dut.carries", 1),
            stuck_at(0, "dut.is_cut"),
            inverted("dut.total1", 0),
        ),
    ),
)
