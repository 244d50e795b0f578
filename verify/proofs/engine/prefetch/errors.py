"""Of all errors of a prefetch, the one of the first stripe and of the highest rank is reported."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.hdl.engine.prefetch.errors import Source, StripeErrors
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer
from cdma.verify.proofs.engine.common.errors import RANKS
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults

_STATES = ("WAIT", "CHOOSE", "COMPARE", "KEEP", "TAKE", "ADD", "SUM")
_PARTS = 5  # of the sum


class KeepsFirst(Elaboratable):
    """Reports of stripes in work come at any time from all sources; slots are given at any time.

    A stripe that is reported is less than half of all slots behind the next slot. The one that is
    kept may be any number of slots behind, unless it halts: then its job gives no further stripe.
    All is forgotten while nothing waits.

    The model says how many slots behind the next one the stripes of its reports are, but for more
    than half of all slots. A report counts before it is taken, and once.
    """

    def __init__(self, sources):
        self.dut = StripeErrors(small(), sources)

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        m.submodules.dut = elaborated(dut, platform)
        self.half = 1 << (len(dut.slot) - 1)
        self._environment(m)
        self._count(m)
        self._reported(m)
        self._halts(m)
        return m

    def _environment(self, m):
        """Reports, the next slot, and the place of the slot that is looked at."""
        dut = self.dut
        slot, push = Signal.like(dut.slot), anything(m, 1, "push")
        self.slot, self.push = slot, push
        look, place, was_still = Signal.like(dut.look), Signal(dut.place.shape()), Signal()
        free = anything(m, len(Value.cast(place)), "any_place")
        m.d.comb += [
            dut.slot.eq(slot),
            dut.oldest.eq(anything(m, len(dut.oldest), "oldest")),
            dut.clear.eq(anything(m, 1, "clear")),
            Assume(~dut.clear | ~dut.waits),
            # The place is that of a slot from the cycle on after one that looks at it.
            Value.cast(dut.place).eq(Mux(was_still, Value.cast(place), free)),
        ]
        m.d.sync += [
            slot.eq(Mux(dut.clear, 0, slot + push)),
            look.eq(dut.look),
            was_still.eq(look == dut.look),
            Value.cast(place).eq(Value.cast(dut.place)),
        ]
        self.looked = look
        self.passes = [offer(m, port, f"i{k}") for k, port in enumerate(dut.i)]
        for k, port in enumerate(dut.i):
            ahead, known = Signal.like(slot, name=f"ahead{k}"), Signal(name=f"known{k}")
            status = port.payload.status
            m.d.comb += [
                ahead.eq(slot - port.payload.tag.slot),
                known.eq(sum(status == value for values in RANKS for value in values) != 0),
                Assume(~port.valid | ((ahead != 0) & (ahead < self.half) & known)),
            ]

    def _count(self, m):
        """The report that is looked at: it counts once, and then it is taken."""
        dut = self.dut
        state, wait = probe(m, "dut.fsm_state", 3), probe(m, "dut.wait", 3)
        number = probe(m, "dut.number", max((len(dut.i) - 1).bit_length(), 1))
        at = {name: state == value for value, name in enumerate(_STATES)}
        self.report = report = Signal(dut.i[0].payload.shape(), name="report")
        self.number, self.rank = number, Signal(3, name="rank")
        self.keeps, valid, passes = at["KEEP"], Signal(), Signal()
        for k, port in enumerate(dut.i):
            with m.If(number == k):
                m.d.comb += [
                    report.eq(port.payload),
                    valid.eq(port.valid),
                    passes.eq(self.passes[k]),
                ]
        for rank, statuses in enumerate(RANKS):
            for status in statuses:
                with m.If(report.status == status):
                    m.d.comb += self.rank.eq(rank)
        self.behind = Signal.like(dut.slot, name="behind")
        chosen = probe(m, "dut.report", len(report.as_value()))
        was_kept, was, age = Signal(), Signal.like(number), Signal(4, name="age")
        first, is_set = Signal.like(number), Signal()  # source of the lowest number, a cycle ago
        m.d.sync += [
            was_kept.eq(at["KEEP"] | (was_kept & ~passes)),
            age.eq(Mux(dut.waits & ~passes, age + 1, 0)),
        ]
        for k, port in reversed(list(enumerate(dut.i))):
            with m.If(port.valid):
                m.d.sync += first.eq(k)
        with m.If(at["KEEP"]):
            m.d.sync += was.eq(number)
        m.d.sync += is_set.eq(at["WAIT"])
        m.d.comb += [
            self.behind.eq(self.slot - report.tag.slot),
            Assert(dut.waits == (sum(port.valid for port in dut.i) != 0)),
            Assert(sum(self.passes) == passes),
            Assert(passes == at["TAKE"]),
            Assert(~passes | (was_kept & (was == number))),
            Assert(~at["KEEP"] | ~was_kept),
            Assert(~(at["CHOOSE"] & is_set) | (number == first)),
            Assert(at["WAIT"] | at["CHOOSE"] | (chosen == report.as_value())),
            Assert(~at["KEEP"] | ((self.looked == report.tag.slot) & (dut.look == self.looked))),
            # A report is taken in eleven cycles.
            Assert(age < 11),
            Assert(state < len(_STATES)),
            Assert(at["WAIT"] | (valid & (number < len(dut.i)))),
            Assert(was_kept == (at["TAKE"] | at["ADD"] | at["SUM"])),
            Assert(~was_kept | (was == number)),
            Assert(~at["WAIT"] | (age == 0)),
            Assert(~at["CHOOSE"] | ((age == 1) & is_set)),
            Assert(~at["COMPARE"] | (age == 2)),
            Assert(~at["KEEP"] | (age == 3)),
            Assert(~at["ADD"] | (age == 4)),
            Assert(~at["SUM"] | ((wait < _PARTS) & (age == 4 + _PARTS - wait))),
            Assert(~at["TAKE"] | (age == 4) | (age == 5 + _PARTS)),
            Cover(passes & (age == 4)),
        ]
        rank = probe(m, "dut.rank", 3)
        with m.If(at["KEEP"]):
            m.d.comb += Assert(rank == self.rank)
        self.at, self.wait = at, wait

    def _aged(self, behind):
        """A number of slots behind, a cycle later: up to half of all."""
        return Mux(behind == self.half, behind, behind + self.push)

    def _constant(self, name):
        """What is constant of the source whose report is looked at."""
        values = [getattr(source, name) for source in self.dut.sources]
        result = values[0]
        for k, value in list(enumerate(values))[1:]:
            result = Mux(self.number == k, value, result)
        return result

    def _reported(self, m):
        """The report that is kept: that of the first stripe, in this the one of highest rank."""
        dut, report, error, at = self.dut, self.report, self.dut.error, self.at
        found, best = Signal(name="has_error"), Signal.like(dut.slot, name="best_behind")
        rank, kept = Signal(3, name="kept_rank"), Signal(error.shape(), name="kept")
        wins = Signal(name="is_first")
        is_same = (self.behind == best) & (self.rank < rank)
        m.d.comb += wins.eq(self.keeps & (~found | (self.behind > best) | is_same))
        offset = Mux(self._constant("at_offset"), dut.place.offset, 0)
        m.d.sync += best.eq(self._aged(best))
        with m.If(wins):
            m.d.sync += [
                found.eq(1),
                best.eq(self.behind + self.push),
                rank.eq(self.rank),
                kept.tag.job.eq(report.tag.job),
                kept.tag.number.eq(dut.place.number),
                kept.tag.offset.eq(dut.place.offset),
                kept.status.eq(report.status),
                kept.channel.eq(self._constant("channel")),
                kept.where.eq((report.where + offset)[: len(report.where)]),
            ]
        with m.If(dut.clear):
            m.d.sync += found.eq(0)
        m.d.comb += [
            Assert(dut.found == found),
            Cover(wins & found & (self.behind == best)),
            Cover(wins & found & (self.behind > best) & (self.number == 1)),
            Cover(self.keeps & ~wins & (best == self.half)),
        ]
        self._sum(m, found, kept)
        number, is_old = probe(m, "dut.best", len(best)), probe(m, "dut.is_old", 1)
        with m.If(found):
            m.d.comb += [
                Assert(error.tag.as_value() == kept.tag.as_value()),
                Assert(error.status == kept.status),
                Assert(error.channel == kept.channel),
                Assert(probe(m, "dut.best_rank", 3) == rank),
                Assert(best <= self.half),
                Assert((best == self.half) | ((self.slot - number)[: len(best)] == best)),
                Assert((best == self.half) | ~is_old),
                Assert((best != self.half) | is_old | ((self.slot - number)[: len(best)] == best)),
            ]
        earlier, same = probe(m, "dut.is_first", 1), probe(m, "dut.is_same", 1)
        with m.If(at["KEEP"] & found & ~is_old):
            m.d.comb += [
                Assert(earlier == (self.behind > best)),
                Assert(same == (self.behind == best)),
            ]
        self.found, self.best = found, best

    def _sum(self, m, found, kept):
        """Where it was: known when nothing waits, the carries of the sum have passed."""
        dut, at = self.dut, self.at
        value = probe(m, "dut.where", len(self.report.where))
        bits = -(-len(value) // _PARTS)
        places = range(bits, len(value), bits)
        carries = probe(m, "dut.where_carries", len(places))
        total, left = (Signal(len(value), name=name) for name in ("total", "left_to_add"))
        m.d.comb += [
            left.eq(Mux(at["ADD"], self.report.where, 0)),
            total.eq(value + left + sum(carries[k] << low for k, low in enumerate(places))),
        ]
        with m.If(found):
            m.d.comb += [
                Assert(total == kept.where),
                Assert(dut.waits | (dut.error.where == kept.where)),
                Assert(at["SUM"] | at["TAKE"] | (carries == 0)),
                Assert(~at["TAKE"] | (carries == 0)),
                *(
                    Assert(~(at["SUM"] & carries[k]) | (_PARTS - 1 - self.wait <= k))
                    for k in range(len(places))
                ),
            ]

    def _halts(self, m):
        """The first stripe with an error that halts, and the age of the job that has failed."""
        dut, report, halt = self.dut, self.report, self.dut.halt
        above, behind = Signal(name="has_halt"), Signal.like(dut.slot, name="halt_behind")
        job, stops = Signal.like(halt.job, name="halt_job"), Signal(name="stops")
        is_first = self.behind > behind
        m.d.comb += [
            stops.eq(self.keeps & self._constant("halts") & (~above | is_first)),
            Assume(~above | (behind < self.half)),
        ]
        m.d.sync += behind.eq(self._aged(behind))
        with m.If(stops):
            m.d.sync += [above.eq(1), behind.eq(self.behind + self.push), job.eq(report.tag.job)]
        with m.If(dut.clear):
            m.d.sync += above.eq(0)
        m.d.comb += [
            Assert(halt.above == above),
            Cover(above & self.found & (self.best > behind)),
            Cover(stops & above),
        ]
        with m.If(above):
            m.d.comb += [
                Assert(halt.job == job),
                Assert(halt.slot == (self.slot - behind)[: len(halt.slot)]),
                Assert(~self.keeps | (probe(m, "dut.is_first_halt", 1) == is_first)),
            ]
        age, oldest, found = Signal.like(halt.age), Signal.like(dut.oldest), Signal()
        m.d.sync += [
            age.eq(dut.error.tag.job - dut.oldest),
            oldest.eq(dut.oldest),
            found.eq(dut.found),
        ]
        m.d.comb += [
            Assert(halt.all == 0),
            Assert(halt.younger == found),
            Assert(halt.oldest == oldest),
            Assert(halt.age == age),
        ]


_SOURCES = (Source(), Source(halts=True), Source(5, at_offset=True))

PROOFS = (
    Proof(
        name="stripe_errors",
        promise="The error of the first stripe is reported, of this the one of highest rank; what "
        "is behind the first that halts is halted",
        components=(StripeErrors,),
        design=KeepsFirst,
        sizes={
            "3 sources": _SOURCES,
            "5 sources": (*_SOURCES, Source(3, at_offset=True), Source(3, halts=True)),
        },
        slow=("3 sources", "5 sources"),
        broken=faults(
            _SOURCES,
            24,
            late("dut.is_first"),
            stuck_at(0, "dut.is_same"),
            stuck_at(0, "dut.adds"),
            late("dut.rank"),
            stuck_at(0, "dut.is_first_halt"),
        ),
    ),
)
