"""The queue of rows: of any row of a packet, that it is there until it is passed."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.rows import ROW_BITS, RowQueue
from cdma.hdl.zvcplus.decompressor.unit import Decompressor
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.stream_rules import leave_open, offer
from cdma.verify.proofs.proof import Proof, faults


class KeepsRows(Elaboratable):
    """Any row is at its place behind the rows in front of it until it is passed, without the bytes
    that are not kept; the place of the end moves with the rows.

    The model numbers a packet's rows and picks a number, and a bit in the row. Rows that have not
    come are passed only behind the packet's end. When rows are dropped, the end is not promised.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        beat, size = dut.i.payload, dut.config.beat_bytes
        enters = offer(m, dut.i, "i")
        leave_open(m, dut, "passes", "drain", "restart")
        number, bit = Signal(ROW_BITS), Signal(range(8 * size))
        picked = Signal()  # the bit of the picked row
        come, passed = Signal(ROW_BITS), Signal(ROW_BITS)  # rows, modulo their numbers
        level = Signal(range(dut.depth + 1))
        has_ended, has_dropped = Signal(), Signal()
        end_row, end_byte = Signal(ROW_BITS), Signal(range(size))  # of the whole stream
        is_kept = ~beat.last | beat.keep.bit_select(bit[3:], 1)
        length = popcount(m, beat.keep)
        m.d.comb += [
            number.eq(AnyConst(ROW_BITS)),
            bit.eq(AnyConst(len(bit))),
            Assume((beat.keep & (beat.keep + 1)) == 0),
            Assume(dut.passes <= 2),
            Assume(has_ended | (dut.passes <= level)),
            Assume(~dut.restart | has_ended),
        ]
        with m.If(enters):
            m.d.sync += has_dropped.eq(has_dropped | dut.drain)
            with m.If(~dut.drain):
                m.d.sync += come.eq(come + 1)
                with m.If(come == number):
                    m.d.sync += picked.eq(beat.words.as_value().bit_select(bit, 1) & is_kept)
            with m.If(beat.last):
                m.d.sync += [
                    has_ended.eq(1),
                    end_row.eq(come + (length == size)),
                    end_byte.eq(length),
                ]
        m.d.sync += passed.eq(passed + dut.passes)
        left = level + (enters & ~dut.drain)
        m.d.sync += level.eq(Mux(left < dut.passes, 0, left - dut.passes))
        with m.If(dut.restart):
            m.d.sync += [level.eq(0), come.eq(0), passed.eq(0)]
            m.d.sync += [has_ended.eq(0), has_dropped.eq(0)]
        m.d.comb += [
            Assert(level <= dut.depth),
            Assert(has_ended | ((come - passed)[:ROW_BITS] == level)),
            Assert(dut.i.ready == (((level != dut.depth) | dut.drain) & ~has_ended)),
            Assert(dut.ended == has_ended),
            Cover(level == dut.depth),
        ]
        for place, row in enumerate(dut.rows):
            m.d.comb += Assert(dut.valid[place] == (place < level))
            with m.If((place < level) & ((passed + place)[:ROW_BITS] == number)):
                m.d.comb += Assert(row.bit_select(bit, 1) == picked)
        with m.If(has_ended & ~has_dropped):
            m.d.comb += [
                Assert(dut.end_row.as_unsigned() == (end_row - passed)[:ROW_BITS]),
                Assert(dut.end_byte == end_byte),
                Cover((dut.end_row < 0) & (dut.end_byte == 3)),
                Cover((dut.end_row == 2) & (dut.end_byte == 0) & (level == 2)),
            ]
        return m


SIZES = {
    "4 rows": 4,
    **{
        config.name.removeprefix("zvcplus-"): Decompressor.rows(config)
        for config in (Config("fp32"), Config("fp32", "left"))
    },
}

PROOFS = (
    Proof(
        name="row_queue",
        promise="A row stays at its place until it is passed, and the end moves with the rows",
        components=(RowQueue,),
        design=lambda depth: KeepsRows(RowQueue(Config("fp32"), depth)),
        sizes=SIZES,
        slow=tuple(SIZES),
        broken=faults(
            SIZES["4 rows"],
            7,
            late("dut.ended"),
            stuck_at(1, "dut.row", 255),
            inverted("dut.arrived", 0),
            stuck_at(0, "dut.row2", 7),
        ),
    ),
)
