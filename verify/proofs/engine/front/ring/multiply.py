"""Rows times a number, whose adder is cut into pieces, is plain arithmetic."""

from amaranth.hdl import Assert, Assume, Const, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.engine.front.ring.multiply import _PIECE_BITS, ROWS_BITS, Multiplier
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults


class Multiplies(Elaboratable):
    """``product`` and ``over`` are those of the multiplication when ``busy`` falls.

    It may be loaded at any time, also while it is busy. Rows have ``row_bits`` bits. The sum of the
    rows' multiples, in one wide adder, is compared with the pieces; that it is the product, at the
    smallest size.

    Parameters
    ----------
    dut : Multiplier
    row_bits : int
    """

    def __init__(self, dut, row_bits):
        self.dut, self.row_bits = dut, row_bits

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        bits, wide = dut.bits, dut.bits + self.row_bits + 2
        # The factor's magnitude, up to that of the least number in two's complement.
        size, is_negative = anything(m, bits + 1, "size"), anything(m, 1, "is_negative")
        m.d.comb += [
            Assume(Mux(is_negative, (size != 0) & (size <= 1 << bits), size < 1 << bits)),
            dut.load.eq(anything(m, 1, "load")),
            dut.rows.eq(anything(m, self.row_bits, "rows")),
            Assume(dut.rows != 0),
            dut.is_less.eq(anything(m, 1, "is_less")),
            dut.factor.eq(Mux(is_negative, -size, size)),
            dut.is_negative.eq(is_negative),
            dut.first.eq(anything(m, bits, "first")),
        ]
        # What remains to be added, in rows and as one bit, without a limit of bits: the bit counts
        # half of the weight.
        left, bit, weight = Signal(self.row_bits), Signal(), Signal(wide)
        total, expected, is_known = Signal(wide), Signal(wide), Signal()
        was_negative = Signal()
        with m.If(dut.load):
            m.d.sync += [
                left.eq(dut.rows - dut.is_less),
                bit.eq(0),
                weight.eq(size),
                total.eq(dut.first),
                expected.eq((dut.rows - dut.is_less).as_unsigned() * size + dut.first),
                was_negative.eq(is_negative),
                is_known.eq(1),
            ]
        with m.Else():
            m.d.sync += [left.eq(left >> 1), bit.eq(left[0])]
            with m.If((left != 0) | bit):
                m.d.sync += weight.eq(weight << 1)
            with m.If(bit):
                m.d.sync += total.eq(total + (weight >> 1))
        with m.If(is_known):
            self._agree(m, left, bit, weight, total, was_negative)
            if bits <= _PIECE_BITS:  # else the solver takes long: there the pieces are proven
                m.d.comb += Assert(total + left * weight + Mux(bit, weight >> 1, 0) == expected)
        return m

    def _agree(self, m, left, bit, weight, total, is_negative):
        dut, bits = self.dut, self.dut.bits
        rows, borrow = probe(m, "dut.left", ROWS_BITS), probe(m, "dut.borrow", 1)
        carries = self._carries(m)
        kept, rest = Signal(len(total)), Signal(len(total))
        m.d.comb += [kept.eq(dut.product + carries), rest.eq(total - kept)]
        m.d.comb += [
            Assert(rows == left + borrow),
            Assert(probe(m, "dut.bit", 1) == bit),
            Assert(probe(m, "dut.subtracts", 1) == is_negative),
            Assert(dut.busy == ((rows != 0) | bit | (carries != 0))),
            Assert(rest[:bits] == 0),
            Assert((rest[bits:] != 0) == dut.over),
        ]
        with m.If((left != 0) | bit):
            limit = 1 << (bits + 1)
            m.d.comb += [
                Assert(
                    probe(m, "dut.addend", bits + 1)
                    == Mux(is_negative, -weight, weight)[: bits + 1]
                ),
                Assert(
                    probe(m, "dut.is_cut", 1) == Mux(is_negative, weight > limit, weight >= limit)
                ),
            ]
        with m.If(~dut.busy):
            m.d.comb += [
                Assert(dut.product == total[:bits]),
                Assert(dut.over == total[bits:].any()),
                Cover((dut.product != 0) & dut.over & is_negative),
                Cover((dut.product != 0) & ~dut.over & is_negative),
            ]

    def _carries(self, m):
        """The carries between the pieces, at their places."""
        places = range(_PIECE_BITS, self.dut.bits, _PIECE_BITS)
        if not places:
            return Const(0, 1)
        bits = probe(m, "dut.carries", len(places))
        return sum(bits[k] << place for k, place in enumerate(places))


PROOFS = (
    Proof(
        name="multiplier",
        promise="The product of rows and a number, and whether it is too large, is exact",
        components=(Multiplier,),
        design=lambda size: Multiplies(Multiplier(size[0]), size[1]),
        sizes={
            f"{bits} bits, rows of {rows} bits": (bits, rows)
            for bits, rows in ((6, 4), (12, 3), (20, 3))
        },
        slow=("6 bits, rows of 4 bits", "20 bits, rows of 3 bits"),
        # As many cycles as it takes until rows that are not those left show in ``busy``.
        depth=7,
        broken=faults(
            (12, 3),
            12,
            late("dut.carries", 0),
            stuck_at(0, "dut.is_cut"),
            inverted("dut.total1", 0),
        ),
    ),
)
