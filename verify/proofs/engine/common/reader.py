"""The reader of ranges asks only for its range, has room for all it asks for, and gives all."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.engine.common.bursts import RangeReader
from cdma.verify.formal.axi_rules import answer_reads, check_address
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import BOUNDED, PDR, Proof, faults

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
            dut.last.eq(is_final),
            dut.next.eq(dut.begun),
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
        asked_to, going = Signal(width + 1), Signal()  # past the last beat that was asked for
        m.d.comb += going.eq(client.ar.valid & client.ar.ready)
        with m.If(start):
            m.d.sync += asked_to.eq(dut.address & -size)
        with m.Elif(going):
            m.d.sync += asked_to.eq(client.ar.payload.address + (client.ar.payload.beats << 1))
        with m.If(dut.asked & ~client.ar.valid & ~stopped & ~stop):
            m.d.comb += Assert(is_final & (asked_to >= last))
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


class ReadsRanges(Elaboratable):
    """Ranges follow each other; the end moves up at any time, a stop comes at any time.

    A range begins when all of the one before is asked for. Then beats of both may wait: those of
    the second one are announced as ``is_next``, and are taken when all of the first were.
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
        # Of the range before, while its beats are taken.
        old_first, old_last, is_old = Signal(width), Signal(width), Signal()
        given = Signal(width)  # address of the next beat that is given
        running, stopped, is_final = Signal(), Signal(), Signal()
        last = Signal(width + 1)
        taken_last, is_done = Signal(width + 1), Signal()
        start = Signal()
        stop, final = anything(m, 1, "stop"), anything(m, 1, "final")
        m.d.comb += [
            last.eq((end + size - 1) & -size),
            taken_last.eq(Mux(is_old, old_last, last)),
            is_done.eq(given >= taken_last),
            start.eq(anything(m, 1, "start") & ~is_old & ~dut.begun & (~running | dut.asked)),
            dut.start.eq(start),
            dut.next.eq(dut.begun & is_old & is_done),
            dut.enable.eq(running),
            dut.address.eq(anything(m, ADDRESS_BITS, "address")),
            dut.end.eq(end),
            dut.stop.eq(running & (stop | stopped)),
            dut.final.eq(is_final),
            dut.last.eq(is_final),
            dut.o.ready.eq(anything(m, 1, "o_ready") & ~dut.is_next),
        ]
        gives = dut.o.valid & dut.o.ready
        with m.If(start):
            m.d.sync += [
                running.eq(1),
                first.eq(dut.address & -size),
                end.eq(dut.address),
                stopped.eq(0),
                is_final.eq(0),
                is_old.eq(1),
                old_first.eq(first),
                old_last.eq(Mux(running, last, 0)),
            ]
            with m.If(~running):
                m.d.sync += given.eq(0)
        with m.Elif(running):
            more = anything(m, width, "more")
            moved = Signal(width + 1)
            m.d.comb += [moved.eq(end + more), Assume(is_final | (moved <= 1 << ADDRESS_BITS))]
            m.d.sync += [stopped.eq(stopped | stop), is_final.eq(is_final | final)]
            with m.If(~is_final):
                m.d.sync += end.eq(moved)
        with m.If(dut.next):
            m.d.sync += [is_old.eq(0), given.eq(first)]
        with m.Elif(gives):
            m.d.sync += given.eq(given + size)
        # All that is asked for is in a range, and there is room for it.
        ar, past = client.ar.payload, Signal(width + 1)
        m.d.comb += past.eq(client.ar.payload.address + (client.ar.payload.beats << 1))
        is_inside = (ar.address >= first) & (past <= last)
        is_inside_old = is_old & (ar.address >= old_first) & (past <= old_last)
        with m.If(client.ar.valid):
            m.d.comb += Assert(is_inside | is_inside_old)
        with m.If(client.r.valid):
            m.d.comb += Assert(probe(m, "dut.buffer.i__ready", 1))
        with m.If(dut.o.valid):
            m.d.comb += [Assert(running), Assert(dut.is_next == (is_old & is_done))]
            with m.If(~dut.is_next):
                m.d.comb += Assert(~is_done)
        # Something moves while the memory answers and nothing stalls.
        waits, idle = Signal(), Signal(range(16))
        willing = client.ar.ready & dut.o.ready & ((beats == 0) | client.r.valid)
        m.d.comb += waits.eq(running & (is_final | is_old) & ~is_done & willing)
        m.d.sync += idle.eq(Mux(waits & ~gives, idle + 1, 0))
        m.d.comb += [
            Assert(idle < 10),
            Cover(is_old & is_done & (old_last != 0)),
            Cover(stopped & is_old & (old_last != 0)),
            Cover(is_old & ~is_done & (old_last != 0)),
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
    Proof(
        name="ranges",
        promise="A range begins when the one before is asked for, and its beats are kept apart",
        components=(RangeReader,),
        design=lambda depth: ReadsRanges(
            RangeReader(ADDRESS_BITS, DATA_BYTES, depth, 2 * DATA_BYTES)
        ),
        sizes={"bursts of 2, room for 2": 2},
        slow=("bursts of 2, room for 2",),
        mode=BOUNDED,
        depth=18,
        broken=faults(2, 26, late("dut.given_beats"), stuck_at(0, "dut.is_next")),
    ),
)
