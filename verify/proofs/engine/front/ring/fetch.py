"""Descriptors are fetched in order, each once, only from their ring, and with room for each."""

from unittest import mock

from amaranth.asserts import AnyConst
from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.hdl.axi.full import Response
from cdma.hdl.engine.front.ring import fetch
from cdma.hdl.engine.front.ring.fetch import RINGS, Fetcher
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, hold_to_rule
from cdma.verify.proofs.proof import BOUNDED, Proof, faults

_FETCHED = 2
_LINK_BYTES, _BEATS = 1, 2  # a beat, and those of a descriptor
#: Cycles for which a ring is idle before it runs: at least, its window is looked at meanwhile.
_REST = 3
#: Cycles that a descriptor waits, at most, before it is asked for.
_WAIT = 5
_DEPTH = RINGS * _FETCHED  # descriptors on their way
_SMALL = {"FETCHED": _FETCHED, "DESCRIPTOR_BYTES": _BEATS * _LINK_BYTES}


def of(ring, values):
    """The value of a ring."""
    return Mux(ring, values[1], values[0])


class FetchesInOrder(Elaboratable):
    """Software submits and reads completions, and the rings run, start and drop at any time.

    A tail counts two cycles after it was written; a wrong one stops its ring instead. A ring that
    stops runs again only when nothing is asked for. The memory answers in order, at any time.

    Each address is that of the next descriptor of its ring, which was submitted, has a slot, and
    has an entry of the completion ring. One descriptor, picked at any time, comes back as the
    memory gave it, and only then.
    """

    def __init__(self, address_bits, count_bits):
        self.address_bits, self.count_bits = address_bits, count_bits
        self.small = _SMALL | {"COUNT_BITS": count_bits}
        with mock.patch.multiple(fetch, **self.small):
            self.dut = Fetcher(address_bits, _LINK_BYTES)

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        with mock.patch.multiple(fetch, **self.small):
            m.submodules.dut = elaborated(dut, platform)
        self.turn = probe(m, "dut.turn", 1)
        ar, r = dut.link.ar, dut.link.r
        self.asks, self.ends = Signal(RINGS), Signal(RINGS)
        asked = ar.valid & ar.ready
        m.d.comb += [
            ar.ready.eq(anything(m, 1, "ar_ready")),
            self.asks.eq(Cat(~self.turn, self.turn) & asked.replicate(RINGS)),
            Assert(r.ready),
        ]
        hold_to_rule(m, ar, "ar")
        self._software(m)
        self._memory(m, asked)
        self._starts(m)
        self._addresses(m)
        self._follow(m)
        return m

    def _software(self, m):
        """Counts of both rings, and when the rings run."""
        dut = self.dut
        self.tail, self.read, self.asked_for = (
            [Signal(self.count_bits, name=f"{name}{ring}") for ring in range(RINGS)]
            for name in ("tail", "read", "asked_for")
        )
        writes, checks, follows = anything(m, 1, "writes"), Signal(), Signal()
        ring, written = Signal(), Signal(self.count_bits)
        is_wrong = Signal()
        m.d.sync += [checks.eq(writes), follows.eq(checks)]
        with m.If(writes):
            m.d.sync += [
                ring.eq(anything(m, 1, "written_ring")),
                written.eq(anything(m, self.count_bits, "written")),
                is_wrong.eq(anything(m, 1, "is_wrong")),
            ]
        m.d.comb += [
            Assume(~writes | ~(checks | follows)),
            dut.doorbell.eq(checks | follows),
            dut.doorbell_ring.eq(ring),
            dut.doorbell_tail.eq(written),
            dut.is_refused.eq(follows & is_wrong),
        ]
        self.written = (checks | follows) & ~is_wrong
        self.new_tail = written
        self.ran, self.rested = Signal(RINGS), []
        for number in range(RINGS):
            base, log2, size = Signal(self.address_bits), Signal(4), Signal(4)
            attr = Value.cast(dut.attr[number])
            for value in (base, log2, size, attr):
                m.d.comb += value.eq(AnyConst(len(value)))
            m.d.comb += [
                # As many entries as counts can tell apart, at most.
                Assume((log2 < self.count_bits) & (size < self.count_bits)),
                Assume(base[0] == 0),
                dut.base[number].eq(base),
                dut.log2[number].eq(log2),
                dut.completion_log2[number].eq(size),
                dut.tail[number].eq(self.tail[number]),
                dut.completion_head[number].eq(self.read[number]),
            ]
            tail, started, read = self.tail[number], dut.started[number], self.read[number]
            with m.If(checks & (ring == number) & ~is_wrong):
                # It is ahead of the one before, and not by more than the ring's entries.
                most = Signal(self.count_bits + 1, name=f"most{number}")
                m.d.comb += [
                    most.eq(1 << log2),
                    Assume((written - started)[: self.count_bits] <= most),
                    Assume(
                        (written - started)[: self.count_bits]
                        >= (tail - started)[: self.count_bits]
                    ),
                ]
            with m.If(follows & (ring == number) & ~is_wrong):
                m.d.sync += tail.eq(written)
            more = anything(m, self.count_bits, f"more{number}")
            m.d.comb += Assume(more <= (started - read)[: self.count_bits])
            m.d.sync += read.eq(read + more)
            run, ran = dut.run[number], self.ran[number]
            was_refused = Signal(name=f"was_refused{number}")
            rested = Signal(range(_REST + 1), name=f"rested{number}")
            self.rested.append(rested)
            m.d.sync += [
                ran.eq(run),
                was_refused.eq(dut.is_refused & (ring == number)),
                rested.eq(Mux(run | ~dut.idle[number], 0, rested + (rested != _REST))),
            ]
            m.d.comb += [
                run.eq(anything(m, 1, f"run{number}")),
                Assume(~run | ran | (rested == _REST)),
                Assume(~(run & was_refused)),
            ]

    def _memory(self, m, asked):
        """Beats of descriptors, in order."""
        r = self.dut.link.r
        self.level, self.beat = Signal(range(_DEPTH + 2)), Signal(range(_BEATS))
        owners = [Signal(name=f"owner{k}") for k in range(_DEPTH)]
        self.owners, self.owner, ends = owners, owners[0], Signal()
        m.d.comb += [
            r.valid.eq(anything(m, 1, "r_valid") & (self.level != 0)),
            r.payload.data.eq(anything(m, 8 * _LINK_BYTES, "data")),
            r.payload.resp.eq(anything(m, 2, "resp")),
            r.payload.last.eq(self.beat == _BEATS - 1),
            ends.eq(r.valid & r.payload.last),
            self.ends.eq(Cat(~self.owner, self.owner) & ends.replicate(RINGS)),
            Assert(self.level <= _DEPTH),
        ]
        m.d.sync += self.level.eq(self.level + asked - ends)
        with m.If(r.valid):
            m.d.sync += self.beat.eq(Mux(r.payload.last, 0, self.beat + 1))
        for k, owner in enumerate(owners):
            with m.If(asked & (self.level - ends == k)):
                m.d.sync += owner.eq(self.turn)
            with m.Elif(ends):
                m.d.sync += owner.eq(owners[k + 1] if k + 1 < _DEPTH else 0)
        # The fetcher knows the owners, and how many of each ring are on their way.
        known = probe(m, "dut.owners", _DEPTH)
        m.d.comb += [
            Assert(probe(m, "dut.level", (_DEPTH).bit_length()) == self.level),
            Assert(probe(m, "dut.beat", 1) == self.beat),
            Assert((self.level != 0) | (self.beat == 0)),
        ]
        self.on_way = []
        for ring in range(RINGS):
            ours = [(self.level > k) & (owners[k] == ring) for k in range(_DEPTH)]
            self.on_way.append(sum(ours[1:], ours[0]))
        for k in range(_DEPTH):
            with m.If(self.level > k):
                m.d.comb += Assert(known[k] == owners[k])

    def _starts(self, m):
        """Descriptors at ``place`` are started, and the place moves at any time."""
        dut = self.dut
        place, wants = dut.place, dut.wants_address
        # Whoever wants an address stays at its place, and later wants none for two cycles.
        waited, was_waiting, was_place = Signal(), Signal(), Signal.like(Value.cast(place))
        has_started = Signal()
        m.d.comb += [
            Value.cast(dut.next_place).eq(anything(m, len(Value.cast(place)), "next_place")),
            wants.eq(anything(m, 1, "wants_address")),
            Assume(~wants | waited | ~was_waiting),
            Assume(~(wants & waited) | ((Value.cast(place) == was_place) & ~has_started)),
        ]
        m.d.sync += [
            Value.cast(place).eq(Value.cast(dut.next_place)),
            was_place.eq(place),
            waited.eq(wants),
            was_waiting.eq(waited),
        ]
        self.starts, self.halted = Signal(RINGS), Signal(RINGS)
        for ring in range(RINGS):
            started, starts = dut.started[ring], self.starts[ring]
            # A ring halts behind a descriptor that could not be read.
            halted = self.halted[ring]
            may = dut.has[ring] & (place.ring == ring) & (~wants | dut.has_address) & ~halted
            is_placed = place.slot == started[: len(place.slot)]
            m.d.comb += starts.eq(anything(m, 1, f"starts{ring}") & may & is_placed)
            m.d.sync += started.eq(started + starts)
            with m.If(~dut.run[ring]):
                m.d.sync += halted.eq(0)
            with m.Elif(starts & Value.cast(dut.response)[1]):
                m.d.sync += halted.eq(1)
        m.d.sync += has_started.eq(self.starts.any())
        # An address that is given is that of the descriptor at the place.
        count = of(place.ring, dut.started)
        with m.If(dut.has_address & wants & waited):
            m.d.comb += Assert(dut.address == self._address(place.ring, count))
        m.d.comb += Cover(dut.has_address & wants & waited & (count == 3) & place.ring)

    def _address(self, ring, count):
        """Address of a descriptor of a ring."""
        dut = self.dut
        size = _BEATS * _LINK_BYTES
        mask = (1 << of(ring, dut.log2)) - 1
        return (of(ring, dut.base) + (count & mask) * size)[: self.address_bits]

    def _addresses(self, m):
        """What is asked for."""
        dut, ar, turn = self.dut, self.dut.link.ar, self.turn
        next_one = of(turn, self.asked_for)
        placing, was_placing = probe(m, "dut.placing", RINGS), probe(m, "dut.was_placing", 2)
        with m.If(ar.valid):
            m.d.comb += [
                Assert(~placing.any() & ~was_placing.any()),
                Assert(ar.payload.beats == _BEATS),
                Assert(ar.payload.address == self._address(turn, next_one)),
                Assert(
                    Value.cast(ar.payload.attr) == of(turn, [Value.cast(each) for each in dut.attr])
                ),
            ]
        # Of the next one: from what was started, to the tail, from what software has read.
        self.distances = []
        for ring in range(RINGS):
            asked_for, started = self.asked_for[ring], dut.started[ring]
            ahead, left = (
                Signal(self.count_bits, name=f"ahead{ring}"),
                Signal(self.count_bits, name=f"left{ring}"),
            )
            unread = Signal(self.count_bits + 1, name=f"unread{ring}")
            self.distances.append((ahead, left, unread))
            is_written = self.written & (dut.doorbell_ring == ring)
            m.d.comb += [
                ahead.eq(asked_for - started),
                left.eq(self.tail[ring] - asked_for),
                unread.eq((asked_for - self.read[ring])[: self.count_bits]),
            ]
            with m.If(self.asks[ring]):
                m.d.sync += asked_for.eq(asked_for + 1)
            with m.If(ar.valid & (turn == ring)):
                m.d.comb += [
                    Assert(ahead < _FETCHED),
                    Assert(unread < (1 << dut.completion_log2[ring])),
                    Assert((left != 0) | (is_written & (self.new_tail != asked_for))),
                ]
            with m.If(~dut.run[ring] & dut.idle[ring]):
                m.d.sync += asked_for.eq(started)
            self._invariants(m, ring, asked_for, ahead)
        m.d.comb += [
            Cover((ar.valid & ar.ready) & turn & (next_one == 3)),
            Cover(self.level == _DEPTH),
        ]

    def _invariants(self, m, ring, asked_for, ahead):
        """Counts of the fetcher."""
        dut = self.dut
        following = probe(m, f"dut.following{ring}", self.count_bits)
        arrived = probe(m, f"dut.arrived{ring}", _FETCHED.bit_length())
        low = len(arrived)
        asking = dut.link.ar.valid & (self.turn == ring)
        submitted, unread = (
            (end - start)[: self.count_bits]
            for start, end in ((dut.started[ring], self.tail[ring]), (self.read[ring], asked_for))
        )
        m.d.comb += [
            Assert((ahead <= submitted) & (submitted <= 1 << dut.log2[ring])),
            Assert((ahead <= unread) & (unread <= 1 << dut.completion_log2[ring])),
            Assert(following == asked_for),
            Assert(ahead <= _FETCHED),
            Assert(self.on_way[ring] <= ahead),
            Assert((asked_for - self.on_way[ring])[:low] == arrived),
            Assert(dut.idle[ring] == ((self.on_way[ring] == 0) & ~asking)),
            # All that has come and was not started is there.
            Assert(dut.has[ring] == (dut.run[ring] & (ahead != self.on_way[ring]))),
        ]

    def _follow(self, m):
        """One descriptor, from its address to its start."""
        dut, r = self.dut, self.dut.link.r
        picks = anything(m, 1, "picks")
        is_on_way, is_here, ring = Signal(), Signal(), Signal()
        before, count = Signal(range(_DEPTH + 1)), Signal(self.count_bits)
        words, response = Signal(8 * _LINK_BYTES * _BEATS), Signal(2)
        ends, asked = self.ends.any(), self.asks.any()
        with m.If(asked & picks & ~is_on_way & ~is_here):
            m.d.sync += [
                is_on_way.eq(1),
                ring.eq(self.turn),
                count.eq(of(self.turn, self.asked_for)),
                before.eq(self.level - ends),
                response.eq(0),
            ]
        is_ours = is_on_way & (before == 0) & r.valid
        with m.If(is_on_way & ends):
            m.d.sync += before.eq(before - 1)
        with m.If(is_ours):
            m.d.sync += words.word_select(self.beat, 8 * _LINK_BYTES).eq(r.payload.data)
            with m.If(~response[1]):
                m.d.sync += response.eq(r.payload.resp)
            with m.If(r.payload.last):
                m.d.sync += [is_on_way.eq(0), is_here.eq(of(ring, dut.run))]
        is_started = of(ring, self.starts) & (of(ring, dut.started) == count)
        with m.If(is_here & (is_started | ~of(ring, dut.run))):
            m.d.sync += is_here.eq(0)
        is_next = is_here & of(ring, dut.has & ~self.halted) & (of(ring, dut.started) == count)
        is_placed = (dut.place.ring == ring) & (dut.place.slot == count[: len(dut.place.slot)])
        with m.If(is_next & is_placed):
            m.d.comb += [
                Assert(Value.cast(dut.descriptor)[: len(words)] == words),
                # The first response that is an error.
                Assert(Value.cast(dut.response)[1] == response[1]),
                Assert(~response[1] | (Value.cast(dut.response) == response)),
                Cover(response == Response.DECERR),
                Cover((count == 3) & (words == 0xA5)),
            ]
        with m.If(is_on_way):
            m.d.comb += Assert(~(of(ring, dut.has) & (of(ring, dut.started) == count)))
        self._keeps(m, is_on_way, is_here, ring, before, count, words, response)

    def _keeps(self, m, is_on_way, is_here, ring, before, count, words, response):
        """Invariants: where the descriptor is, on its way and in the memory."""
        dut, started = self.dut, of(ring, self.dut.started)
        rows = Array(
            probe(m, f"dut.descriptors[{row}]", len(words)) for row in range(RINGS * _FETCHED)
        )
        row, has_run = rows[Cat(ring, count[: len(dut.place.slot)])], Signal()
        m.d.sync += has_run.eq(1)
        same = [(before > k) & (owner == ring) for k, owner in enumerate(self.owners)]
        rank = sum(same[1:], same[0])
        on_way = of(ring, self.on_way)
        place = (count - started)[: self.count_bits]
        come = (of(ring, self.asked_for) - on_way - started)[: self.count_bits]
        is_partial = is_on_way & (before == 0) & (self.beat != 0)
        with m.If(has_run):
            m.d.comb += Assert(rows[Value.cast(dut.place)] == Value.cast(dut.descriptor))
        with m.If(is_on_way):
            m.d.comb += [
                Assert(~is_here),
                Assert(before < self.level),
                Assert(Array(self.owners)[before] == ring),
                Assert(count == (of(ring, self.asked_for) - on_way + rank)[: self.count_bits]),
                Assert(is_partial | (response == 0)),
            ]
        with m.If(is_partial):
            m.d.comb += Assert(row[: 8 * _LINK_BYTES] == words[: 8 * _LINK_BYTES])
        with m.If(is_here):
            m.d.comb += [Assert(row == words), Assert(place < come), Assert(of(ring, self.ran))]
        for number in range(RINGS):
            self._failure(m, number, (is_on_way | is_here) & (ring == number), count, response)

    def _failure(self, m, ring, is_followed, count, response):
        """The first descriptor of a ring that could not be read."""
        dut, r, started = self.dut, self.dut.link.r, self.dut.started[ring]
        failed, where = (
            Signal(name=f"has_failed{ring}"),
            Signal(self.count_bits, name=f"where{ring}"),
        )
        how = Signal(2, name=f"how{ring}")
        arriving = (self.asked_for[ring] - self.on_way[ring])[: self.count_bits]
        is_error = r.valid & (self.owner == ring) & r.payload.resp.as_value()[1]
        with m.If(~dut.run[ring]):
            m.d.sync += failed.eq(0)
        with m.Elif(is_error & ~failed):
            m.d.sync += [failed.eq(1), where.eq(arriving), how.eq(r.payload.resp)]
        ahead, come = (where - started)[: self.count_bits], (arriving - started)[: self.count_bits]
        begun = (self.level != 0) & (self.owner == ring) & (self.beat != 0)
        is_halted, place = self.halted[ring], (count - started)[: self.count_bits]
        m.d.comb += Assert(probe(m, f"dut.has_failed{ring}", 1) == failed)
        with m.If(failed):
            m.d.comb += [
                Assert(probe(m, f"dut.failed{ring}", 1) == where[0]),
                Assert(probe(m, f"dut.response{ring}", 2) == how),
                Assert(how[1]),
                Assert(self.ran[ring]),
                Assert(is_halted | (ahead < come) | ((ahead == come) & begun)),
            ]
        with m.Else():
            m.d.comb += Assert(~is_halted)
        with m.If(is_followed & response[1]):
            m.d.comb += [
                Assert(failed | ~self.ran[ring]),
                Assert(~failed | is_halted | (ahead <= place)),
                Assert(~failed | is_halted | (ahead != place) | (how == response)),
            ]
        with m.If(is_followed & failed & ~is_halted & (ahead == place)):
            m.d.comb += Assert(response[1])
        with m.If(~self.ran[ring] & (self.on_way[ring] != 0)):
            m.d.comb += Assert(self.rested[ring] == 0)


class Serves(FetchesInOrder):
    """When a descriptor of a ring may be fetched, an address is issued within some cycles, also
    where the other ring was the last one. Neither an address is wanted nor a tail written then.
    """

    def _addresses(self, m):
        super()._addresses(m)
        dut = self.dut
        for ring, (ahead, left, unread) in enumerate(self.distances):
            waited = Signal(range(_WAIT + 2), name=f"waited{ring}")
            may = dut.run[ring] & (ahead < _FETCHED) & (left != 0)
            may &= unread < (1 << dut.completion_log2[ring])
            is_alone = ~dut.link.ar.valid & ~dut.wants_address & ~dut.doorbell
            m.d.sync += waited.eq(Mux(may & is_alone, waited + 1, 0))
            m.d.comb += [Assert(waited < _WAIT), Cover(waited == _WAIT - 1)]


PROOFS = (
    Proof(
        name="fetcher_serves",
        promise="A descriptor that may be fetched is asked for, whichever ring was the last one",
        components=(Fetcher,),
        design=lambda bits: Serves(*bits),
        sizes={"2 of a ring, counts of 4 bits": (6, 4)},
        mode=BOUNDED,
        depth=24,
        broken=faults((6, 4), 24, late("dut.turn"), stuck_at(0, "dut.wants", 1)),
    ),
    Proof(
        name="fetcher",
        promise="Descriptors are fetched in order, each once, from their ring, with room for each",
        components=(Fetcher,),
        design=lambda bits: FetchesInOrder(*bits),
        sizes={
            "2 of a ring, counts of 4 bits": (6, 4),
            "2 of a ring, counts of 16 bits": (20, 16),
        },
        slow=("2 of a ring, counts of 16 bits",),
        depth=3,
        broken=faults(
            (6, 4),
            14,
            stuck_at(0, "dut.is_refused"),
            late("dut.wants"),
            stuck_at(0, "dut.owners", 0),
            late("dut.arrived0"),
            stuck_at(1, "dut.has", 0),
            stuck_at(0, "dut.response0", 1),
        ),
    ),
)
