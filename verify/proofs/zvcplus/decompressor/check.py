"""The first error of a packet's stream, and the bytes in front of it."""

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.counter import PART_BITS
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.check import ROW_STEP_BITS, StreamCheck
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, leave_open
from cdma.verify.proofs.proof import Proof, faults
from cdma.zvcplus import ErrorCode

BYTE_BITS = 5  # of a place in a row
BIT_BITS = 8


class FindsTheFirstError(Elaboratable):
    """The end has the first error in the order of the stream, and the bytes up to the last place
    that was right.

    The model counts bits from the packet's start, and rounds them up to bytes. Its second step is
    the first that tells of something: the control of the first. Places do not go back.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        has_repeats = dut.config.has_repeats
        names = ["step", "is_end", "is_over", "is_cut", "is_reserved", "is_past", "is_long"]
        names += ["is_trailing", "bit", "rows", *(["is_many"] if has_repeats else [])]
        leave_open(m, dut, *names)
        number = Signal(2)  # of the step in its packet: first, second, later
        place = Signal(COUNT_BITS + 3)  # of the step, in bits
        was, was_rows = Signal(BIT_BITS), Signal(ROW_STEP_BITS)  # of the step before
        row = Signal(COUNT_BITS - BYTE_BITS)  # of the step before
        m.d.comb += [
            dut.is_first.eq(number == 0),
            dut.is_second.eq(number == 1),
            Assume(dut.rows < 7),
            place.eq(Cat(dut.bit, (row + was_rows)[: len(row)])),
            Assume((number == 0) | (was_rows != 0) | (dut.bit >= was)),
        ]
        was_cut = Signal()
        with m.If(dut.step):
            m.d.sync += [
                number.eq(Mux(dut.is_end & (number != 0), 0, Mux(number == 2, 2, number + 1))),
                was_cut.eq(dut.is_cut),
                was.eq(dut.bit),
                was_rows.eq(dut.rows),
                row.eq(Mux(number == 0, 0, row + was_rows)),
            ]
        with m.If(dut.step & (number == 0)):
            m.d.comb += Assume(dut.bit == 0)

        # What a step finds, in the order of the stream; the number of repeated words a cycle later.
        found, judged = Signal(ErrorCode), Signal()
        is_second, is_trailing, found_place = Signal(), Signal(), Signal.like(place)
        m.d.sync += [
            judged.eq(dut.step & (number != 0)),
            is_second.eq(number == 1),
            is_trailing.eq(dut.is_end & dut.is_trailing),
            found_place.eq(place),
            found.eq(ErrorCode.NONE),
        ]
        is_many = dut.is_many if has_repeats else 0
        with m.If(was_cut):
            m.d.sync += found.eq(ErrorCode.TRUNCATED)
        with m.Elif(dut.is_reserved):
            m.d.sync += found.eq(ErrorCode.RESERVED)
        with m.Elif(dut.is_past):
            m.d.sync += found.eq(ErrorCode.MASK_PAST_END)
        with m.Elif(is_many):
            m.d.sync += found.eq(ErrorCode.COUNT)
        with m.Elif(dut.is_long):
            m.d.sync += found.eq(ErrorCode.TOO_LONG)
        with m.Elif(dut.is_over):
            m.d.sync += found.eq(ErrorCode.TRUNCATED)
        is_miscounted = Signal()
        if has_repeats:
            m.d.comb += [is_miscounted.eq(anything(m, 1, "miscounted"))]
            m.d.comb += dut.is_miscounted.eq(is_miscounted)

        error, right = Signal(ErrorCode), Signal(COUNT_BITS)
        has_told, is_settled = Signal(), Signal()
        is_right = Signal()  # up to here
        m.d.comb += is_right.eq(is_second | (error == ErrorCode.NONE))
        m.d.sync += is_settled.eq(~judged)
        with m.If(judged):
            m.d.sync += has_told.eq(1)
            with m.If(is_second):
                m.d.sync += [error.eq(ErrorCode.NONE), right.eq(0)]
            with m.If(is_right):
                with m.If(found != ErrorCode.NONE):
                    m.d.sync += error.eq(found)
                with m.Elif(is_miscounted):
                    m.d.sync += error.eq(ErrorCode.COUNT)
                with m.Else():
                    m.d.sync += right.eq((found_place + 7)[3:])
                    with m.If(is_trailing):
                        m.d.sync += error.eq(ErrorCode.TRAILING)
        with m.If(has_told):
            m.d.comb += [
                Assert(dut.end.error == error),
                Cover((error == ErrorCode.TOO_LONG) & (right[:BYTE_BITS] == 3)),
                Cover((error == ErrorCode.TRAILING) & (right == 32)),
            ]
            with m.If(is_settled):
                m.d.comb += Assert(dut.end.bytes == right)
        # The rows that were right follow from the place of the last step.
        with m.If(number != 0):
            m.d.comb += [
                Assert(probe(m, "dut.rows", ROW_STEP_BITS) == was_rows),
                Assert(probe(m, "dut.was_cut", 1) == was_cut),
            ]
        # What is told first is the second step of a packet.
        m.d.comb += [
            Assert(was_rows < 7),
            Assert(number != 3),
            Assert((number != 1) | (Cat(was, row) == 0)),
            Assert(has_told | ~judged | is_second),
            Assert(has_told | judged | (number != 2)),
        ]
        with m.If(judged & (number != 0)):
            m.d.comb += Assert(found_place == Cat(was, row))
        with m.If((number == 2) & ~judged & (error == ErrorCode.NONE)):
            m.d.comb += [
                Assert(right == (Cat(was, row) + 7)[3 : 3 + COUNT_BITS]),
                Assert(probe(m, "dut.was_carried", 1) == (was > 248)),
                Assert(has_told),
            ]
        self._invariants(m, dut, right, has_told)
        return m

    def _invariants(self, m, dut, right, has_told):
        """Whole rows are counted a cycle behind the bytes of a row."""
        size = COUNT_BITS - BYTE_BITS
        is_counted, counted = Signal(), Signal(size)
        m.d.sync += [is_counted.eq(has_told), counted.eq(right[BYTE_BITS:])]
        m.d.comb += Assert(has_told | ~is_counted)
        with m.If(has_told):
            m.d.comb += Assert(dut.end.bytes[:BYTE_BITS] == right[:BYTE_BITS])
        with m.If(is_counted):
            m.d.comb += Assert(probe(m, "dut.whole.value", size) == counted)
            for start in range(ROW_STEP_BITS, size - PART_BITS, PART_BITS):
                part = counted[start : start + PART_BITS]
                m.d.comb += Assert(probe(m, f"dut.whole.is_full{start}", 1) == part.all())


SIZES = {"fp32": Config("fp32"), "bf16-left": Config("bf16", "left")}

PROOFS = (
    Proof(
        name="stream_check",
        promise="A packet's end has its first error, and the bytes up to the last right place",
        components=(StreamCheck,),
        design=lambda config: FindsTheFirstError(StreamCheck(config)),
        sizes=SIZES,
        depth=4,
        broken=faults(
            SIZES["bf16-left"],
            10,
            late("dut.rounded"),
            stuck_at(0, "dut.was_carried"),
            inverted("dut.later"),
        ),
    ),
)
