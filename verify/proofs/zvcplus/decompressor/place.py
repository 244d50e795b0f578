"""The place of the next control, compared with a number of bits."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, signed

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import MOST_PASSED, window_bits
from cdma.hdl.zvcplus.decompressor.place import ControlPlace
from cdma.hdl.zvcplus.decompressor.rows import ROW_BITS
from cdma.hdl.zvcplus.decompressor.unit import Decompressor
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import leave_open
from cdma.verify.proofs.proof import Proof, faults

ROW = 256
#: Bits of a place, which is counted modulo the rows that an index can have.
PLACE_BITS = ROW_BITS + 8


class FollowsThePlace(Elaboratable):
    """The place is a number of bits from the start of the first row: it grows by controls and
    payloads, and shrinks by the rows that are passed. The stream's end is compared with it.

    A control has no more bits than the window, a payload no more than a raw block, and no more
    rows are passed at once than a beat says. The fetcher keeps these: the fields of a control are
    as many, ``payload_length`` is proven, and so is ``beat_placer``.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        width = window_bits(dut.config)
        inputs = ("valid", "ended", "end_row", "end_byte", "passes", "restart", "judge", "measure")
        leave_open(m, dut, *inputs, "advance", "control", "payload")
        place, behind = Signal(PLACE_BITS), Signal(PLACE_BITS)
        passed, is_known = Signal(PLACE_BITS), Signal()  # a restart or a reset gave the place
        m.d.comb += [
            Assume(dut.passes <= MOST_PASSED),
            Assume(dut.control <= width),
            Assume(dut.payload <= 4 * ROW),
            passed.eq(dut.passes * ROW),
            behind.eq(place + dut.control + dut.payload),
        ]
        m.d.sync += [
            place.eq(Mux(dut.restart, 0, Mux(dut.advance, behind, place) - passed)),
            is_known.eq(1),
        ]
        m.d.comb += [
            Assert(Cat(dut.bit, dut.row) == place),
            Assert(dut.step == ((place[:8] + dut.control + dut.payload) >> 8)),
            Cover(is_known & (place == 2 * ROW + 5)),
        ]
        self._show_rows(m, place, width)
        self._compare(m, place)
        if dut.config.has_repeats:
            self._follow_front(m, place, passed)
        return m

    def _show_rows(self, m, place, width):
        """A control is there if each row of its bits is: that of any bit."""
        dut = self.dut
        bit, at = Signal(range(width)), Signal(PLACE_BITS + 1)
        last = Signal(PLACE_BITS + 1)
        rows = Signal(1 << (ROW_BITS + 1))  # no row is behind those of the queue
        m.d.comb += [
            bit.eq(AnyConst(len(bit))),
            Assume(bit < width),
            rows.eq(dut.valid),
            at.eq(place + bit),
            last.eq(place + width - 1),
            Assert(~dut.here | rows.bit_select(at[8:], 1)),
            Assert(dut.here | ~rows.bit_select(place[8:], 1) | ~rows.bit_select(last[8:], 1)),
            Cover(dut.here & (at[8:] == dut.depth - 1) & (place[8:] != dut.depth - 1)),
        ]

    def _compare(self, m, place):
        """The bits that are left of the stream were kept, if it had ended by then."""
        dut = self.dut
        was_ended, is_judged, is_measured, is_kept = Signal(), Signal(), Signal(), Signal()
        room, kept = Signal(signed(PLACE_BITS)), Signal(signed(PLACE_BITS))
        m.d.comb += room.eq((dut.end_row * ROW + dut.end_byte * 8 - place)[:PLACE_BITS])
        with m.If(dut.judge):
            m.d.sync += [was_ended.eq(dut.ended), is_judged.eq(1)]
        with m.If(dut.measure):
            m.d.sync += [kept.eq(room), is_kept.eq(was_ended), is_measured.eq(is_judged)]
        with m.If(is_judged):
            m.d.comb += Assert(dut.judged == was_ended)
        with m.If(is_measured):
            m.d.comb += [
                Assert(dut.is_over == (is_kept & (kept < 0))),
                Assert(dut.is_cut == (is_kept & (kept < dut.control))),
                Assert((kept < 0) | (dut.left == (kept >= 8))),
                # Invariants: a control can only exceed a room that is kept.
                Assert(probe(m, "dut.is_near", 1) == (is_kept & (kept[len(dut.control) :] == 0))),
                Assert(probe(m, "dut.near", len(dut.control)) == kept[: len(dut.control)]),
                Cover(dut.is_cut & ~dut.is_over & (dut.control == 12)),
                Cover(is_kept & (kept == 7)),
            ]

    def _follow_front(self, m, place, passed):
        """The place behind the control of the step before, from the first step on."""
        dut = self.dut
        front, is_there = Signal(PLACE_BITS), Signal()
        m.d.sync += [
            front.eq(Mux(dut.advance, place + dut.control, front) - passed),
            is_there.eq(~dut.restart & (is_there | dut.advance)),
        ]
        with m.If(is_there):
            m.d.comb += [
                Assert(Cat(dut.front_bit, dut.front_row) == front),
                Cover(front[:8] == 7),
            ]


def place(config: Config) -> ControlPlace:
    """The place of a unit."""
    return ControlPlace(config, Decompressor.rows(config))


SIZES = {"fp32": Config("fp32"), "int8": Config("int8"), "fp32-left": Config("fp32", "left")}

PROOFS = (
    Proof(
        name="control_place",
        promise="A control's place is behind all controls and payloads, and compared with the end",
        components=(ControlPlace,),
        design=lambda config: FollowsThePlace(place(config)),
        sizes=SIZES,
        broken=faults(
            SIZES["fp32-left"],
            6,
            late("dut.row"),
            inverted("dut.low", 9),
            stuck_at(0, "dut.is_near"),
            late("dut.judged"),
            inverted("dut.front", 8),
        ),
    ),
)
