"""Bursts of a prefetch lie in the range of its stripes and have their words, and each stripe is
reported when its last burst was answered."""

from dataclasses import replace

from amaranth.asserts import AnyConst
from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data

from cdma.engine_codes import Status
from cdma.hdl.engine.common.errors import is_error, status_of
from cdma.hdl.engine.prefetch.records import is_stripe_halted
from cdma.hdl.engine.prefetch.writer import StripeWriter, _Burst
from cdma.verify.formal.axi_rules import Writes, check_strobes
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import all_named
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, leave_open, offer
from cdma.verify.proofs.engine.small import SmallConfig, small
from cdma.verify.proofs.proof import PDR, Proof, faults, swapped

_BURST, _WRITES = 2, 2  # beats of a burst, bursts outstanding


class WriterConfig(SmallConfig):
    """Bursts of two beats, two of them outstanding."""

    @property
    def burst_bytes(self) -> int:
        """Two beats."""
        return _BURST * self.beat_bytes

    @property
    def channel_writes(self) -> int:
        """As many as are in a FIFO at least."""
        return _WRITES


class LongConfig(WriterConfig):
    """Bursts of four beats."""

    @property
    def burst_bytes(self) -> int:
        """Four beats."""
        return 4 * self.beat_bytes


def _drops(m, dut):
    """Discards and the quarantine begin at any time. Discards stay until nothing is left, the
    quarantine as the port of the channel keeps it: a stripe may be left whose beats have not all
    come."""
    for name, is_left in (("discard", ~dut.drained | dut.has_place), ("lost", ~dut.drained)):
        stays = Signal(name=f"{name}_stays")
        m.d.comb += getattr(dut, name).eq(anything(m, 1, name) | stays)
        m.d.sync += stays.eq(getattr(dut, name) & is_left)


def _has_beats(m, dut, inside):
    """Invariants, which only shorten the search: the beats ``inside`` the buffer are those of the
    bursts that wait, that are issued or dropped, and of the open one."""
    layout, bits = _Burst(dut.config), len(dut.issued)
    most = dut.config.burst_bytes // dut.config.beat_bytes
    issued = data.StructLayout({"beats": bits, "dropped": 1})
    number, count = probe(m, "dut.number", bits), probe(m, "dut.count", bits)
    left, has_entry = [], {}
    for name, shape in (("bursts", layout), ("sent", issued)):
        valid = has_entry[name] = probe(m, f"dut.{name}.valid", 2)
        m.d.comb += Assert(valid != 2)
        for k in range(2):
            beats = data.View(shape, probe(m, f"dut.{name}.entry{k}", shape.size)).beats
            m.d.comb += Assert(~valid[k] | ((beats != 0) & (beats <= most)))
            # A burst whose address is offered is in both queues.
            is_twice = dut.client.aw.valid if (name, k) == ("bursts", 0) else 0
            left.append(Mux(valid[k] & ~is_twice, beats, 0))
    first = left[2]
    m.d.comb += [
        Assert(inside == sum(left, count) - (number - 1)),
        Assert((number != 0) & Mux(has_entry["sent"][0], number <= first, number == 1)),
        Assert(~dut.client.aw.valid | has_entry["bursts"][0]),
        Assert(count < most),
    ]


class CountsBursts(Elaboratable):
    """Stripes, their beats, answers, halts, discards, holds and the quarantine come at any time.

    A burst is outstanding from the first cycle of its address up to its answer. The writer is
    drained only when no burst is outstanding, and no beat in its buffer. The data of a burst whose
    address was taken has no gap, but behind a burst that was dropped: it waits while the beats of
    that one leave the buffer.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut, config = self.dut, self.dut.config
        m.submodules.dut = all_named(dut, platform)
        client, most = dut.client, config.burst_bytes // config.beat_bytes
        writes = Writes(
            m,
            client.aw,
            client.w,
            client.b,
            config.beat_bytes,
            most=_WRITES,
            depth=2,
            gap=most,
            holds_data=False,
            burst_bytes=config.burst_bytes,
            page_bytes=2 * config.burst_bytes,
        )
        leave_open(m, dut, "halt", "hold")
        offer(m, dut.i_place, "place")
        offer(m, dut.i, "i")
        _drops(m, dut)
        attr = Value.cast(dut.attr)
        inside, is_dropped = Signal(range(2 * most + 2)), Signal()
        m.d.comb += [
            dut.o_error.ready.eq(anything(m, 1, "error_ready")),
            attr.eq(AnyConst(len(attr))),
            is_dropped.eq(probe(m, "dut.moves", 1) & ~client.w.valid),
            Assert(dut.outstanding == writes.waiting + writes.offers),
            Assert(~dut.drained | ((dut.outstanding == 0) & (inside == 0))),
            Assert(~writes.is_due | client.w.valid | is_dropped),
            Cover(dut.drained & dut.has_place),
            Cover(writes.ends & (writes.level == 2)),
        ]
        m.d.sync += inside.eq(inside + probe(m, "dut.takes", 1) - probe(m, "dut.moves", 1))
        stored = probe(m, "dut.beats.stored", (2 * most).bit_length())
        m.d.comb += Assert(inside == stored + probe(m, "dut.beats.o__valid", 1))
        _has_beats(m, dut, inside)
        return m


class WritesInside(Elaboratable):
    """Stripes and their beats come at any time and lie in any one range; halts, discards, holds and
    the quarantine at any time. The memory answers at any time.

    No burst leaves the range, and all obey AXI. A burst has as many beats as its address says.
    Any beat, followed from the input on, is written to its place with its words and strobes, behind
    the beats before it, unless its stripe was halted or dropped. When the burst that ends with it
    is answered, its stripe is reported if it is the last beat, and only then.

    An error is reported, with its status, of an answer, unless the quarantine has begun before it,
    of a quarantine that begins while bursts are not answered or not issued, and of each stripe
    whose place is there in quarantine, when a beat of it comes, unless all is dropped. In
    quarantine no address is issued.
    """

    def __init__(self, dut):
        self.config, self.dut = dut.config, dut

    def elaborate(self, platform):
        m = Module()
        config, dut = self.config, self.dut
        m.submodules.dut = all_named(dut, platform)
        client, size = dut.client, config.beat_bytes
        aw, b = client.aw, client.b
        writes = Writes(
            m,
            aw,
            client.w,
            b,
            size,
            most=_WRITES,
            depth=2,
            gap=0,
            holds_data=False,
            keeps_address=True,
            burst_bytes=config.burst_bytes,
            page_bytes=2 * config.burst_bytes,
        )
        check_strobes(m, client.w, writes, 0)
        leave_open(m, dut, "halt", "hold")
        places, beats = offer(m, dut.i_place, "place"), offer(m, dut.i, "i")
        _drops(m, dut)
        attr = Value.cast(dut.attr)
        m.d.comb += [
            dut.o_error.ready.eq(anything(m, 1, "error_ready")),
            # An address may wait in quarantine while software changes those of the ring.
            attr.eq(anything(m, len(attr), "attr")),
            Assert(b.ready),
        ]
        bits = config.address_bits
        low, high = Signal(bits), Signal(bits + 1)
        place, keep, is_end = dut.i_place.payload.address, dut.i.payload.keep, dut.i.payload.last
        has_place, at = Signal(), Signal(bits + 1, name="at")  # of the next beat
        # Where stripes are aligned, none goes on behind a multiple of its most bytes.
        is_first, alignment = Signal(), config.alignment
        is_inside = is_first | (at % alignment != 0) if alignment == config.stripe_bytes else 1
        m.d.comb += [
            low.eq(AnyConst(bits)),
            high.eq(AnyConst(bits + 1)),
            Assume((low % size == 0) & (high % size == 0) & (high <= 1 << bits)),
            Assume(~dut.i_place.valid | ((place >= low) & (place % alignment == 0))),
            Assume(~(dut.i.valid & has_place) | ((at + size <= high) & is_inside)),
            # As the decompressor gives them.
            Assume(~dut.i.valid | (keep[0] & ((keep & (keep + 1)) == 0) & (is_end | keep.all()))),
            Assert(dut.has_place == has_place),
            Assert(dut.outstanding == writes.waiting + writes.offers),
            Assert(~beats | has_place),
            Assert(~places | ~has_place | (beats & dut.i.payload.last)),
        ]
        with m.If(beats):
            m.d.sync += [at.eq(at + size), is_first.eq(0)]
        with m.If(places):
            m.d.sync += [has_place.eq(1), at.eq(place), is_first.eq(1)]
        with m.Elif(beats & dut.i.payload.last):
            m.d.sync += has_place.eq(0)
        with m.If(aw.valid):
            m.d.comb += [
                Assert(aw.payload.address >= low),
                Assert(aw.payload.address + aw.payload.beats * size <= high),
            ]
        m.d.comb += Cover(writes.moves & (aw.payload.address > low))
        tag = Signal.like(dut.i_place.payload.tag, name="tag")
        with m.If(places):
            m.d.sync += tag.eq(dut.i_place.payload.tag)
        was_dropped = Signal(name="was_dropped")  # of the stripe whose place is there
        m.d.sync += was_dropped.eq((was_dropped & ~places) | dut.discard | dut.lost)
        self._follow(m, writes, places, beats, at, tag, was_dropped)
        self._report(m, has_place, tag, was_dropped)
        return m

    def _report(self, m, has_place, tag, was_dropped):
        """Errors. The first one waits until it is collected, others meanwhile are dropped."""
        dut, b, report = self.dut, self.dut.client.b, self.dut.o_error.payload
        waits, was_lost = Signal(name="waits"), Signal(name="was_lost")
        fails, is_stuck, is_stripe = (
            Signal(name=name) for name in ("fails", "is_stuck", "is_stripe")
        )
        status, is_own, own = Signal(8, name="status"), Signal(name="is_own"), Signal.like(tag)
        m.d.sync += was_lost.eq(dut.lost)
        m.d.comb += [
            fails.eq(b.valid & is_error(b.payload) & ~was_lost),
            is_stuck.eq(dut.lost & ~was_lost & ((dut.outstanding != 0) | dut.is_ready)),
            is_stripe.eq(has_place & dut.i.valid & (dut.lost | was_dropped)),
            Assert(dut.o_error.valid == waits),
            Assert(dut.idle == ((dut.drained | was_lost) & ~waits)),
            Assert(~(dut.lost | dut.discard | dut.hold) | (dut.issued == 0)),
            Cover(waits & is_own & (report.tag.job == 3)),
        ]
        with m.If((fails | is_stuck | (is_stripe & ~dut.discard & ~dut.halt.all)) & ~waits):
            answered = status_of(b.payload, Status.DEVICE_SLVERR)
            m.d.sync += [
                waits.eq(1),
                status.eq(Mux(fails, answered, Status.TIMEOUT)),
                is_own.eq(~fails & ~is_stuck),
                own.eq(tag),
            ]
        with m.Elif(dut.o_error.ready):
            m.d.sync += waits.eq(0)
        with m.If(waits):
            m.d.comb += [
                Assert(report.status == status),
                Assert(~is_own | (report.tag.as_value() == own.as_value())),
            ]

    def _follow(self, m, writes, places, beats, at, tag, was_dropped):
        """A beat that is picked at any time: its way, and the answer of the burst that it ends."""
        dut, w = self.dut, self.dut.client.w
        drops, own = dut.discard | dut.lost, Signal.like(tag, name="own_tag")
        # Beats in the buffer.
        inside, enters, leaves = Signal(4), Signal(name="enters"), probe(m, "dut.moves", 1)
        m.d.comb += enters.eq(beats & ~drops & ~was_dropped)
        m.d.sync += inside.eq(inside + enters - leaves)
        # The beat is in the buffer, behind `before` others; then the burst that ends with it is
        # not answered, nor are `ahead` others in front.
        picks, is_inside, is_sent = (Signal(name=name) for name in ("picks", "in_buffer", "sent"))
        before, ahead = Signal.like(inside), Signal.like(writes.bursts)
        picked, place = Signal.like(dut.i.payload, name="picked"), Signal.like(at, name="place")
        was_halted, halts, leads = Signal(name="was_halted"), Signal(name="halts"), Signal()
        m.d.comb += [
            picks.eq(anything(m, 1, "any_picks") & enters & ~is_inside & ~is_sent),
            # From the cycle on in which the beat can be in a burst.
            halts.eq(was_halted | drops | is_stripe_halted(m, dut.halt, own, "picked")),
            leads.eq(is_inside & leaves & (before == 0)),
            Assert(~is_inside | (before < inside)),
            Assert(~dut.drained | ((inside == 0) & (dut.outstanding == 0))),
            Assert(~writes.moves | leaves),
            Assert(~leads | writes.moves | halts),
        ]
        m.d.sync += [was_halted.eq(halts & ~picks), before.eq(before - leaves)]
        with m.If(picks):
            m.d.sync += [is_inside.eq(1), before.eq(inside - leaves), place.eq(at), own.eq(tag)]
            m.d.sync += picked.eq(dut.i.payload)
        with m.If(leads):
            m.d.sync += [is_inside.eq(0), is_sent.eq(writes.ends)]
            m.d.sync += ahead.eq(writes.bursts - writes.answers)
        with m.If(leads & writes.moves):
            m.d.comb += [
                Assert(w.payload.data == picked.words.as_value()),
                Assert(w.payload.strobe == picked.keep),
                Assert(writes.head.address + writes.sent * self.config.beat_bytes == place),
                Assert(~picked.last | w.payload.last),
            ]
        self._store(m, inside, is_inside, before, picked)
        _has_beats(m, dut, inside)
        with m.If(is_sent & writes.answers):
            m.d.sync += [ahead.eq(ahead - 1), is_sent.eq(ahead != 0)]
        is_answered = is_sent & writes.answers & (ahead == 0)
        m.d.comb += [
            Assert(~dut.written | writes.answers),
            Assert(~is_answered | (dut.written == (picked.last & ~dut.lost))),
            Cover(is_answered & dut.written & (writes.bursts == 2)),
            Cover(is_answered & ~picked.last & ~dut.lost),
            Cover(leads & ~writes.moves),
        ]

    def _store(self, m, inside, is_inside, before, picked):
        """Invariants, which only shorten the search: where the beats of the buffer are."""
        bits, rows = len(picked.words.as_value()) + len(picked.keep), 2 * _BURST
        head, stored = probe(m, "dut.beats.head", 2), probe(m, "dut.beats.stored", 3)
        is_out, out = probe(m, "dut.beats.o__valid", 1), probe(m, "dut.beats.o__payload", bits)
        row, memory = (
            Signal.like(head),
            Array(probe(m, f"dut.beats.memory[{k}]", bits) for k in range(rows)),
        )
        kept = Mux(is_out & (before == 0), out, memory[row])
        m.d.comb += [
            row.eq(head + before - is_out),
            Assert(inside == stored + is_out),
            Assert(~is_inside | (Cat(picked.words.as_value(), picked.keep) == kept)),
        ]


class ReportsEarly(StripeWriter):
    """Reports a stripe when it has its last beat, and not when that was written and answered."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        had_last = Signal()
        m.d.sync += had_last.eq(self.i.valid & self.i.ready & self.i.payload.last)
        m.d.comb += self.written.eq(had_last)
        return m


class ReportsLate(StripeWriter):
    """Reports an error of a write that is answered in quarantine."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        b = self.client.b
        with m.If(b.valid & is_error(b.payload)):
            m.d.comb += m.submodules.errors.valid.eq(1)
        return m


class WritesZeros(StripeWriter):
    """Sends zeros, and enables no byte."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += [self.client.w.payload.data.eq(0), self.client.w.payload.strobe.eq(0)]
        return m


class WritesZeroWords(StripeWriter):
    """Sends zeros in place of the words."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += self.client.w.payload.data.eq(0)
        return m


class DrainedEarly(StripeWriter):
    """Is drained when its buffer is empty, whatever is not answered."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        parts = m.submodules
        is_left = parts.bursts.o.valid | parts.sent.o.valid
        m.d.comb += self.drained.eq(parts.beats.empty & ~is_left)
        return m


class PausesInBurst(StripeWriter):
    """Gives no data in the cycle behind each beat."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        w, waits = self.client.w, Signal()
        m.d.sync += waits.eq(w.valid & w.ready)
        with m.If(waits):
            m.d.comb += [w.valid.eq(0), m.submodules.beats.o.ready.eq(0)]
        return m


def sized(channels: int, config=WriterConfig) -> WriterConfig:
    return replace(config(**vars(small(channels=channels))), address_bits=5)


PROOFS = (
    Proof(
        name="stripe_writer",
        promise="Each burst of a prefetch lies in its stripes and has their beats; a stripe is "
        "reported when its last burst was answered, and an error with its status",
        components=(StripeWriter,),
        design=lambda config: WritesInside(StripeWriter(config)),
        sizes={"bursts of 2": sized(1), "aligned stripes": sized(2)},
        slow=("bursts of 2", "aligned stripes"),
        mode=PDR,
        depth=8,
        broken=(
            *faults(
                sized(1),
                16,
                stuck_at(1, "dut.is_edge"),
                stuck_at(1, "dut.has_credit"),
                late("dut.has_place"),
                stuck_at(0, "dut.is_stuck"),
            ),
            *swapped(
                16,
                {
                    "reports a stripe before its answer": lambda: WritesInside(
                        ReportsEarly(sized(1))
                    ),
                    "reports a late answer": lambda: WritesInside(ReportsLate(sized(1))),
                    "sends zeros without strobes": lambda: WritesInside(WritesZeros(sized(1))),
                    "sends zeros": lambda: WritesInside(WritesZeroWords(sized(1))),
                    "is drained before the answers": lambda: WritesInside(DrainedEarly(sized(1))),
                    "pauses in a burst": lambda: WritesInside(PausesInBurst(sized(1))),
                },
            ),
        ),
    ),
    Proof(
        name="stripe_writer_counts",
        promise="A writer of stripes is drained only when no burst is outstanding and its buffer "
        "empty; data waits only for a burst that was dropped",
        components=(StripeWriter,),
        design=lambda config: CountsBursts(StripeWriter(config)),
        sizes={
            "bursts of 2": sized(1),
            "aligned stripes": sized(2),
            "bursts of 4": sized(1, LongConfig),
        },
        slow=("bursts of 2", "aligned stripes", "bursts of 4"),
        mode=PDR,
        depth=8,
        broken=swapped(
            16,
            {
                "is drained before the answers": lambda: CountsBursts(DrainedEarly(sized(1))),
                "pauses in a burst": lambda: CountsBursts(PausesInBurst(sized(1))),
            },
        )
        + faults(sized(1), 16, stuck_at(1, "dut.has_credit"), late("dut.outstanding")),
    ),
)
