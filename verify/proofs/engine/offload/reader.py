"""Of each stripe just its beats are read, as far as credits go, and all of its beats are given."""

from unittest import mock

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.full import Response
from cdma.hdl.engine.common.errors import ReadError, is_error
from cdma.hdl.engine.common.records import is_halted
from cdma.hdl.engine.offload import reader
from cdma.hdl.engine.offload.reader import StripeReader
from cdma.verify.formal.axi_rules import check_address
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, leave_open, offer
from cdma.verify.proofs.engine.small import small, small_late
from cdma.verify.proofs.proof import Proof, faults

_BURSTS = 3  # of the buffer
_MOST_WAIT = 3  # cycles from when a burst may be issued to when it is


class AnyFifo(wiring.Component):
    """A buffer of any latency, in place of :class:`~cdma.hdl.lib.fifo.Fifo`, as its proof says."""

    def __init__(self, shape, depth):
        self.shape = shape
        super().__init__(
            {
                "i": In(stream.Signature(shape)),
                "o": Out(stream.Signature(shape)),
                "level": Out(range(depth + 2)),
                "empty": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        entries = [Signal(self.shape, name=f"entry{k}") for k in range(_BURSTS)]
        enters, leaves, was_offered = Signal(), Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(anything(m, 1, "has_room") & (self.level < _BURSTS)),
            self.empty.eq(self.level == 0),
            self.o.valid.eq((self.level != 0) & (anything(m, 1, "offers") | was_offered)),
            self.o.payload.eq(entries[0]),
            enters.eq(self.i.valid & self.i.ready),
            leaves.eq(self.o.valid & self.o.ready),
        ]
        m.d.sync += [
            self.level.eq(self.level + enters - leaves),
            was_offered.eq(self.o.valid & ~self.o.ready),
        ]
        for k, entry in enumerate(entries):
            with m.If(enters & (self.level - leaves == k)):
                m.d.sync += entry.eq(self.i.payload)
            with m.Elif(leaves):
                m.d.sync += entry.eq(entries[k + 1] if k + 1 < _BURSTS else self.i.payload)
        return m


class ReadsStripes(Elaboratable):
    """Stripes come at any time; halts, credits and slots change at any time, and the memory answers
    at any time. A quarantine ends when nothing is outstanding and nothing is left to be given.

    A burst is the next beats of its stripe, up to the border of the longest burst; it is asked for,
    unless it is halted or lost, at its address, when credits for all that it can become are there.
    The beats of all bursts are given in order, those that were asked for as the memory answers.
    """

    def __init__(self, config):
        self.config = config

    def elaborate(self, platform):
        m = Module()
        config = self.config
        self.dut = dut = StripeReader(config)
        with mock.patch.object(reader, "Fifo", AnyFifo):
            m.submodules.dut = elaborated(dut, platform)
        self.size = config.beat_bytes
        self.low = self.size.bit_length() - 1
        self._environment(m)
        self._stripe(m)
        self._issues(m)
        self._memory(m)
        self._gives(m)
        self._errors(m)
        return m

    def _environment(self, m):
        """Stripes, what is open, and credits that never shrink but for charges."""
        dut, config, stripe = self.dut, self.config, self.dut.i.payload
        leave_open(m, dut, "halt", "hold", "has_slot", "attr", "clear")
        self.loads = offer(m, dut.i, "i")
        free, more = Signal.like(dut.free, name="credits"), anything(m, len(dut.free), "more")
        after = Signal(len(free) + 1)
        m.d.comb += [
            dut.free.eq(free),
            after.eq(free - Mux(dut.charges, dut.charge, 0) + more),
            Assume(more <= config.stage_bytes // config.word_bytes - free),
            Assume(stripe.bytes != 0),
            Assume(stripe.bytes <= config.stripe_bytes),
            Assume(stripe.bytes % config.word_bytes == 0),
            Assume(stripe.address % config.alignment == 0),
            dut.o.ready.eq(anything(m, 1, "o_ready")),
        ]
        m.d.sync += free.eq(after)
        self.lost, stays = dut.lost, Signal()
        level, shape = dut.outstanding, reader._Burst(config)
        self.level = probe(m, "dut.bursts.level", _BURSTS.bit_length() + 1)
        self.bursts = [
            data.View(shape, probe(m, f"dut.bursts.entry{k}", shape.size)) for k in range(_BURSTS)
        ]
        is_quiet = (level == 0) & dut.drained
        m.d.comb += dut.lost.eq(
            Mux(is_quiet, anything(m, 1, "lost"), stays | anything(m, 1, "any_lost"))
        )
        m.d.sync += stays.eq(dut.lost)

    def _stripe(self, m):
        """The stripe at hand, and how many of its beats are in bursts."""
        dut, config = self.dut, self.config
        self.stripe, self.is_active = (
            Signal(dut.i.payload.shape(), name="at_hand"),
            Signal(name="is_active"),
        )
        bits = config.stripe_beats.bit_length()
        self.done, self.total, self.left = (
            Signal(bits, name=name) for name in ("beats_done", "beats_in_all", "beats_left")
        )
        self.goes, self.is_last = Signal(name="goes"), Signal(name="is_last")
        self.beats = Signal(bits, name="beats_next")
        most = config.burst_bytes // self.size
        self.address = Signal(config.address_bits, name="address_next")
        reach = most - (self.address >> self.low)[: most.bit_length() - 1]
        m.d.comb += [
            self.total.eq((self.stripe.bytes + self.size - 1) >> self.low),
            self.left.eq(self.total - self.done),
            self.address.eq(self.stripe.address + (self.done << self.low)),
            self.beats.eq(Mux(self.left < reach, self.left, reach)),
            self.goes.eq(dut.charges),
            self.is_last.eq(self.beats == self.left),
            Assert(dut.i.ready == (~self.is_active | (self.goes & self.is_last))),
        ]
        with m.If(self.loads):
            m.d.sync += [self.stripe.eq(dut.i.payload), self.done.eq(0), self.is_active.eq(1)]
        with m.Elif(self.goes):
            m.d.sync += [self.done.eq(self.done + self.beats), self.is_active.eq(~self.is_last)]
        m.d.comb += [
            Assert(probe(m, "dut.active", 1) == self.is_active),
            Assert(~self.goes | self.is_active),
        ]
        planned = probe(m, "dut.is_planned", 1)
        shape = dut.i.payload.shape()
        known = data.View(shape, probe(m, "dut.stripe", shape.size))
        with m.If(self.is_active):
            m.d.comb += [
                Assert(self.done < self.total),
                Assert(self.total <= config.stripe_beats),
                Assert(self.stripe.address % config.alignment == 0),
                Assert(self.stripe.bytes <= config.stripe_bytes),
                Assert(probe(m, "dut.done", bits) == self.done),
                Assert(probe(m, "dut.left", bits) == self.left),
                Assert(known.address == self.address),
                *(Assert(known[name] == self.stripe[name]) for name in ("bytes", "job", "number")),
                Assert(known.raw == self.stripe.raw),
            ]
        charge = self._charge()
        at_border = self.address % config.burst_bytes == 0
        m.d.comb += [
            Assert(~self.is_active | planned | (self.done != 0)),
            Assert(~self.is_active | (self.done == 0) | at_border),
        ]
        with m.If(self.is_active & planned):
            m.d.comb += [
                Assert(probe(m, "dut.beats", len(dut.issued)) == self.beats),
                Assert(dut.charge == charge),
            ]
        self.charge, self.is_planned = charge, planned

    def _charge(self):
        """Words that the next burst can become in STAGE."""
        config, is_first = self.config, self.done == 0
        if not config.counts_early:
            return (self.beats + Mux(is_first, config.growth_beats, 0)) * config.lanes
        block = config.block_words // config.lanes
        begins = sum(
            (beat >= self.done) & (beat < self.done + self.beats)
            for beat in range(0, config.stripe_beats, block)
        )
        masks = Mux(self.stripe.raw, 0, begins * config.format.mask_words)
        return (self.beats + is_first) * config.lanes + masks

    def _issues(self, m):
        """A burst is issued, or kept as one that is not, when it may be; addresses obey AXI."""
        dut, config, ar = self.dut, self.config, self.dut.client.ar
        stripe, pushed = self.stripe, Signal(self.bursts[0].shape(), name="pushed")
        halted = Signal(name="halted")
        halts = [is_halted(dut.halt, each.job, each.number) for each in (dut.i.payload, stripe)]
        m.d.sync += halted.eq(Mux(dut.i.ready, *halts))  # from the next cycle on
        m.d.comb += Assert(probe(m, "dut.halted", 1) == halted)
        phantom, self.asks = halted | dut.lost, Signal(name="asks")
        count = Signal(range(config.lanes + 1))
        words = stripe.bytes // config.word_bytes
        check_address(
            m,
            ar,
            self.size,
            None,
            "ar",
            burst_bytes=config.burst_bytes,
            page_bytes=config.burst_bytes,
        )
        offered, pending = Signal(ar.payload.shape(), name="offered"), Signal(name="is_offered")
        m.d.comb += [
            ar.ready.eq(anything(m, 1, "ar_ready")),
            count.eq(words - (self.total - 1) * config.lanes),
            self.asks.eq(self.goes & ~phantom),
            pushed.eq(
                data.View(pushed.shape(), probe(m, "dut.bursts.i__payload", pushed.shape().size))
            ),
            Assert(
                self.goes
                == (probe(m, "dut.bursts.i__valid", 1) & probe(m, "dut.bursts.i__ready", 1))
            ),
            Assert(dut.opens == (self.goes & (self.done == 0))),
            Assert(~dut.opens | dut.has_slot),
            Assert(~self.goes | (dut.charge <= dut.free)),
            Assert(dut.issued == Mux(self.asks, self.beats, 0)),
            Assert(~self.asks | ~dut.hold),
            Assert(ar.valid == pending),
            Assert(~pending | (ar.payload.as_value() == offered.as_value())),
            Cover(self.asks & (dut.charge == dut.free)),
        ]
        with m.If(self.asks):
            m.d.comb += Assert(~pending | ar.ready)
            m.d.sync += [
                pending.eq(1),
                offered.address.eq(self.address),
                offered.beats.eq(self.beats),
                offered.attr.eq(dut.attr),
            ]
        with m.Elif(ar.ready):
            m.d.sync += pending.eq(0)
        with m.If(self.goes):
            m.d.comb += [
                Assert(pushed.address == self.address),
                Assert(pushed.beats == self.beats),
                Assert(pushed.single == (self.beats == 1)),
                Assert(pushed.last == self.is_last),
                Assert(pushed.count == count),
                Assert(pushed.raw == stripe.raw),
                Assert(pushed.phantom == phantom),
                Assert(pushed.lost == (dut.lost & ~halted)),
            ]
        self.pending = pending
        self._moves_on(m, phantom)

    def _moves_on(self, m, phantom):
        """A burst that may be issued is issued soon; credits are counted some cycles late."""
        dut, ar = self.dut, self.dut.client.ar
        has_room = probe(m, "dut.bursts.i__ready", 1)
        may = (dut.free >= self.charge) & (dut.has_slot | (self.done != 0)) & has_room
        can_ask = phantom | ((~self.pending | ar.ready) & ~dut.hold)
        waits, plenty = Signal(range(_MOST_WAIT + 2)), dut.most_charge - 1
        m.d.sync += waits.eq(Mux(self.is_active & may & can_ask & ~self.goes, waits + 1, 0))
        has_plenty, is_covered = probe(m, "dut.has_plenty", 1), probe(m, "dut.is_covered", 1)
        m.d.comb += [
            Assert(waits < _MOST_WAIT),
            Assert(~has_plenty | (dut.free >= 1 << plenty.bit_length())),
            Assert((waits == 0) | self.is_planned),
            Assert((waits < 2) | is_covered),
            Assert(self.is_active | ~dut.waits_credit),
        ]
        with m.If(is_covered & self.is_active):
            m.d.comb += [Assert(self.is_planned), Assert(dut.free >= dut.charge)]

    def _memory(self, m):
        """A memory that answers in order, each burst with its beats, the last of them marked."""
        dut, config, r = self.dut, self.config, self.dut.client.r
        layout = data.StructLayout({"address": config.address_bits, "beats": len(dut.issued)})
        asked = [Signal(layout, name=f"asked{k}") for k in range(_BURSTS)]
        level, given = (
            Signal(range(_BURSTS + 2), name="in_memory"),
            Signal.like(dut.issued, name="answered"),
        )
        ends, moves, new = Signal(), Signal(), Signal(layout)
        is_stalled, kept = Signal(), Signal(len(Value.cast(r.payload)))
        fresh = anything(m, len(kept), "any_r")
        m.d.comb += [
            new.address.eq(self.address),
            new.beats.eq(self.beats),
            r.valid.eq((level > self.pending) & (anything(m, 1, "r_valid") | is_stalled)),
            Value.cast(r.payload).eq(Mux(is_stalled, kept, fresh)),
            Assume(~r.valid | (r.payload.last == (given + 1 == asked[0].beats))),
            moves.eq(r.valid & r.ready),
            ends.eq(moves & r.payload.last),
            Assert(dut.outstanding == level),
            Assert(level <= _BURSTS),
            Assert(self.pending <= level),
        ]
        m.d.sync += [
            level.eq(level + self.asks - ends),
            given.eq(Mux(ends, 0, given + moves)),
            is_stalled.eq(r.valid & ~r.ready),
            kept.eq(Value.cast(r.payload)),
        ]
        for k, each in enumerate(asked):
            with m.If(self.asks & (level - ends == k)):
                m.d.sync += each.eq(new)
            with m.Elif(ends):
                m.d.sync += each.eq(asked[k + 1] if k + 1 < _BURSTS else new)
            m.d.comb += Assert((level <= k) | (each.beats != 0))
        with m.If(level != 0):
            m.d.comb += Assert(given < asked[0].beats)
        with m.Else():
            m.d.comb += Assert(given == 0)
        self.asked, self.in_memory, self.answered = asked, level, given
        self.r_moves = moves

    def _gives(self, m):
        """The beats of all bursts, in order: zeros, or the beat that the memory read there."""
        dut, config, o, r = self.dut, self.config, self.dut.o, self.dut.client.r
        head, asked = self.bursts[0], self.asked
        given, moves, is_zero = (
            Signal.like(head.beats, name="given"),
            Signal(name="moves"),
            Signal(),
        )
        is_last, was_stalled, leaves = Signal(), Signal(), Signal()
        leaves = probe(m, "dut.bursts.o__valid", 1) & probe(m, "dut.bursts.o__ready", 1)
        self.given, self.moves, self.is_zero = given, moves, is_zero
        m.d.comb += [
            moves.eq(o.valid & o.ready),
            is_zero.eq(head.phantom | dut.lost),
            is_last.eq(given + 1 == head.beats),
            Assert(leaves == (moves & is_last)),
            Assert(~o.valid | (self.level != 0)),
            Assert(~was_stalled | o.valid),
            # The memory's beats are taken just as they are given, or in quarantine.
            Assert(dut.lost | (self.r_moves == (moves & ~is_zero))),
            Assert(~dut.lost | r.ready),
            Assert(
                dut.idle
                == (~self.is_active & (self.level == 0) & ((dut.outstanding == 0) | dut.lost))
            ),
            Cover(moves & o.payload.last & (self.level == 2) & head.phantom),
            Cover(moves & is_last & ~is_zero & (head.beats == 3)),
        ]
        m.d.sync += [
            given.eq(Mux(leaves, 0, given + moves)),
            was_stalled.eq(o.valid & ~o.ready),
        ]
        lanes, bits = config.lanes, config.word_bits
        with m.If(o.valid):
            m.d.comb += [
                Assert(o.payload.last == (head.last & is_last)),
                Assert(o.payload.count == Mux(o.payload.last, head.count, lanes)),
                Assert(o.payload.raw == head.raw),
                *(
                    Assert(
                        o.payload.words[k]
                        == Mux(
                            is_zero | (k >= o.payload.count), 0, r.payload.data.word_select(k, bits)
                        )
                    )
                    for k in range(lanes)
                ),
            ]
            with m.If(~is_zero):
                m.d.comb += [
                    Assert(r.valid),
                    Assert(asked[0].address == head.address),
                    Assert(self.answered == given),
                ]
        begun, near = probe(m, "dut.has_begun", 1), probe(m, "dut.next_is_last", 1)
        m.d.comb += [
            Assert(probe(m, "dut.given", len(given)) == given),
            Assert(begun == (given != 0)),
            Assert(~begun | ((self.level != 0) & (near == is_last))),
            Assert((self.level == 0) | (given < head.beats)),
            Assert(self.level <= _BURSTS),
        ]
        number = 0
        most = config.burst_bytes // self.size
        for k, burst in enumerate(self.bursts):
            is_here = self.level > k
            is_asked = is_here & ~burst.phantom
            first = (burst.address >> self.low)[: most.bit_length() - 1]
            known = Array(each.as_value() for each in asked)[number]
            with m.If(is_here):
                m.d.comb += [
                    Assert((burst.beats != 0) & (first + burst.beats <= most)),
                    Assert(burst.single == (burst.beats == 1)),
                    Assert(burst.count <= lanes),
                ]
            with m.If(is_asked & ~dut.lost):
                m.d.comb += Assert(known == Cat(burst.address, burst.beats))
            number = number + is_asked
        is_first = (self.level != 0) & ~head.phantom
        m.d.comb += [
            Assert(dut.lost | (number == self.in_memory)),
            Assert(dut.lost | (self.answered == Mux(is_first, given, 0))),
        ]

    def _errors(self, m):
        """The first error of a stripe, and the address of the first since it was forgotten."""
        dut, head, o, r = self.dut, self.bursts[0], self.dut.o, self.dut.client.r
        earlier, error = Signal(ReadError, name="earlier"), Signal(ReadError, name="error")
        has_where, where = Signal(), Signal.like(dut.where)
        found = Mux(r.payload.resp == Response.DECERR, ReadError.DECERR, ReadError.SLVERR)
        m.d.comb += error.eq(earlier)
        with m.If(earlier == ReadError.NONE):
            with m.If(head.lost | (dut.lost & ~head.phantom)):
                m.d.comb += error.eq(ReadError.TIMEOUT)
            with m.Elif(~head.phantom & is_error(r.payload.resp)):
                m.d.comb += error.eq(found)
        with m.If(self.moves):
            m.d.sync += earlier.eq(Mux(o.payload.last, ReadError.NONE, error))
        with m.If(dut.clear):
            m.d.sync += has_where.eq(0)
        with m.Elif(self.moves & (error != ReadError.NONE) & ~has_where):
            m.d.sync += [has_where.eq(1), where.eq(head.address + (self.given << self.low))]
        m.d.comb += [
            Assert(~(o.valid & o.payload.last) | (o.payload.error == error)),
            Assert(probe(m, "dut.earlier", 2) == earlier),
            Assert(probe(m, "dut.has_where", 1) == has_where),
            Assert(~has_where | (dut.where == where)),
            Cover(self.moves & (error == ReadError.DECERR) & ~has_where & (self.given == 2)),
        ]


PROOFS = (
    Proof(
        name="stripe_reader",
        promise="Of each stripe just its beats are read, in bursts that credits cover and that are "
        "legal; all of its beats are given",
        components=(StripeReader,),
        design=ReadsStripes,
        sizes={
            "2 lanes": small(),
            "2 lanes, aligned stripes": small(channels=2),
            "4 lanes": small(lanes=4),
            "2 lanes, a codec that counts late": small_late(),
        },
        broken=faults(
            small(),
            16,
            late("dut.has_plenty"),
            stuck_at(0, "dut.left", 0),
            late("dut.next_is_last"),
            stuck_at(0, "dut.phantom"),
            stuck_at(1, "dut.can"),
            stuck_at(1, "dut.drained"),
        ),
    ),
)
