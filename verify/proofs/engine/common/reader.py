"""The reader of ranges asks only for its range, has room for all it asks for, and gives all."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.engine.common.bursts import RangeReader
from cdma.verify.formal.axi_rules import answer_reads, check_address
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import PDR, Proof, faults

ADDRESS_BITS, DATA_BYTES = 4, 2
SIZES = {"burst_bytes": 2 * DATA_BYTES, "page_bytes": 2 * DATA_BYTES}


class ReadsRange(Elaboratable):
    """Ranges follow each other; the end moves up at any time, a stop comes at any time.

    A range begins when the one before has ended: all of its beats were given.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        client, size = dut.client, DATA_BYTES
        width = ADDRESS_BITS + 1
        beats = answer_reads(m, client.ar, client.r, "r", most_beats=dut.depth)
        check_address(m, client.ar, size, None, "ar", **SIZES)
        first, end = Signal(width), Signal(width)  # of the range, whole beats; the end is exact
        given = Signal(width)  # address of the next beat that is given
        running, stopped, is_final = Signal(), Signal(), Signal()
        last = (end + size - 1) & -size
        is_done = given >= last
        start = Signal()
        stop, final = anything(m, 1, "stop"), anything(m, 1, "final")
        m.d.comb += [
            start.eq(anything(m, 1, "start") & (~running | (is_done & is_final)) & dut.idle),
            dut.start.eq(start),
            dut.enable.eq(running),
            dut.address.eq(anything(m, ADDRESS_BITS, "address")),
            dut.end.eq(end),
            dut.stop.eq(running & (stop | stopped)),
            dut.final.eq(is_final),
            dut.o.ready.eq(anything(m, 1, "o_ready")),
        ]
        gives = dut.o.valid & dut.o.ready
        with m.If(start):
            m.d.sync += [
                running.eq(1),
                first.eq(dut.address & -size),
                given.eq(dut.address & -size),
                end.eq(dut.address),
                stopped.eq(0),
                is_final.eq(0),
            ]
        with m.Elif(running):
            more = anything(m, width, "more")
            moved = Signal(width + 1)
            m.d.comb += [moved.eq(end + more), Assume(is_final | (moved <= 1 << ADDRESS_BITS))]
            m.d.sync += [
                stopped.eq(stopped | stop),
                is_final.eq(is_final | final),
                given.eq(given + Mux(gives, size, 0)),
            ]
            with m.If(~is_final):
                m.d.sync += end.eq(moved)
        # All that is asked for is in the range, and there is room for it.
        ar = client.ar.payload
        with m.If(client.ar.valid):
            m.d.comb += [
                Assert(ar.address >= first),
                Assert(ar.address + (ar.beats << 1) <= last),
            ]
        with m.If(client.r.valid):
            m.d.comb += Assert(probe(m, "dut.buffer.i__ready", 1))
        with m.If(dut.o.valid):
            m.d.comb += Assert(running & ~is_done)
        # Something moves while the memory answers and nothing stalls.
        waits, idle = Signal(), Signal(range(16))
        willing = client.ar.ready & dut.o.ready & ((beats == 0) | client.r.valid)
        m.d.comb += waits.eq(running & is_final & ~is_done & willing)
        m.d.sync += idle.eq(Mux(waits & ~gives, idle + 1, 0))
        m.d.comb += [
            Assert(idle < 10),
            Cover(running & is_done & is_final & (end - first > 9) & ~stopped),
            Cover(stopped & is_done & is_final & (end - first > 9)),
        ]
        return m


PROOFS = (
    Proof(
        name="range_reader",
        promise="A reader of ranges asks for no byte outside, has room for all, and gives all",
        components=(RangeReader,),
        design=lambda depth: ReadsRange(
            RangeReader(ADDRESS_BITS, DATA_BYTES, depth, 2 * DATA_BYTES)
        ),
        sizes={"bursts of 2, room for 2": 2},
        slow=("bursts of 2, room for 2",),
        mode=PDR,
        depth=6,
        broken=faults(
            2,
            14,
            stuck_at(0, "dut.reach", 0),
            stuck_at(0, "dut.owed", 1),
            late("dut.place"),
        ),
    ),
)
