"""What both rings are made of, as the proofs of these parts say."""

from amaranth.hdl import Assert, Assume, Cat, Module, Mux, Signal, Value
from amaranth.lib.wiring import Out

from cdma.hdl.engine.front.completion import CompletionWriter
from cdma.hdl.engine.front.ring.arena import Arena
from cdma.hdl.engine.front.ring.fetch import RINGS, Fetcher
from cdma.verify.formal.stream_rules import anything, leave_ports_open

#: Counts of descriptors, descriptors that are fetched, that are started, completions on their way.
COUNT_BITS, FETCHED, STARTED, SLOTS = 4, 2, 2, 2
#: Cycles for which a ring is idle before it runs, at least.
REST = 3


class AnyArena(Arena):
    """Any pointer and any room. Carries are on their way from an end on."""

    def elaborate(self, platform):
        m = Module()
        leave_ports_open(m, self, Out, "adds")
        may_add = Signal()
        m.d.sync += may_add.eq(self.adds | self.ends)
        m.d.comb += self.adds.eq(anything(m, 1, "any_adds") & may_add)
        return m


class AnyFetcher(Fetcher):
    """Asks for descriptors where it may, and they come at any time, of any content.

    ``following`` were asked for, ``arrived`` have come. Asserts when a ring may run again.
    """

    def __init__(self, *args):
        super().__init__(*args)
        self.following, self.arrived = (
            [Signal(COUNT_BITS, name=f"n_{name}{ring}") for ring in range(RINGS)]
            for name in ("following", "arrived")
        )
        self.asks, self.rested = Signal(RINGS, name="asks"), []

    def elaborate(self, platform):
        m = Module()
        leave_ports_open(m, self, Out, "has", "idle", "descriptor", "response", "has_address")
        m.d.comb += self.link.ar.valid.eq(self.asks.any())
        held = Signal(RINGS, name="held")
        m.d.sync += held.eq(self.asks & ~self.link.ar.ready.replicate(RINGS))
        m.d.comb += [
            # One ring at a time.
            Assume(~self.asks.all()),
            Assert(~held.all()),
        ]
        for ring in range(RINGS):
            self._ring(m, ring, held)
        self._content(m)
        return m

    def _ring(self, m, ring, held):
        following, arrived = self.following[ring], self.arrived[ring]
        run, started, asks = self.run[ring], self.started[ring], self.asks[ring]
        fresh, arrives = anything(m, 1, f"asks{ring}"), anything(m, 1, f"arrives{ring}")
        unread = Signal(COUNT_BITS, name=f"unread{ring}")
        rested, ran = Signal(range(REST + 1), name=f"rested{ring}"), Signal(name=f"ran{ring}")
        is_rung = self.doorbell & (self.doorbell_ring == ring)
        tail = Mux(is_rung, self.doorbell_tail, self.tail[ring])
        m.d.comb += [
            unread.eq(following - self.completion_head[ring]),
            asks.eq(
                held[ring]
                | (
                    fresh
                    & run
                    & ~self.is_refused
                    & (following != tail)
                    & ((following - started)[:COUNT_BITS] < FETCHED)
                    & (unread < (1 << self.completion_log2[ring]))
                )
            ),
            self.idle[ring].eq((arrived == following) & ~asks),
            self.has[ring].eq(run & (arrived != started)),
            Assert(~run | ran | (rested == REST)),
            # Invariants.
            Assert(~held[ring] | ((following - started)[:COUNT_BITS] < FETCHED)),
            Assert(~held[ring] | (unread < (1 << self.completion_log2[ring]))),
        ]
        m.d.sync += [
            ran.eq(run),
            rested.eq(Mux(run | ~self.idle[ring], 0, rested + (rested != REST))),
        ]
        with m.If(~run & self.idle[ring]):
            m.d.sync += [following.eq(started), arrived.eq(started)]
        with m.Else():
            m.d.sync += [
                following.eq(following + (asks & self.link.ar.ready)),
                arrived.eq(arrived + (arrives & (arrived != following))),
            ]
        self.rested.append(rested)

    def _content(self, m):
        """The descriptor at a place stays while it is there."""
        place = Value.cast(self.place)
        ring, size = self.place.ring, len(Value.cast(self.descriptor))
        both, last = Signal(size + 2, name="both"), Signal(size + 2, name="last")
        was_place, was_there, stays = Signal(len(place)), Signal(), Signal(name="stays")
        was_started = Signal(COUNT_BITS, name="was_started")
        started = Mux(ring, self.started[1], self.started[0])
        has, run = ((Cat(each) >> ring)[0] for each in (self.has, self.run))
        m.d.comb += [
            stays.eq(was_there & (place == was_place) & (started == was_started)),
            both.eq(Mux(stays, last, anything(m, size + 2, "fresh"))),
            Cat(Value.cast(self.descriptor), Value.cast(self.response)).eq(both),
            self.has_address.eq(anything(m, 1, "has_address") & self.wants_address),
        ]
        m.d.sync += [
            last.eq(both),
            was_place.eq(place),
            was_started.eq(started),
            was_there.eq(has | (stays & ~run)),
        ]
        self.stays = stays


class AnyCompletions(CompletionWriter):
    """Takes completions at any time, and reports each once, in order, at any time, as failed or
    not."""

    def __init__(self, address_bits, link_bytes):
        super().__init__(address_bits, link_bytes, SLOTS)
        self.level = Signal(range(SLOTS + 1), name="level")
        self.rings = Signal(SLOTS, name="rings")

    def elaborate(self, platform):
        m = Module()
        leave_ports_open(m, self, Out, "written", "ring", "i")
        taken, place = Signal(), Signal(range(SLOTS + 1))
        m.d.comb += [
            self.i.ready.eq(anything(m, 1, "i_ready") & self.i.valid & (self.level != SLOTS)),
            taken.eq(self.i.valid & self.i.ready),
            self.written.eq(anything(m, 1, "any_written") & (self.level != 0)),
            self.ring.eq(self.rings[0]),
            place.eq(self.level - self.written),
        ]
        m.d.sync += self.level.eq(self.level + taken - self.written)
        rest = self.rings >> self.written
        for k in range(SLOTS):
            m.d.sync += self.rings[k].eq(
                Mux(taken & (place == k), self.i.payload.ring, rest[k] if k < len(rest) else 0)
            )
        m.d.comb += Assert(self.level <= SLOTS)
        return m

    def on_way(self, ring):
        """Completions of a ring that were taken and are not reported."""
        ours = [(self.level > k) & (self.rings[k] == ring) for k in range(SLOTS)]
        return sum(ours[1:], ours[0])
