"""The writer of bursts writes what it is given, where it is to be, and drops what it may drop."""

from dataclasses import dataclass

from amaranth.asserts import AnyConst
from amaranth.hdl import (
    Array,
    Assert,
    Assume,
    Cat,
    Const,
    Cover,
    Elaboratable,
    Module,
    Mux,
    Signal,
    Value,
)
from amaranth.lib import data

from cdma.engine_codes import Status
from cdma.hdl.axi.full import Response
from cdma.hdl.engine.common.records import Tag, is_halted
from cdma.hdl.engine.common.writer import BurstWriter
from cdma.verify.formal.axi_rules import Writes
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, leave_open, offer
from cdma.verify.proofs.engine.inside import InsideFifo, total
from cdma.verify.proofs.proof import Proof, faults

ISSUED = 4  # bursts that are issued or dropped and whose beats are in the buffer


@dataclass(frozen=True)
class Size:
    """A small writer: bursts of few beats, two of them to a page."""

    data_bytes: int = 2
    burst: int = 2
    most: int = 2
    address_bits: int = 5

    @property
    def depth(self) -> int:
        """Beats of the buffer: two bursts."""
        return 2 * self.burst

    @property
    def name(self) -> str:
        """The size in words."""
        return f"bursts of {self.burst} of {self.data_bytes} bytes, {self.most} outstanding"

    def make(self) -> BurstWriter:
        """The writer of this size."""
        return BurstWriter(
            self.address_bits,
            self.data_bytes,
            self.depth,
            Status.DEVICE_SLVERR,
            self.most,
            self.burst * self.data_bytes,
        )


class WritesWhatItGets(Elaboratable):
    """Beats, halts, flushes and holds come at any time; the memory answers at any time.

    Assumed of the beats: while a burst is open, the next beat is the one behind it, and all lie in
    one range. The proof of the index packer has this; the word packer counts up from the start of a
    stream, the channel of a prefetch from that of a stripe, which ends with ``last``. A unit holds
    ``flush`` or ``discard`` until no burst is open, before beats of another place come
    (``tests/sim/engine`` with the rules of AXI and of memory ranges).

    One beat, picked at any time, is followed: it is written just once, at its address, with its
    data and strobe, or it belongs to a burst that was halted or discarded before its address was
    issued. Its burst is followed until its answer, which has its end and its error. Strobes pass
    untouched, so that a beat without a byte is written just when one was given.
    """

    def __init__(self, size):
        self.size, self.dut = size, size.make()

    def elaborate(self, platform):
        m = Module()
        dut, size = self.dut, self.size
        m.submodules.dut = elaborated(dut, platform)
        client = dut.client
        burst_bytes = size.burst * size.data_bytes
        self.gap = (ISSUED - 1) * size.burst
        self.writes = Writes(
            m,
            client.aw,
            client.w,
            client.b,
            size.data_bytes,
            most=size.most,
            depth=ISSUED,
            # Only while the beats of dropped bursts are taken out, one in a cycle.
            gap=self.gap,
            burst_bytes=burst_bytes,
            page_bytes=2 * burst_bytes,
        )
        leave_open(m, dut, "flush", "discard", "hold", "halt", "attr", "channel")
        offer(m, dut.i, "i")
        m.d.comb += [
            dut.o_error.ready.eq(anything(m, 1, "error_ready")),
            Assert(client.b.ready),
        ]
        self._probes(m)
        self._given(m)
        self._bursts(m)
        self._levels(m)
        self._progress(m)
        self._follow(m)
        return m

    def _probes(self, m):
        """What waits inside: the open burst, the one that ended, those that are issued."""
        dut = self.dut
        burst = dut_burst(dut)
        entry = data.StructLayout({"beats": burst["beats"].shape, "dropped": 1})

        def view(shape, path):
            return data.View(shape, probe(m, path, shape.size))

        self.opened, self.ended = view(burst, "dut.is_open$"), view(burst, "dut.bursts.entry0")
        self.valid = probe(m, "dut.addresses.valid", ISSUED)
        self.issued = [view(entry, f"dut.addresses.entry{k}") for k in range(ISSUED)]
        self.sent = probe(m, "dut.sent", entry["beats"].width)
        # What happens in a cycle.
        self.takes, self.moves = Signal(name="takes_beat"), Signal(name="moves_beat")
        self.leaves, self.issues = Signal(name="leaves_burst"), Signal(name="issues_burst")
        is_dropped = self.issued[0].dropped
        m.d.comb += [
            self.takes.eq(dut.i.valid & dut.i.ready & ~dut.discard),
            self.issues.eq(dut.issued != 0),
            self.leaves.eq(dut.is_ready & probe(m, "dut.bursts.o__ready", 1)),
            self.moves.eq(self.valid[0] & (is_dropped | (dut.client.w.valid & dut.client.w.ready))),
        ]

    def _given(self, m):
        """Beats continue the open burst, and all are in one range."""
        dut, beat, size = self.dut, self.dut.i.payload, self.size.data_bytes
        bits = self.size.address_bits
        self.first_tag = Signal(Tag())
        self.is_after = Signal(bits + 1)  # address behind the last beat
        low, high = Signal(bits), Signal(bits + 1)
        m.d.comb += [low.eq(AnyConst(bits)), high.eq(AnyConst(bits + 1))]
        m.d.comb += Assume((low % size == 0) & (high % size == 0))
        with m.If(dut.i.valid):
            m.d.comb += [
                Assume(beat.address % size == 0),
                Assume((beat.address >= low) & (beat.address < high)),
                Assume(~dut.is_open | dut.discard | (beat.address == self.is_after)),
            ]
        with m.If(self.takes):
            m.d.sync += self.is_after.eq(beat.address + size)
            with m.If(~dut.is_open):
                m.d.sync += self.first_tag.eq(beat.tag)

        def is_inside(address, beats):
            return (address >= low) & (address + beats * size <= high)

        aw = dut.client.aw
        with m.If(aw.valid):
            m.d.comb += Assert(is_inside(aw.payload.address, aw.payload.beats))
        for is_there, burst in ((dut.is_open, self.opened), (dut.is_ready, self.ended)):
            with m.If(is_there):
                m.d.comb += [
                    Assert(is_inside(burst.address, burst.beats)),
                    Assert(burst.beats != 0),
                    Assert(burst.address % size == 0),
                    Assert(self._place(burst.address) + burst.beats <= self.size.burst),
                ]
        with m.If(dut.is_open):
            end = self.opened.address + self.opened.beats * size
            m.d.comb += [
                Assert(self._place(self.opened.address) + self.opened.beats < self.size.burst),
                Assert(Value.cast(self.opened.tag) == Value.cast(self.first_tag)),
                Assert(self.is_after == end),
                Assert(~self.opened.last),
            ]

    def _place(self, address):
        """Beat of a burst's longest range that an address is at."""
        low = self.size.data_bytes.bit_length() - 1
        return address[low : low + self.size.burst.bit_length() - 1]

    def _bursts(self, m):
        """What is issued and dropped, and the bursts that the monitor of the port sees."""
        dut, writes, valid = self.dut, self.writes, self.valid
        job = self.ended.tag
        may_drop = dut.discard | is_halted(dut.halt, job.job, job.number)
        with m.If(self.issues):
            m.d.comb += [Assert(self.leaves & ~may_drop & ~dut.hold), Assert(dut.is_ready)]
            m.d.comb += Assert(dut.issued == self.ended.beats)
        with m.If(self.leaves & ~self.issues):
            m.d.comb += Assert(may_drop)
        goes = [valid[k] & ~entry.dropped for k, entry in enumerate(self.issued)]
        ranks = [total(goes[:k]) for k in range(ISSUED)]
        self.ranks = ranks
        items = Array(
            Mux(writes.level > k, writes.entries[k].beats, writes.fresh.beats)
            for k in range(ISSUED)
        )
        m.d.comb += [
            Assert((valid & (valid + 1)) == 0),
            Assert(total(goes) == writes.level + writes.offers),
            Assert(writes.sent == Mux(goes[0], self.sent, 0)),
            Assert(self.sent < Mux(valid[0], self.issued[0].beats, 1)),
        ]
        for k, entry in enumerate(self.issued):
            with m.If(valid[k]):
                m.d.comb += Assert((entry.beats != 0) & (entry.beats <= self.size.burst))
            with m.If(goes[k]):
                m.d.comb += Assert(items[ranks[k]] == entry.beats)
        # A dropped burst takes as many cycles as it has beats: only then the data have a gap.
        waits = probe(m, "w_idle", (self.gap + 1).bit_length())
        drops = [valid[k] & ~total(goes[: k + 1]).any() for k in range(ISSUED)]
        ahead = total(Mux(drops[k], entry.beats, 0) for k, entry in enumerate(self.issued))
        with m.If(waits != 0):
            m.d.comb += [
                Assert(writes.is_due),
                Assert(waits + ahead - self.sent <= self.gap),
            ]

    def _levels(self, m):
        """Beats of the buffer are those of the bursts; answers are those of issued bursts."""
        dut, writes, valid = self.dut, self.writes, self.valid
        counts = [Mux(valid[k], entry.beats, 0) for k, entry in enumerate(self.issued)]
        held = total(counts) + Mux(dut.is_open, self.opened.beats, 0)
        held += Mux(dut.is_ready, self.ended.beats, 0)
        self.inside = inside = Signal(range(2 * dut.depth), name="inside")
        m.d.sync += inside.eq(inside + self.takes - self.moves)
        self.beats = beats = InsideFifo(m, "dut.beats", dut.depth, 9 * dut.data_bytes)
        self.waiting = waiting = InsideFifo(m, "dut.waiting", dut.most, _waiting(dut).size)
        aw, b, most = dut.client.aw, dut.client.b, self.size.most
        bits = (most + 1).bit_length()
        addresses, complete = probe(m, "w_addresses", bits), probe(m, "w_bursts", bits)
        m.d.comb += [
            Assert(inside + self.sent == held),
            Assert(beats.level == inside),
            Assert(beats.is_valid | ((beats.stored <= 1) & ~valid[0])),
            Assert(waiting.level == dut.outstanding),
            Assert(dut.outstanding == writes.waiting + writes.offers),
            Assert(dut.outstanding == addresses + aw.valid),
            Assert(dut.outstanding == complete + writes.level + writes.offers),
            Assert(~b.valid | waiting.is_valid),
            Assert(
                waiting.is_valid | (waiting.stored == 0) | ((waiting.stored == 1) & writes.offers)
            ),
            Assert(dut.idle == ((inside == 0) & (dut.outstanding == 0) & ~dut.o_error.valid)),
            Assert(dut.answers == b.valid),
        ]
        m.d.comb += Cover(writes.moves & (writes.level == 2))

    def _progress(self, m):
        """A burst ends where it must and nowhere else; nothing waits without need."""
        dut, valid = self.dut, self.valid
        beat, aw, w = dut.i.payload, dut.client.aw, dut.client.w
        self.count = count = Signal(range(self.size.burst + 1), name="open_beats")
        m.d.sync += count.eq(Mux(dut.collects, 0, count + self.takes))
        is_end = beat.last | (self._place(beat.address) == self.size.burst - 1)
        flushes = dut.is_open & (dut.flush | dut.discard) & ~dut.is_ready
        willing = aw.ready & w.ready & ~dut.hold & (dut.outstanding != self.size.most)
        m.d.comb += [
            Assert(dut.is_open == (count != 0)),
            Assert(~dut.is_open | (self.opened.beats == count)),
            Assert(dut.collects == Mux(self.takes, is_end, flushes)),
            # The buffer holds a whole burst at least.
            Assert(dut.i.ready | dut.is_ready | valid[0]),
            Assert(~willing | ~(dut.is_ready | valid[0]) | self.leaves | self.moves),
            Assert(~valid[0] | self.issued[0].dropped | w.valid),
        ]

    def _follow(self, m):
        """The followed beat, from where it is taken to the answer to its burst."""
        dut, writes, size, valid = self.dut, self.writes, self.size, self.valid
        beat, beats, waiting = dut.i.payload, self.beats, self.waiting
        aw, w, b = dut.client.aw, dut.client.w, dut.client.b
        open_, ended, issued = (Signal(name=f"is_{name}") for name in ("open", "ended", "issued"))
        dropped, fresh, is_inside = Signal(), Signal(), Signal(name="is_beat_inside")
        number, known = Signal.like(self.count, name="number"), Signal(_waiting(dut))
        stored, ahead = Signal(9 * size.data_bytes), Signal.like(self.inside, name="ahead")
        place, answers_ahead = Signal(range(ISSUED)), Signal(range(size.most + 1))
        attr, bursts_ahead = Signal.like(Value.cast(dut.attr)), Signal(range(ISSUED + 1))
        is_waiting = Signal(name="is_burst_inside")
        picks = self.takes & ~(open_ | ended | issued) & anything(m, 1, "picks")
        ends = self.moves & (self.sent + 1 == self.issued[0].beats)
        goes = is_inside & self.moves & (ahead == 0)
        with m.If(picks):
            first = Signal.like(beat.address)
            m.d.comb += first.eq(beat.address - self.count * size.data_bytes)
            m.d.sync += [
                open_.eq(~dut.collects),
                ended.eq(dut.collects),
                is_inside.eq(1),
                ahead.eq(self.inside - self.moves),
                number.eq(self.count),
                known.address.eq(first),
                known.last.eq(beat.last),
                known.tag.eq(Mux(dut.is_open, Value.cast(self.first_tag), Value.cast(beat.tag))),
                stored.eq(Cat(beat.data, beat.strobe)),
            ]
        with m.Elif(is_inside & self.moves):
            m.d.sync += [ahead.eq(Mux(ahead == 0, 0, ahead - 1)), is_inside.eq(ahead != 0)]
        with m.If(open_ & dut.collects):
            m.d.sync += [open_.eq(0), ended.eq(1), known.last.eq(self.takes & beat.last)]
        with m.If(ended & self.leaves):
            count = total(valid)
            m.d.sync += [
                ended.eq(0),
                issued.eq(1),
                is_waiting.eq(1),
                dropped.eq(~self.issues),
                attr.eq(Value.cast(dut.attr)),
                place.eq(count - ends),
                bursts_ahead.eq(writes.level + writes.offers - writes.ends),
                answers_ahead.eq(dut.outstanding - b.valid),
            ]
        m.d.sync += fresh.eq(ended & self.issues)
        with m.If(is_waiting & ends):
            m.d.sync += [place.eq(place - 1), is_waiting.eq(place != 0)]
        with m.If(issued & writes.ends & is_waiting):
            m.d.sync += bursts_ahead.eq(bursts_ahead - 1)
        with m.If(issued & b.valid & ~dropped):
            m.d.sync += answers_ahead.eq(answers_ahead - 1)
        is_answered = issued & ~dropped & b.valid & (answers_ahead == 0)
        with m.If(is_answered | (issued & dropped & ends & (place == 0))):
            m.d.sync += issued.eq(0)

        # What must be of the beat and of its burst.
        with m.If(fresh):
            m.d.comb += [
                Assert(writes.offers),
                Assert(aw.payload.address == known.address),
                Assert(aw.payload.beats > number),
                Assert(Value.cast(aw.payload.attr) == attr),
            ]
        with m.If(goes & ~dropped):
            m.d.comb += [
                Assert(issued & writes.moves),
                Assert((bursts_ahead == 0) & (writes.sent == number)),
                Assert(Cat(w.payload.data, w.payload.strobe) == stored),
                Cover((number == 1) & (answers_ahead == 1)),
            ]
        with m.If(goes & dropped):
            m.d.comb += [Assert(issued & ~w.valid), Cover(number == 1)]
        was_answered, expected = Signal(), Signal(dut.o_error.payload.shape())
        is_error = (b.payload == Response.SLVERR) | (b.payload == Response.DECERR)
        m.d.sync += was_answered.eq(is_answered & is_error)
        with m.If(is_answered):
            is_known = Value.cast(dut.oldest) == Value.cast(known)
            m.d.comb += [Assert(~is_inside & ~is_waiting), Assert(is_known)]
            m.d.comb += [Assert(dut.ends == known.last), Cover(is_error & known.last)]
        with m.Elif(~b.valid):
            m.d.comb += Assert(~dut.ends)
        # The report of its error, unless another one waits.
        had_report = Signal()
        decerr = Const(Status.DEVICE_DECERR, 8)
        m.d.sync += [
            had_report.eq(dut.o_error.valid),
            expected.tag.eq(known.tag),
            expected.where.eq(known.address),
            expected.status.eq(
                Mux(b.payload == Response.DECERR, decerr, Const(Status.DEVICE_SLVERR, 8))
            ),
            expected.channel.eq(dut.channel),
            expected.halts.eq(1),
        ]
        with m.If(was_answered & ~had_report):
            m.d.comb += [
                Assert(dut.o_error.valid),
                Assert(Value.cast(dut.o_error.payload) == Value.cast(expected)),
            ]
        # Where they are inside.
        m.d.comb += [
            Assert(open_ + ended + issued <= 1),
            Assert(~(open_ | ended) | is_inside),
            Assert(~is_inside | open_ | ended | (issued & is_waiting)),
            Assert(~is_waiting | issued),
            Assert(~is_inside | (ahead < self.inside)),
            Assert(~is_inside | (beats.at(ahead) == stored)),
            Assert(~fresh | (issued & ~dropped & is_waiting)),
        ]
        behind = self.inside - Mux(dut.is_open, self.opened.beats, 0)
        for stage, burst, there, before in (
            (open_, self.opened, dut.is_open, behind),
            (ended, self.ended, dut.is_ready, behind - self.ended.beats),
        ):
            with m.If(stage):
                m.d.comb += [
                    Assert(there),
                    Assert(burst.beats > number),
                    Assert(burst.address == known.address),
                    Assert(Value.cast(burst.tag) == Value.cast(known.tag)),
                    Assert(ahead == before + number),
                ]
        with m.If(ended):
            m.d.comb += Assert(self.ended.last == known.last)
        with m.If(is_waiting):
            entries = Array(Value.cast(entry) for entry in self.issued)
            entry = data.View(self.issued[0].shape(), entries[place])
            before = total(Mux(place > k, e.beats, 0) for k, e in enumerate(self.issued))
            m.d.comb += [
                Assert((valid >> place)[0]),
                Assert(entry.dropped == dropped),
                Assert(entry.beats > number),
                Assert(dropped | (bursts_ahead == Array(self.ranks)[place])),
                Assert(is_inside == (self.sent <= before + number)),
                Assert(~is_inside | (ahead + self.sent == before + number)),
            ]
        with m.If(issued & ~dropped):
            m.d.comb += [
                Assert(answers_ahead < dut.outstanding),
                Assert(waiting.at(answers_ahead) == Value.cast(known)),
            ]
            # Its answer comes after its data.
            goes_before = writes.level + writes.offers
            with m.If(is_waiting):
                m.d.comb += Assert(answers_ahead + goes_before == dut.outstanding + bursts_ahead)
            with m.Else():
                m.d.comb += Assert(answers_ahead + goes_before < dut.outstanding)
        with m.If(issued & dropped):
            m.d.comb += Assert(is_waiting)


def _waiting(dut):
    """Layout of what waits for an answer."""
    return data.StructLayout({"tag": Tag(), "address": dut.address_bits, "last": 1})


def dut_burst(dut):
    """Layout of a burst inside the writer."""
    bits = {"address": dut.address_bits, "beats": (dut.burst_bytes // dut.data_bytes).bit_length()}
    return data.StructLayout({**bits, "last": 1, "tag": Tag()})


SMALL, LONG = Size(), Size(data_bytes=1, burst=4, most=4)

PROOFS = (
    Proof(
        name="burst_writer",
        promise="Each beat is written once, at its address, in bursts that obey AXI, or is dropped "
        "with its burst; errors and ends are those of the burst that was answered",
        components=(BurstWriter,),
        design=WritesWhatItGets,
        sizes={size.name: size for size in (SMALL, LONG)},
        slow=(SMALL.name, LONG.name),
        broken=faults(
            SMALL,
            10,
            late("dut.sent"),
            stuck_at(0, "dut.drops"),
            stuck_at(1, "dut.has_room"),
            stuck_at(0, "dut.current.address", 2),
            stuck_at(0, "dut.flushes"),
            inverted("dut.beats.o__payload", 1),
            inverted("dut.waiting.o__payload", 0),
        ),
    ),
)
