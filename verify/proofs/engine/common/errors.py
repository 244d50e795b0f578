"""The error that a job reports is that of the lowest stripe, and the one of the highest rank."""

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.engine_codes import STREAM_ERRORS, Status
from cdma.hdl.engine.common.errors import ErrorCollector, ErrorSlot
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer, take
from cdma.verify.proofs.proof import Proof, faults

#: Statuses by rank within a stripe, the first is reported.
RANKS = (
    (Status.INDEX,),
    (Status.HOST_SLVERR, Status.HOST_DECERR),
    (Status.DEVICE_SLVERR, Status.DEVICE_DECERR, Status.TIMEOUT),
    (Status.CRC,),
    STREAM_ERRORS,
    (Status.OVERFLOW,),
)


class KeepsLowest(Elaboratable):
    """No report that was collected is before the one that is kept, and that one was collected: all
    of its fields are those of one report.

    A report is before another one when its job is older, or its stripe is lower in the same job.
    The oldest job stays until all is forgotten. The offset of the lowest error that halts is that
    of its report.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        taken = [offer(m, port, f"i{k}") for k, port in enumerate(dut.i)]
        clear = anything(m, 1, "clear")
        m.d.comb += dut.clear.eq(clear)
        oldest = Signal(4)
        is_fresh = Signal(init=1)
        m.d.sync += is_fresh.eq(clear)
        m.d.comb += dut.oldest.eq(oldest)
        was_oldest = Signal(4)
        m.d.sync += was_oldest.eq(oldest)
        m.d.comb += oldest.eq(Mux(is_fresh, anything(m, 4, "oldest"), was_oldest))
        found, number, rank = Signal(), Signal(36), Signal(3)
        halts, halt_number = Signal(), Signal(36)
        some, report = Signal(), Signal(dut.i[0].payload.shape())
        best, halt_offset = Signal.like(report), Signal.like(report.tag.offset)
        for port, passes in zip(dut.i, taken, strict=True):
            with m.If(passes):
                m.d.comb += [some.eq(1), report.eq(port.payload)]
        m.d.comb += Assert(sum(taken[1:], taken[0]) <= 1)
        known = Signal()
        # A report is picked, compared and taken.
        compares, takes = probe(m, "dut.compares", 1), probe(m, "dut.takes", 1)
        picked = probe(m, "dut.picked", len(taken))
        m.d.comb += [Assert(~compares | ~takes), Assert(some == takes)]
        with m.If(compares | takes):
            m.d.comb += [
                Assert((picked & (picked - 1))[: len(taken)] == 0),
                Assert((picked & Cat(port.valid for port in dut.i)).any()),
            ]
        this = Signal(3)
        for place, statuses in enumerate(RANKS):
            for status in statuses:
                with m.If(report.status == status):
                    m.d.comb += [this.eq(place), known.eq(1)]
        age, place = Signal(4), Signal(36)
        m.d.comb += [age.eq(report.tag.job - oldest), place.eq(Cat(report.tag.number, age))]
        is_lower = ~found | (place < number)
        is_same = found & (place == number) & (this < rank)
        is_lowest = report.halts & (~halts | (place < halt_number))
        with m.If(some & known):
            m.d.comb += [
                Assert(probe(m, "dut.is_best", 1) == (is_lower | is_same)),
                Assert(probe(m, "dut.is_lowest", 1) == is_lowest),
            ]
        with m.If(clear):
            m.d.sync += [found.eq(0), halts.eq(0)]
        with m.Elif(some & known):
            with m.If(is_lower | is_same):
                m.d.sync += [
                    found.eq(1),
                    number.eq(place),
                    rank.eq(this),
                    best.eq(report),
                ]
            with m.If(is_lowest):
                m.d.sync += [
                    halts.eq(1),
                    halt_number.eq(place),
                    halt_offset.eq(report.tag.offset),
                ]
        with m.If(some & ~clear):
            m.d.comb += Assume(known)
        m.d.comb += [
            Assert(dut.found == found),
            Assert(dut.halt.above == halts),
            Assert(~dut.halt.all),
            Assert(dut.halt.younger == found),
            Assert(dut.waits == Cat(port.valid for port in dut.i).any()),
            Cover(found & (rank == 3) & halts & (halt_number > number)),
        ]
        with m.If(found):
            m.d.comb += [
                Assert(dut.error.tag.number == number[:32]),
                Assert(dut.halt.age == number[32:]),
                Assert((dut.error.tag.job - oldest)[:4] == number[32:]),
                Assert(Value.cast(dut.error) == Value.cast(best)),
                Assert(probe(m, "dut.best_rank", 3) == rank),
            ]
        with m.If(halts):
            m.d.comb += [
                Assert(dut.halt.number == halt_number[:32]),
                Assert((dut.halt.job - oldest)[:4] == halt_number[32:]),
                Assert(dut.halt_offset == halt_offset),
            ]
        return m


class HoldsFirst(Elaboratable):
    """A report is held, with all of its fields, until it is collected; one that comes meanwhile is
    dropped."""

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
        waits, first = Signal(), Signal(dut.report.shape())
        with m.If(dut.valid & ~waits):
            m.d.sync += [waits.eq(1), first.eq(dut.report)]
        with m.Elif(leaves):
            m.d.sync += waits.eq(0)
        m.d.comb += [
            Assert(dut.o.valid == waits),
            Cover(waits & dut.valid & (first.tag.number == 7) & (first.where == 5)),
        ]
        with m.If(waits):
            m.d.comb += Assert(Value.cast(dut.o.payload) == Value.cast(first))
        return m


PROOFS = (
    Proof(
        name="error_collector",
        promise="The error of the oldest job's lowest stripe is reported, by rank within a stripe, "
        "with all fields of its report",
        components=(ErrorCollector,),
        design=lambda sources: KeepsLowest(ErrorCollector(sources)),
        sizes={"3 sources": 3},
        slow=("3 sources",),
        broken=faults(
            3,
            6,
            late("dut.best_rank"),
            stuck_at(0, "dut.key", 0),
            inverted("dut.error.where"),
            stuck_at(0, "dut.error.channel"),
            late("dut.error.halts"),
            inverted("dut.error.tag.offset"),
            stuck_at(0, "dut.halt_offset", 0),
        ),
    ),
    Proof(
        name="error_slot",
        promise="A report is held until it is collected, with all of its fields",
        components=(ErrorSlot,),
        design=lambda _: HoldsFirst(ErrorSlot()),
        sizes={"any": None},
        broken=faults(
            None,
            4,
            stuck_at(0, "dut.o__valid"),
            late("dut.o__payload.tag.number"),
            stuck_at(0, "dut.o__payload.where", 63),
            stuck_at(0, "dut.o__payload.channel"),
            stuck_at(1, "dut.o__payload.halts"),
            stuck_at(0, "dut.o__payload.status"),
        ),
    ),
)
