"""Counts of a ring are those of software and completions; an impossible one is ignored."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.engine.front.ring.counts import Counts
from cdma.hdl.engine.front.ring.fetch import COUNT_BITS, RINGS
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.stream_rules import anything, leave_open
from cdma.verify.proofs.proof import Proof, faults


class CountsRight(Elaboratable):
    """Software writes any count, not in the two cycles after a write. Completions come at any time,
    while fewer than the largest ring has entries are unread.

    The model compares a count with the head in the cycle of the write, and counts two cycles later.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        m.submodules.dut = elaborated(dut, platform)
        leave_open(m, dut, "ring", "is_read", "writes", "completes", "clear")
        kept = Signal(COUNT_BITS, name="kept")
        checks, follows = Signal(), Signal()
        for number in range(RINGS):
            unread = Signal(COUNT_BITS, name=f"unread{number}")
            most = 1 << COUNT_BITS - 1
            m.d.comb += [
                dut.log2[number].eq(anything(m, 4, f"log2_{number}")),
                unread.eq(dut.head[number] - dut.completion_head[number]),
                Assume(~dut.completes[number] | (unread != most)),
                Assert(unread <= most),
            ]
        m.d.comb += [
            dut.written.eq(Mux(dut.writes, anything(m, COUNT_BITS, "any_count"), kept)),
            Assume(~dut.writes | ~(checks | follows)),
        ]
        ring, is_read, is_wrong, is_all = (
            Signal(name=name) for name in ("at_ring", "of_head", "is_wrong", "is_all")
        )
        head = Mux(dut.ring, dut.head[1], dut.head[0])
        before = Mux(dut.ring, dut.completion_head[1], dut.completion_head[0])
        ahead, size = Signal(COUNT_BITS), Signal(COUNT_BITS)
        m.d.comb += [
            ahead.eq(Mux(dut.is_read, head - dut.written, dut.written - head)),
            # No count of completions goes back.
            size.eq(Mux(dut.is_read, head - before, 1 << Mux(dut.ring, dut.log2[1], dut.log2[0]))),
        ]
        m.d.sync += [
            kept.eq(dut.written),
            checks.eq(dut.writes & ~dut.clear),
            follows.eq(checks & ~dut.clear),
        ]
        with m.If(dut.writes):
            m.d.sync += [
                ring.eq(dut.ring),
                is_read.eq(dut.is_read),
                is_wrong.eq(ahead > size),
                is_all.eq(ahead == 0),
            ]
        m.d.comb += Assert(dut.doorbell == ((checks | follows) & ~is_read))
        with m.If(dut.doorbell):
            m.d.comb += Assert(dut.doorbell_ring == ring)
        for number in range(RINGS):
            is_here = follows & (ring == number)
            m.d.comb += [
                Assert(dut.is_error[number] == (is_here & is_wrong)),
                Assert(dut.has_read[number] == (is_here & is_read & ~is_wrong & ~is_all)),
            ]
            tail, completion_head = dut.tail[number], dut.completion_head[number]
            is_taken = is_here & ~is_wrong
            for port, after in (
                (tail, Mux(is_taken & ~is_read, kept, tail)),
                (completion_head, Mux(is_taken & is_read, kept, completion_head)),
                (dut.head[number], dut.head[number] + dut.completes[number]),
            ):
                expected = Signal(COUNT_BITS, name=f"{port.name}_expected")
                m.d.sync += expected.eq(Mux(dut.clear, 0, after))
                m.d.comb += Assert(port == expected)
        m.d.comb += [
            Cover(dut.is_error[1] & (ahead > 9)),
            Cover(dut.has_read[0] & (dut.head[0] == 3)),
            Cover(dut.is_error[0] & is_read & (dut.head[0] == 3) & (kept == 1)),
            Cover((dut.tail[1] == 0x8000) & (dut.head[0] == 2)),
        ]
        return m


PROOFS = (
    Proof(
        name="counts",
        promise="A count of software counts unless it is further ahead than the ring has entries, "
        "of completions than there are, or goes back",
        components=(Counts,),
        design=lambda _: CountsRight(Counts()),
        sizes={"16 bits": 16},
        depth=3,
        broken=faults(
            16,
            8,
            stuck_at(0, "dut.is_wrong"),
            stuck_at(0, "dut.is_all"),
            late("dut.follows"),
            stuck_at(0, "dut.rest_gives1"),
            stuck_at(0, "dut.differs"),
            stuck_at(0, "dut.back_gives0"),
        ),
    ),
)
