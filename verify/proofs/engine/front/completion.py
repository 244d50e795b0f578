"""Completions arrive in order, once, the beat with the phase after the answer to the rest."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.engine.front.completion import CompletionWriter
from cdma.verify.formal.axi_rules import Writes
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer
from cdma.verify.proofs.proof import BOUNDED, Proof, faults

ADDRESS_BITS = 7


class ArrivesWhole(Elaboratable):
    """Completions come at any time, the memory answers at any time, also with errors.

    A completion, picked at any time, is reported once, with the address and the ring of its own,
    and after the answers to all of its beats. The beat with the phase is offered when the rest was
    answered. Nothing is reported that was not taken.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        enters = offer(m, dut.i, "i")
        link, slots = dut.link, dut.slots
        writes = Writes(m, link.aw, link.w, link.b, dut.link_bytes, most=2 * slots, depth=2, gap=2)
        level = Signal(range(slots + 2))
        m.d.sync += level.eq(level + enters - dut.written)
        m.d.comb += [
            Assert(link.b.ready),
            Assert(level <= slots),
            Assert(~dut.written | (level != 0)),
        ]
        # The picked completion.
        is_inside, ahead = Signal(), Signal(range(slots + 1))
        address, ring = Signal(ADDRESS_BITS), Signal()
        with m.If(enters & ~is_inside & anything(m, 1, "pick")):
            m.d.sync += [
                is_inside.eq(1),
                ahead.eq(level - dut.written),
                address.eq(dut.i.payload.address),
                ring.eq(dut.i.payload.ring),
            ]
        with m.If(is_inside & dut.written):
            m.d.sync += [ahead.eq(Mux(ahead == 0, 0, ahead - 1)), is_inside.eq(ahead != 0)]
            with m.If(ahead == 0):
                m.d.comb += [Assert(dut.address == address), Assert(dut.ring == ring)]
                m.d.comb += Cover(ring & (level == slots))
        m.d.comb += Assert(~is_inside | (ahead < level))
        if dut.is_split:
            self._late(m, writes, enters)
        return m

    def _late(self, m, writes, enters):
        """First parts and second parts are answered alternately for each completion."""
        slots = self.dut.slots
        # Second parts that were offered never exceed the first parts that were answered.
        is_late = probe(m, "dut.is_late", 1)
        kinds = probe(m, "dut.kinds", slots)
        ripe, late_ = Signal(range(2 * slots)), Signal(range(2 * slots))
        answered = probe(m, "dut.answered", 1)  # a cycle later
        m.d.sync += ripe.eq(ripe + (answered & ~kinds[0]))
        begins = writes.offers & is_late
        m.d.sync += late_.eq(late_ + begins)
        difference = Signal(range(2 * slots))
        m.d.comb += difference.eq(ripe - late_)
        with m.If(begins):
            m.d.comb += [Assert(difference != 0), Assert(difference <= slots)]
        m.d.comb += Cover(begins & (difference == 2))


PROOFS = (
    Proof(
        name="completion_writer",
        promise="Each completion arrives once, in order; its phase after the rest was answered",
        components=(CompletionWriter,),
        design=lambda size: ArrivesWhole(CompletionWriter(ADDRESS_BITS, *size)),
        sizes={"32 bytes, 2 slots": (32, 2), "16 bytes, 2 slots": (16, 2)},
        slow=("16 bytes, 2 slots",),
        mode=BOUNDED,
        depth=14,
        broken=faults(
            (16, 2), 14, late("dut.taken"), late("dut.ripe"), stuck_at(1, "dut.has_late")
        ),
    ),
)
