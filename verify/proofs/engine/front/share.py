"""Two rings share the reads of the link: each gets what it asked for."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.engine.front.reads import ReadShare
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.stream_rules import anything, hold_to_rule, offer
from cdma.verify.proofs.proof import PDR, Proof, faults

ADDRESS_BITS, LINK_BYTES = 4, 8


class GoesBack(Elaboratable):
    """Both rings ask at any time for at most the stated number of reads together.

    The memory answers in order, at any time. An answer goes to the ring whose address is the oldest
    without an answer.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        depth, link = dut.depth, dut.link
        asked = [offer(m, ring.ar, f"ring{k}") for k, ring in enumerate((dut.ring0, dut.ring1))]
        hold_to_rule(m, link.ar, "link")
        level = Signal(range(depth + 2))
        r_valid = anything(m, 1, "r_valid") & (level != 0)
        m.d.comb += [
            link.ar.ready.eq(anything(m, 1, "ar_ready") & (level != depth)),
            link.r.valid.eq(r_valid),
            link.r.payload.as_value().eq(anything(m, len(link.r.payload.as_value()), "r")),
            dut.ring0.r.ready.eq(1),
            dut.ring1.r.ready.eq(1),
            Assert(link.r.ready),
        ]
        asks = link.ar.valid & link.ar.ready
        ends = link.r.valid & link.r.payload.last
        m.d.sync += level.eq(level + asks - ends)
        m.d.comb += [
            Assert(asks == (asked[0] | asked[1])),
            Assert(~(asked[0] & asked[1])),
            Assert(dut.ring0.r.valid | dut.ring1.r.valid | ~link.r.valid),
            Assert(~(dut.ring0.r.valid & dut.ring1.r.valid)),
        ]
        for k, ring in enumerate((dut.ring0, dut.ring1)):
            with m.If(asked[k]):
                m.d.comb += Assert(link.ar.payload.address == ring.ar.payload.address)
        # A read, picked at any time.
        is_picked, ahead, owner = Signal(), Signal(range(depth + 1)), Signal()
        with m.If(anything(m, 1, "pick") & asks & ~is_picked):
            m.d.sync += [is_picked.eq(1), ahead.eq(level - ends), owner.eq(asked[1])]
        m.d.comb += Assert(~is_picked | (ahead < level))
        with m.If(is_picked & link.r.valid & (ahead == 0)):
            m.d.comb += Assert(dut.ring1.r.valid == owner)
        with m.If(is_picked & ends):
            m.d.sync += [ahead.eq(Mux(ahead == 0, 0, ahead - 1)), is_picked.eq(ahead != 0)]
        # Neither ring starves: one that asks is served within two addresses.
        for k, ring in enumerate((dut.ring0, dut.ring1)):
            waited = Signal(2, name=f"waited{k}")
            m.d.sync += waited.eq(Mux(ring.ar.valid & ~asked[k], waited + asks, 0))
            m.d.comb += Assert(waited <= 1)
        m.d.comb += Cover(is_picked & owner & ends & (ahead == 0) & (level == depth))
        return m


PROOFS = (
    Proof(
        name="read_share",
        promise="Two rings share a port: each answer goes to the ring that asked, none starves",
        components=(ReadShare,),
        design=lambda depth: GoesBack(ReadShare(ADDRESS_BITS, LINK_BYTES, depth)),
        sizes={"3 reads": 3},
        slow=("3 reads",),
        mode=PDR,
        depth=6,
        broken=faults(
            3, 12, stuck_at(0, "dut.is_held"), late("dut.level"), stuck_at(0, "dut.left", 0)
        ),
    ),
)
