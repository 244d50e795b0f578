"""A place in the stream, compared with the end of its packet."""

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Signal

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.compare import PlaceCompare
from cdma.hdl.zvcplus.decompressor.layouts import row_bits
from cdma.hdl.zvcplus.decompressor.unit import Decompressor
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import leave_open
from cdma.verify.proofs.proof import Proof, faults


class ComparesPlaces(Elaboratable):
    """A place is a number of bits, rounded up to bytes, and so is an end. Their difference tells
    which comes first. Numbers are modulo the rows that they can have: both are less than half of
    these apart, because a stream reaches for no more rows than the ring has.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        leave_open(m, dut, "place", "end", "ended")
        place, is_known = Signal.like(dut.place), Signal()  # of the cycle before
        size = row_bits(dut.depth) + len(dut.byte)
        at, end, apart = Signal(size), Signal(size), Signal(size)  # in bytes
        used, half = place[:3], 1 << (row_bits(dut.depth) - 1)
        m.d.sync += [place.eq(dut.place), is_known.eq(1)]
        m.d.comb += [
            at.eq((place >> 3) + (used != 0)),
            end.eq(Cat(dut.end.byte, dut.end.row)),
            apart.eq(end - at),
            Assume((apart >> len(dut.byte)) != half - 1),
            Assume((apart >> len(dut.byte)) != half),
        ]
        is_over, is_left, was_known = Signal(), Signal(), Signal()
        m.d.sync += [
            is_over.eq(dut.ended & ~dut.end.dropped & apart[-1]),
            is_left.eq(
                dut.end.dropped | (apart != 0) | ((used != 0) & ((dut.end.rest >> used) != 0))
            ),
            was_known.eq(is_known),
        ]
        with m.If(is_known):
            m.d.comb += [
                Assert(Cat(dut.byte, dut.row) == at),
                Assert(Cat(probe(m, "dut.used", 3)) == used),
                Cover((dut.byte == 0) & (used == 1)),
            ]
        with m.If(was_known):
            m.d.comb += [
                Assert(dut.is_over == is_over),
                Assert(dut.is_left == is_left),
                Cover(dut.is_over),
                Cover(~dut.is_over & dut.is_left),
            ]
        return m


SIZES = {"fp32": Config("fp32"), "fp32-left": Config("fp32", "left")}

PROOFS = (
    Proof(
        name="place_compare",
        promise="A place is rounded up to bytes, and compared with the end of its packet",
        components=(PlaceCompare,),
        design=lambda config: ComparesPlaces(PlaceCompare(config, Decompressor.rows(config))),
        sizes=SIZES,
        broken=faults(
            SIZES["fp32"],
            6,
            stuck_at(0, "dut.carry"),
            late("dut.was_row"),
            inverted("dut.used", 1),
            stuck_at(0, "dut.is_over"),
        ),
    ),
)
