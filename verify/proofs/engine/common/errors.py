"""The error that a job reports is that of the lowest stripe, and the one of the highest rank."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Signal

from cdma.engine_codes import Status
from cdma.hdl.engine.common.errors import ErrorCollector, ErrorSlot
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer, take
from cdma.verify.proofs.proof import Proof, faults

#: Statuses by rank within a stripe, the first is reported.
RANKS = (
    (Status.INDEX,),
    (Status.HOST_SLVERR, Status.HOST_DECERR),
    (Status.DEVICE_SLVERR, Status.DEVICE_DECERR, Status.TIMEOUT),
    (Status.CRC,),
    (1, 2, 3),
    (Status.OVERFLOW,),
)


class KeepsLowest(Elaboratable):
    """No report that was collected is before the one that is kept, and that one was collected."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        taken = [offer(m, port, f"i{k}") for k, port in enumerate(dut.i)]
        clear = anything(m, 1, "clear")
        m.d.comb += dut.clear.eq(clear)
        found, number, rank = Signal(), Signal(32), Signal(3)
        halts, halt_number = Signal(), Signal(32)
        best = Signal(8)
        some, report = Signal(), Signal(dut.i[0].payload.shape())
        for port, passes in zip(dut.i, taken, strict=True):
            with m.If(passes):
                m.d.comb += [some.eq(1), report.eq(port.payload)]
        m.d.comb += Assert(sum(taken[1:], taken[0]) <= 1)
        known = Signal()
        this = Signal(3)
        for place, statuses in enumerate(RANKS):
            for status in statuses:
                with m.If(report.status == status):
                    m.d.comb += [this.eq(place), known.eq(1)]
        is_lower = ~found | (report.tag.number < number)
        is_same = found & (report.tag.number == number) & (this < rank)
        with m.If(clear):
            m.d.sync += [found.eq(0), halts.eq(0)]
        with m.Elif(some & known):
            with m.If(is_lower | is_same):
                m.d.sync += [
                    found.eq(1),
                    number.eq(report.tag.number),
                    rank.eq(this),
                    best.eq(report.status),
                ]
            with m.If(report.halts & (~halts | (report.tag.number < halt_number))):
                m.d.sync += [halts.eq(1), halt_number.eq(report.tag.number)]
        with m.If(some & ~clear):
            m.d.comb += Assume(known)
        m.d.comb += [
            Assert(dut.found == found),
            Assert(dut.halt.above == halts),
            Assert(~dut.halt.all),
            Cover(found & (rank == 3) & halts & (halt_number > number)),
        ]
        with m.If(found):
            m.d.comb += [
                Assert(dut.error.tag.number == number),
                Assert(dut.error.status == best),
                Assert(probe(m, "dut.best_rank", 3) == rank),
            ]
        with m.If(halts):
            m.d.comb += Assert(dut.halt.number == halt_number)
        return m


class HoldsFirst(Elaboratable):
    """A report is held until it is collected; one that comes meanwhile is dropped."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        leaves = take(m, dut.o, "o")
        m.d.comb += [
            dut.valid.eq(anything(m, 1, "valid")),
            dut.report.as_value().eq(anything(m, len(dut.report.as_value()), "report")),
        ]
        waits, number = Signal(), Signal(32)
        with m.If(dut.valid & ~waits):
            m.d.sync += [waits.eq(1), number.eq(dut.report.tag.number)]
        with m.Elif(leaves):
            m.d.sync += waits.eq(0)
        m.d.comb += [Assert(dut.o.valid == waits), Cover(waits & dut.valid & (number == 7))]
        with m.If(waits):
            m.d.comb += Assert(dut.o.payload.tag.number == number)
        return m


PROOFS = (
    Proof(
        name="error_collector",
        promise="The error of the lowest stripe is reported, and its rank decides within a stripe",
        components=(ErrorCollector,),
        design=lambda sources: KeepsLowest(ErrorCollector(sources)),
        sizes={"3 sources": 3},
        slow=("3 sources",),
        broken=faults(3, 6, late("dut.best_rank"), stuck_at(0, "dut.key", 0)),
    ),
    Proof(
        name="error_slot",
        promise="A report is held until it is collected",
        components=(ErrorSlot,),
        design=lambda _: HoldsFirst(ErrorSlot()),
        sizes={"any": None},
        broken=faults(None, 4, stuck_at(0, "dut.o__valid"), late("dut.o__payload.tag.number")),
    ),
)
