"""Rows of the stream: any place of a row gets the bits that land there."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.compressor.assembler import BitAssembler, land
from cdma.hdl.zvcplus.compressor.records import Place
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, leave_open
from cdma.verify.proofs.proof import Proof, faults


class FillsRows(Elaboratable):
    """Rows leave in order, each with the bits that land in it; the last with its packet's numbers.

    The model has one place of the row that is being filled and of the two behind.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        item = Signal(Place(dut.config), name="item")
        m.d.comb += [
            item.as_value().eq(anything(m, item.shape().size, "any_item")),
            *land(dut.landing, item),
            Assume(item.rows <= 2),
            Assume(item.control_row <= 2),
            # A row can only wait to be its packet's last while that goes on.
            Assume(~item.is_open | ~item.last),
        ]
        leave_open(m, dut, "valid", "words")
        m.d.comb += dut.o.ready.eq(anything(m, 1, "ready"))
        place = Signal(8)
        m.d.comb += place.eq(AnyConst(8))
        self._follow(m, item, self._landed(m, item, place), place)
        return m

    def _landed(self, m, item, place):
        """Bits of an item at the place: in the row of its start, and in the two behind."""
        dut, config = self.dut, self.dut.config
        control, payload = anything(m, 256, "any_control"), anything(m, 256, "any_payload")
        here, sent = Signal(name="control_here"), Signal(name="payload_here")
        distance, control_row, payload_row = Signal(8), Signal(2), Signal(2)
        m.d.comb += [
            dut.control.eq(control),
            dut.payload.eq(payload),
            here.eq(control.bit_select(place, 1)),
            sent.eq(payload.bit_select(place, 1)),
            # A control has no bits beyond its length.
            distance.eq(place - item.at),
            Assume(~here | (distance < config.front_bits)),
            control_row.eq(item.control_row + (place < item.at)),
            payload_row.eq(item.start_row + (place < item.start)),
            # Bits lie in the rows that an item fills, or in the one behind, if that is begun.
            Assume(~here | (control_row + item.is_open <= item.rows)),
            Assume(~sent | (payload_row + item.is_open <= item.rows)),
        ]
        return [(here & (control_row == row)) | (sent & (payload_row == row)) for row in range(3)]

    def _follow(self, m, item, landed, place):
        """Compare with rows of one place each."""
        dut, row = self.dut, self.dut.o.payload
        bits, full = Signal(2), Signal()  # the first row is full
        is_open, is_last = Signal(), Signal()  # it may be the last; it is
        kept, words = Signal(len(item.bytes)), Signal(COUNT_BITS)
        takes, leaves = Signal(), Signal()
        filled, following = Signal(2), Signal(3)
        fits = ~(full & item.rows[1])
        m.d.comb += [
            Assert(dut.ready == (dut.o.ready & (fits | ~dut.valid))),
            takes.eq(dut.valid & fits),
            filled.eq(full + Mux(takes, item.rows, 0)),
        ]
        for number in range(3):
            before = bits[number] if number < 2 else 0
            added = Mux(full, landed[number - 1] if number else 0, landed[number])
            m.d.comb += following[number].eq(before | (takes & added))
        waits = Mux(takes, item.is_open, is_open)
        ends = takes & item.last
        m.d.comb += [
            leaves.eq((filled == 2) | ((filled == 1) & ~waits)),
            Assert(dut.o.valid == leaves),
            # An item without a row can only end its packet, or wait, with a row that waits.
            Assume(~ends | (item.rows != 0) | (full & is_open)),
            Assume(~(takes & item.is_open) | (item.rows != 0) | ~full | is_open),
        ]
        with m.If(leaves):
            m.d.comb += [
                Assert(row.bits.bit_select(place, 1) == following[0]),
                Assert(row.last == (is_last | (ends & (filled == 1)))),
                Cover(row.last & is_last & following[0]),
                Cover((filled == 2) & following[1]),
            ]
            with m.If(row.last):
                m.d.comb += [
                    Assert(row.bytes == Mux(is_last, kept, item.bytes)),
                    Assert(row.words == Mux(is_last, words, dut.words)),
                ]
        with m.If(dut.o.ready):
            m.d.sync += [
                bits.eq(Mux(leaves, following[1:], following[:2])),
                full.eq((filled == 2) | ((filled == 1) & waits)),
                is_open.eq(waits),
                is_last.eq(ends & (filled == 2)),
                kept.eq(item.bytes),
                words.eq(dut.words),
            ]
        self._relate(m, place, bits, full, is_open, is_last, kept, words)

    def _relate(self, m, place, bits, full, is_open, is_last, kept, words):
        """The registers are those of the model."""
        for number in range(2):
            held = probe(m, f"dut.held{number}", 256)
            m.d.comb += Assert(held.bit_select(place, 1) == bits[number])
        m.d.comb += [
            Assert(probe(m, "dut.has_full", 1) == full),
            Assert(probe(m, "dut.is_open", 1) == is_open),
            Assert(probe(m, "dut.has_last", 1) == is_last),
            # Bits behind the first row are behind a full one, which does not wait.
            Assert(~bits[1] | (full & ~is_open)),
            Assert(~is_last | (full & ~is_open)),
        ]
        with m.If(is_last):
            m.d.comb += [
                Assert(probe(m, "dut.kept", len(kept)) == kept),
                Assert(probe(m, "dut.words$", len(words)) == words),
            ]


SIZES = {
    "fp32": Config("fp32"),
    "int8": Config("int8"),
    "bf16-left": Config("bf16", "left"),
}

PROOFS = (
    Proof(
        name="bit_assembler",
        promise="Rows leave in order, and each has the bits of all items that land in it",
        components=(BitAssembler,),
        design=lambda config: FillsRows(BitAssembler(config)),
        sizes=SIZES,
        broken=faults(
            SIZES["fp32"],
            8,
            late("dut.has_full"),
            stuck_at(0, "dut.is_open"),
            inverted("dut.wraps0"),
        ),
    ),
)
