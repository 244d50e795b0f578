"""Descriptors are started in order, each once, when all that a start needs is there."""

from unittest import mock

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.engine_codes import Status
from cdma.hdl.axi.full import Response
from cdma.hdl.engine.front.ring import fence, start
from cdma.hdl.engine.front.ring.check import Checker
from cdma.hdl.engine.front.ring.fetch import RINGS
from cdma.hdl.engine.front.ring.operands import Operands
from cdma.hdl.engine.front.ring.start import Starter
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.stream_rules import anything, leave_open
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import PDR, Proof, faults

_COUNT_BITS = 4
#: Cycles for which a ring does not run, at least: its window is looked at meanwhile.
_REST = 3
#: Cycles without a check at work after which a ring without room has left for the other one.
_LEAVES = 10


class AnyChecker(Checker):
    """Checks take any time and have any result, which stays until the next check."""

    def __init__(self, config):
        super().__init__(config)
        self.busy = Signal()

    def elaborate(self, platform):
        m = Module()
        bad, empty = Signal(), Signal()
        leave_open(m, self, "is_below", "is_past", "stripes")
        m.d.comb += [
            self.done.eq(self.busy & anything(m, 1, "done")),
            self.is_bad.eq(bad),
            self.is_empty.eq(empty),
        ]
        with m.If(self.abandon | self.done):
            m.d.sync += self.busy.eq(0)
        with m.Elif(self.start):
            m.d.sync += self.busy.eq(1)
        with m.If(self.busy | self.start | self.idle):
            m.d.sync += [bad.eq(anything(m, 1, "bad")), empty.eq(anything(m, 1, "empty"))]
        return m


class AnyOperands(Operands):
    """Any numbers to compare, and jobs of any content."""

    def elaborate(self, platform):
        m = Module()
        leave_open(m, self, "host", "limit")
        for value in (*self.checked.signature.members, *range(RINGS)):
            out = self.job[value] if isinstance(value, int) else getattr(self.checked, value)
            out = Value.cast(out)
            m.d.comb += out.eq(anything(m, len(out), f"any_{value}"))
        return m


def of(ring, values):
    """The value of a ring."""
    return Mux(ring, values[1], values[0])


class StartsInOrder(Elaboratable):
    """Descriptors come, jobs are taken, and rings run and stop at any time.

    A descriptor is started when it is there, checked, and there is room: as a job that was taken
    in the cycle before, or by itself if it is refused or empty. A FENCE waits for all before it. A
    job is offered only of a descriptor that is good. Behind one that cannot be trusted, its ring
    starts nothing until all has completed while the ring was stopped. A ring without room, whatever
    its descriptor is, leaves for the other one.
    """

    def __init__(self):
        with mock.patch.object(start, "COUNT_BITS", _COUNT_BITS):
            self.dut = Starter(small())

    def elaborate(self, platform):
        m = Module()
        dut, self.checker = self.dut, AnyChecker(self.dut.config)
        with (
            mock.patch.multiple(
                start, COUNT_BITS=_COUNT_BITS, Checker=lambda _: self.checker, Operands=AnyOperands
            ),
            mock.patch.object(fence, "COUNT_BITS", _COUNT_BITS),
        ):
            m.submodules.dut = elaborated(dut, platform)
        self._rings(m)
        self._descriptors(m)
        self._check(m)
        self._starts(m)
        self._leaves(m)
        return m

    def _leaves(self, m):
        """A ring without room does not hold up the other one, whose job could be taken."""
        dut, ring = self.dut, self.dut.place.ring
        waits, was_ring = Signal(range(_LEAVES + 1)), Signal()
        m.d.sync += was_ring.eq(ring)
        can = [dut.has[k] & dut.run[k] & ~self.halted[k] & dut.job[k].ready for k in range(RINGS)]
        holds_up = ~of(ring, dut.has_room) & of(~ring, can) & (dut.asks == 0) & ~dut.clear
        with m.If(~holds_up | (ring != was_ring)):
            m.d.sync += waits.eq(0)
        with m.Elif(~self.checker.busy):
            m.d.sync += waits.eq(waits + 1)
        m.d.comb += [Assert(waits < _LEAVES), Cover(waits == 3)]

    def _rings(self, m):
        """Rings run, complete, and have room at any time."""
        dut = self.dut
        leave_open(m, dut, "asks", "awaited", "descriptor_address", "arena_pointer")
        leave_open(m, dut, "arena_room", "arena_end", "completes")
        m.d.comb += Assume((dut.asks & dut.run) == 0)
        self.halted, self.heads = Signal(RINGS), []
        free, was_free = Signal(), Signal()
        m.d.sync += was_free.eq(free & dut.run[0] & ~dut.appends)
        m.d.comb += [
            free.eq(anything(m, 1, "arena_is_free")),
            dut.arena_is_free.eq(free),
            # The arena is free until something is appended, or its ring stops.
            Assume(free | ~was_free),
        ]
        for ring in range(RINGS):
            log2 = Signal(4, name=f"log2_{ring}")
            head = Signal(_COUNT_BITS, name=f"head{ring}")
            self.heads.append(head)
            started, completes = dut.started[ring], dut.completes[ring]
            starts = dut.starts & (dut.place.ring == ring)
            has_started = Signal(name=f"has_started{ring}")
            had, had_room, ran = (Signal(name=f"{name}{ring}") for name in ("had", "room", "ran"))
            rested = Signal(range(_REST + 1), name=f"rested{ring}")
            m.d.sync += [
                rested.eq(Mux(dut.run[ring], 0, rested + (rested != _REST))),
                head.eq(head + completes),
                has_started.eq(starts),
                had.eq(dut.has[ring]),
                had_room.eq(dut.has_room[ring]),
                ran.eq(dut.run[ring]),
            ]
            m.d.comb += [
                log2.eq(AnyConst(4)),
                Assume(log2 < _COUNT_BITS),
                dut.log2[ring].eq(log2),
                dut.head[ring].eq(head),
                dut.is_idle[ring].eq(started == head),
                Assume(~completes | (started != head)),
                # Fewer are in flight than counts can tell apart.
                Assume(~dut.has_room[ring] | ((started - head)[:_COUNT_BITS] < 6)),
                dut.run[ring].eq(anything(m, 1, f"run{ring}")),
                dut.has[ring].eq(anything(m, 1, f"has{ring}")),
                dut.has_room[ring].eq(anything(m, 1, f"has_room{ring}")),
                Assume(~dut.run[ring] | ran | (rested == _REST)),
                Assume(~dut.has[ring] | dut.run[ring]),
                Assume(dut.has[ring] | ~had | ~dut.run[ring] | has_started),
                Assume(dut.has_room[ring] | ~had_room | has_started),
            ]

    def _descriptors(self, m):
        """The descriptor at a place stays while it is there."""
        dut, place = self.dut, Value.cast(self.dut.place)
        layout = self.dut.descriptor.shape()
        last = Signal(layout, name="last")
        last_response = Signal(2)
        was_place, was_there, started = Signal(len(place)), Signal(), Signal()
        fresh = anything(m, layout.size, "fresh")
        stays = Signal()
        m.d.comb += [
            stays.eq(was_there & (place == was_place) & ~started),
            Value.cast(dut.descriptor).eq(Mux(stays, Value.cast(last), fresh)),
            Value.cast(dut.response).eq(Mux(stays, last_response, anything(m, 2, "response"))),
            dut.has_address.eq(anything(m, 1, "has_address") & dut.wants_address),
        ]
        m.d.sync += [
            Value.cast(last).eq(Value.cast(dut.descriptor)),
            last_response.eq(Value.cast(dut.response)),
            was_place.eq(place),
            # Nothing comes to a ring that does not run.
            was_there.eq(of(dut.place.ring, dut.has) | (stays & ~of(dut.place.ring, dut.run))),
            started.eq(dut.starts),
        ]
        self.stays = stays

    def _check(self, m):
        """What was checked: the descriptor that is at the place."""
        dut, checker = self.dut, self.checker
        self.is_checked = is_checked = Signal()
        with m.If(checker.start | checker.abandon | dut.starts):
            m.d.sync += is_checked.eq(0)
        with m.Elif(checker.done):
            m.d.sync += is_checked.eq(1)
        with m.If(checker.start):
            m.d.comb += [Assert(checker.idle), Assert(~checker.busy)]
        with m.If(checker.busy & of(dut.place.ring, dut.run)):
            m.d.comb += Assert(self.stays)

    def _starts(self, m):
        dut, d, ring = self.dut, self.dut.descriptor, self.dut.place.ring
        checker, record = self.checker, dut.record
        started, head = of(ring, dut.started), of(ring, self.heads)
        is_failed = Value.cast(dut.response)[1]
        phase = (started >> of(ring, dut.log2))[0]
        is_untrusted = Signal()
        status = Signal(8)
        m.d.comb += [
            is_untrusted.eq(is_failed | (d.phase == phase)),
            status.eq(Mux(is_untrusted | checker.is_bad, Status.BAD_DESCRIPTOR, Status.OK)),
        ]
        with m.If(is_failed):
            is_decoded = dut.response == Response.DECERR
            m.d.comb += status.eq(Mux(is_decoded, Status.HOST_DECERR, Status.HOST_SLVERR))
        is_refused = is_untrusted | checker.is_bad
        is_local = is_refused | checker.is_empty
        taken, was_taken = [each.valid & each.ready for each in dut.job], Signal()
        m.d.comb += [each.ready.eq(anything(m, 1, f"ready{k}")) for k, each in enumerate(dut.job)]
        m.d.sync += was_taken.eq(taken[0] | taken[1])
        # As its own proof says, ring 1 appends nothing.
        m.d.comb += Assume(~(self.is_checked & ring & d.append) | checker.is_bad)
        at_place = (dut.place.slot == started[: len(dut.place.slot)]) & self.is_checked
        is_closed = d.fence & (started != head)
        for number, job in enumerate(dut.job):
            with m.If(job.valid):
                m.d.comb += [
                    Assert((ring == number) & dut.run[number]),
                    Assert(at_place & ~is_local & ~is_closed),
                    Assert(dut.has_room[number] & ~self.halted[number] & dut.offers),
                ]
        with m.If(dut.starts):
            m.d.comb += [
                Assert(of(ring, dut.has_room)),
                Assert(record.is_local == ~was_taken),
                Assert(was_taken | (at_place & is_local & of(ring, dut.run & ~self.halted))),
                Assert(was_taken | (record.status == status)),
                Assert(was_taken | is_refused | ~is_closed),
                Assert(was_taken | (record.is_untrusted == is_untrusted)),
                Assert(record.cookie == d.cookie),
                Assert(~dut.appends | (dut.arena_is_free & d.append)),
            ]
        # Each job that was taken is started in the next cycle.
        m.d.comb += [
            Assert(~was_taken | dut.starts),
            Assert(dut.starts | ~dut.appends),
            Cover(was_taken & ring & d.fence & (started == 3)),
            Cover(dut.starts & record.is_untrusted),
            Cover(dut.starts & dut.appends),
            Cover(self.halted[0] & ~dut.run[0]),
        ]
        for number in range(RINGS):
            count = Signal(_COUNT_BITS, name=f"count{number}")
            is_here = dut.starts & (ring == number)
            m.d.sync += count.eq(count + is_here)
            m.d.comb += [
                Assert(dut.started[number] == count),
                Assert(dut.is_halted[number] == self.halted[number]),
                Assert(~dut.answered[number] | dut.asks[number]),
            ]
            with m.If(~dut.run[number] & dut.is_idle[number]):
                m.d.sync += self.halted[number].eq(0)
            with m.Elif(is_here & is_untrusted & ~was_taken):
                m.d.sync += self.halted[number].eq(1)


PROOFS = (
    Proof(
        name="starter",
        promise="Descriptors are started in order, each once, checked, with room, behind a FENCE's "
        "wait, and none behind one that cannot be trusted; a ring without room lets the other pass",
        components=(Starter,),
        design=lambda _: StartsInOrder(),
        sizes={"counts of 4 bits": _COUNT_BITS},
        mode=PDR,
        depth=10,
        broken=faults(
            _COUNT_BITS,
            16,
            stuck_at(0, "dut.halted"),
            late("dut.goes"),
            late("dut.was_taken"),
            late("dut.is_untrusted"),
            stuck_at(1, "dut.fence.is_open"),
            stuck_at(1, "dut.wants_address"),
        ),
    ),
)
