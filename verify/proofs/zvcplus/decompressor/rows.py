"""The ring of rows: of any slot, that its row is there until it is given back."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Signal

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import row_bits
from cdma.hdl.zvcplus.decompressor.rows import RowRing
from cdma.hdl.zvcplus.decompressor.unit import Decompressor
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import leave_open, offer
from cdma.verify.proofs.proof import Proof, faults


class KeepsRows(Elaboratable):
    """Rows go to one slot after the other. A row stays until it is given back, whatever other slots
    are given back, and rows that are not there.

    The model keeps which slots have a row and of which parity, and the number and one bit of the
    row in any slot.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        depth, beat = dut.depth, dut.i.payload
        enters = offer(m, dut.i, "i")
        leave_open(m, dut, "accept", "free", "free_parity", "drain", "parity")
        come, own = Signal(row_bits(depth)), Signal()  # rows, and parity of the packet that comes
        slot = Signal(range(depth))
        here, given, parities = Signal(depth), Signal(depth), Signal(depth)
        accepts, is_dropped, was_dropped = Signal(), Signal(), Signal()
        left = here & ~given
        m.d.comb += [
            slot.eq(come),
            is_dropped.eq(dut.drain & (own == dut.parity)),
            Assume((beat.keep & (beat.keep + 1)) == 0),
            Assert(dut.i.ready == (accepts & ~left.bit_select(slot, 1))),
            Assert(dut.row == come),
            Assert(dut.arrives == (enters & beat.last)),
            Cover(here.all()),
        ]
        pairs = [Signal(depth, name=f"pairs{parity}") for parity in range(2)]
        m.d.sync += [
            accepts.eq(dut.accept),
            come.eq(come + enters),
            own.eq(own ^ (enters & beat.last)),
            *(
                each.eq(own_rows & own_rows.rotate_right(1))
                for each, own_rows in zip(pairs, (here & ~parities, here & parities), strict=True)
            ),
        ]
        with m.If(enters):
            m.d.sync += was_dropped.eq((was_dropped | is_dropped) & ~beat.last)
        for k in range(depth):
            comes = enters & (slot == k)
            is_free = dut.free[k] & (parities[k] == dut.free_parity)
            is_drained = dut.drain & (parities[k] == dut.parity)
            m.d.sync += [
                given[k].eq(left[k] & is_free),
                here[k].eq((left[k] & ~is_drained) | (comes & ~is_dropped)),
            ]
            with m.If(comes):
                m.d.sync += parities[k].eq(own)
            with m.If(here[k]):
                m.d.comb += Assert(probe(m, "dut.parities", depth)[k] == parities[k])
        m.d.comb += [
            *(Assert(dut.pairs[parity] == each) for parity, each in enumerate(pairs)),
            # Invariants.
            Assert(probe(m, "dut.valid", depth) == here),
            Assert(probe(m, "dut.passed", depth) == given),
            Assert(probe(m, "dut.slot", depth) == 1 << slot),
            Assert(probe(m, "dut.coming", 1) == own),
            Assert(probe(m, "dut.accepts", 1) == accepts),
            Assert(probe(m, "dut.was_dropped", 1) == was_dropped),
        ]
        self._show(m, enters, slot, here)
        self._compare_end(m, come, was_dropped | is_dropped)
        return m

    def _show(self, m, enters, slot, here):
        """Any bit of any slot."""
        dut = self.dut
        number, bit = Signal(range(dut.depth)), Signal(range(dut.config.beat_bits))
        content = Signal()
        m.d.comb += [number.eq(AnyConst(len(number))), bit.eq(AnyConst(len(bit)))]
        with m.If(enters & (slot == number)):
            m.d.sync += content.eq(dut.i.payload.words.as_value().bit_select(bit, 1))
        with m.If(here.bit_select(number, 1)):
            m.d.comb += [
                Assert(dut.rows[number].bit_select(bit, 1) == content),
                Cover(content & (number == dut.depth - 1)),
            ]

    def _compare_end(self, m, come, is_dropped):
        """An end with a full row is the start of the next."""
        dut, end = self.dut, self.dut.end
        beat, size = dut.i.payload, dut.config.beat_bytes
        length, rest = popcount(m, beat.keep), Signal(8)
        for number in range(size):
            with m.If(length == number + 1):
                m.d.comb += rest.eq(beat.words.as_value().word_select(number, 8))
        with m.If(dut.arrives):
            m.d.comb += [
                Assert(end.row == (come + (length == size))[: len(come)]),
                Assert(end.byte == length[: len(end.byte)]),
                Assert(end.start == (come + 1)[: len(come)]),
                Assert(end.rest == rest),
                Assert(end.dropped == is_dropped),
                Cover(end.dropped & (end.byte == 3) & (end.row == 0)),
            ]


SIZES = {"4 rows": 4, "fp32": Decompressor.rows(Config("fp32"))}

PROOFS = (
    Proof(
        name="row_ring",
        promise="A row stays in its slot until it is given back, and a packet's end is known",
        components=(RowRing,),
        design=lambda depth: KeepsRows(RowRing(Config("fp32"), depth)),
        sizes=SIZES,
        slow=("fp32",),
        broken=faults(
            SIZES["4 rows"],
            7,
            late("dut.passed"),
            stuck_at(1, "dut.row1", 255),
            inverted("dut.coming"),
            stuck_at(0, "dut.end", 0),
        ),
    ),
)
