"""Bursts go to their addresses, with the words that they have and with no others."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data

from cdma.hdl.engine.offload.write.cut import Piece
from cdma.hdl.engine.offload.write.send import BurstSender
from cdma.verify.formal.axi_rules import Writes
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, leave_open
from cdma.verify.proofs.proof import Proof, faults

ADDRESS_BITS, WORD_BITS = 8, 8
MOST = 3  # bursts that are issued and not answered
WAITING = 2  # entries of either queue


class SendsBursts(Elaboratable):
    """Bursts come at any time, each where the one before has ended, or with a new stream; memory
    takes and answers at any time. All is dropped at any time, until a new stream begins.

    An address is that of the burst's first beat, counted on from the start of its stream. Each beat
    comes from the frame that it lies in, and has just the words of its burst.
    """

    def __init__(self, size):
        self.link_bytes, self.frame_words, self.block = size
        self.frames = 2 * self.block // self.frame_words
        self.dut = BurstSender(
            ADDRESS_BITS,
            self.link_bytes,
            WORD_BITS,
            self.frame_words,
            self.frames,
            self.block,
            MOST,
        )

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        m.submodules.dut = elaborated(dut, platform)
        self.beat_low = (8 * dut.link_bytes // WORD_BITS).bit_length() - 1
        client = dut.client
        self.writes = Writes(
            m,
            client.aw,
            client.w,
            client.b,
            dut.link_bytes,
            most=MOST,
            depth=WAITING + 1,
            gap=1,
            burst_bytes=self.block,
            page_bytes=self.block,
        )
        self._queues(m)
        self._pieces(m)
        self._issues(m)
        self._sends(m)
        return m

    def _queues(self, m):
        """Entries of both queues, as pieces."""
        layout = Piece(self.block)
        bits = self.block.bit_length() - 1
        issued = data.StructLayout({"first": bits, "last": bits, "single": 1})
        self.ended, self.issued = (
            [data.View(shape, probe(m, f"dut.{name}.entry{k}", shape.size)) for k in range(WAITING)]
            for name, shape in (("ended", layout), ("issued", issued))
        )
        self.has_ended, self.has_issued = (
            probe(m, f"dut.{name}.valid", WAITING) for name in ("ended", "issued")
        )
        for valid in (self.has_ended, self.has_issued):
            m.d.comb += Assert((valid & (valid + 1)) == 0)

    def _pieces(self, m):
        """A piece follows the one before in its block, or begins a stream."""
        dut, piece = self.dut, self.dut.i.payload
        leave_open(m, dut, "attr")
        last, has_last, discards = Signal.like(piece.last, name="last_ended"), Signal(), Signal()
        self.enters = enters = Signal(name="enters")
        holds, address, was_held = Signal(), Signal(ADDRESS_BITS), Signal()
        part = self.frame_words  # a burst ends with a frame, or the stream with it
        m.d.comb += [
            dut.i.valid.eq(anything(m, 1, "i_valid")),
            Value.cast(piece).eq(anything(m, len(Value.cast(piece)), "any_piece")),
            enters.eq(dut.i.valid & dut.i.ready),
            dut.discard.eq(anything(m, 1, "any_discard") | discards),
            dut.address.eq(Mux(was_held, address, anything(m, ADDRESS_BITS, "any_address"))),
        ]
        with m.If(dut.i.valid):
            m.d.comb += [
                Assume(piece.first <= piece.last),
                Assume(piece.begins | (has_last & (piece.first == (last + 1)[: len(last)]))),
                Assume(~piece.begins | ~dut.holds),
                # What comes behind all that was dropped is a new stream.
                Assume(piece.begins | ~discards),
            ]
        # The stream goes on behind the end of a frame only.
        ends_frame = (last + 1) % part == 0
        m.d.comb += Assume(~dut.i.valid | piece.begins | ends_frame)
        with m.If(enters):
            m.d.sync += [last.eq(piece.last), has_last.eq(1)]
        m.d.sync += [
            holds.eq(Mux(enters & piece.begins, 1, holds & ~self._drops_begin(m))),
            address.eq(dut.address),
            was_held.eq(dut.holds),
            discards.eq(dut.discard & (dut.i.valid | self.has_ended[0])),
        ]
        m.d.comb += Assert(dut.holds == holds)
        first, second = self.ended
        with m.If(self.has_ended[1]):
            m.d.comb += [
                Assert(~second.begins | ~first.begins),
                Assert(self._follows(first, second)),
                Assert(second.last == last),
            ]
        with m.Elif(self.has_ended[0]):
            m.d.comb += Assert(first.last == last)
        with m.If(self.has_ended[0]):
            m.d.comb += Assert(has_last)
        for valid, entry in zip(self.has_ended, self.ended, strict=True):
            m.d.comb += Assert(~valid | (entry.first <= entry.last))
        begins = [self.has_ended[k] & self.ended[k].begins for k in range(WAITING)]
        m.d.comb += Assert(holds == (begins[0] | begins[1]))

    def _drops_begin(self, m):
        """The first burst of a stream is issued or dropped."""
        head = self.ended[0]
        return self.has_ended[0] & head.begins & (self.dut.issues | self.dut.discard)

    def _follows(self, before, after):
        is_next = after.first == (before.last + 1)[: len(before.last)]
        return after.begins | (is_next & ((before.last + 1) % self.frame_words == 0))

    def _issues(self, m):
        """What is issued is the oldest burst, at the address behind that of the one before."""
        dut, writes, head = self.dut, self.writes, self.ended[0]
        aw = dut.client.aw
        high = self.block.bit_length() - 1
        block, following = Signal(ADDRESS_BITS - high), Signal(ADDRESS_BITS - high)
        place, attr, beats = (
            Signal(high, name="place_issued"),
            Signal(len(dut.attr.as_value()), name="attr_issued"),
            Signal(9, name="beats_issued"),
        )
        now = Mux(head.begins, dut.address[high:], following)
        low = self.beat_low
        first, last = head.first[low:], head.last[low:]
        m.d.comb += [
            Assert(~dut.issues | (self.has_ended[0] & ~dut.discard & ~aw.valid)),
            Assert(dut.outstanding == writes.waiting + writes.offers),
            Assert(dut.outstanding <= MOST),
            Assert(dut.outstanding == writes.addresses + aw.valid),
            Assert(writes.waiting == writes.bursts + writes.level),
            Assert(dut.is_idle == ~(self.has_ended[0] | (writes.is_owed) | aw.valid)),
        ]
        with m.If(dut.issues):
            m.d.sync += [
                block.eq(now),
                following.eq(now + head.last.all()),
                place.eq(first << low),
                beats.eq(last - first + 1),
                attr.eq(dut.attr.as_value()),
            ]
        with m.If(aw.valid):
            m.d.comb += [
                Assert(aw.payload.address == (block << high) + place),
                Assert(aw.payload.beats == beats),
                Assert(Value.cast(aw.payload.attr) == attr),
                Cover(aw.payload.address == 0x1C & -dut.link_bytes),
            ]
        was_issued, step = Signal(), probe(m, "dut.block.step", 1)
        m.d.sync += was_issued.eq(dut.issues)
        self.was_issued = was_issued
        value, is_full = (
            probe(m, "dut.block.value", ADDRESS_BITS - high),
            probe(m, "dut.is_full", 1),
        )
        m.d.comb += [
            Assert(writes.offers == was_issued),
            Assert(~was_issued | aw.valid),
            Assert(is_full | aw.valid | (dut.outstanding != MOST)),
            # As many bursts are outstanding as may be: it is full no earlier. One may be answered.
            Assert(~is_full | (dut.outstanding >= MOST - 1)),
        ]
        is_end = Signal()
        with m.If(dut.issues):
            m.d.sync += is_end.eq(head.last.all())
        with m.If(aw.valid):
            m.d.comb += [
                Assert(value == block),
                Assert(~step),
                Assert((block + is_end)[: len(block)] == following),
                Assert(probe(m, "dut.is_end", 1) == is_end),
            ]
        with m.Else():
            m.d.comb += Assert((value + step)[: len(value)] == following)

    def _sends(self, m):
        """Each beat comes from its frame, with the words of its burst."""
        dut, writes, w = self.dut, self.writes, self.dut.client.w
        low, frame_low = self.beat_low, self.frame_words.bit_length() - 1
        level = Signal(range(WAITING + 2), name="bursts")
        items = [
            Mux(writes.level > k, Value.cast(writes.entries[k]), Value.cast(writes.fresh))
            for k in range(WAITING)
        ]
        m.d.comb += [
            level.eq(writes.level + writes.offers),
            Assert(level == self.has_issued[0] + self.has_issued[1]),
        ]
        for valid, item, entry in zip(self.has_issued, items, self.issued, strict=True):
            beats = (entry.last >> low) - (entry.first >> low) + 1
            with m.If(valid):
                m.d.comb += [
                    Assert(item == beats),
                    Assert(entry.first <= entry.last),
                    Assert(entry.single == (beats == 1)),
                ]
        # The frame at hand, and those that are to be loaded.
        head = self.issued[0]
        first, last = head.first[low:], head.last[low:]
        place, is_begun = Signal.like(first, name="place"), Signal()
        shift = frame_low - low
        kept = Signal(len(dut.frame.as_value()), name="kept")
        left, more = (
            probe(m, f"dut.{name}", self.frames.bit_length()) for name in ("left", "more")
        )
        has_frame, is_near = probe(m, "dut.has_frame", 1), probe(m, "dut.is_near", 1)
        m.d.comb += [
            place.eq(first + writes.sent),
            is_begun.eq(writes.sent != 0),
            dut.frame.as_value().eq(kept),
            Assert(probe(m, "dut.is_begun", 1) == is_begun),
        ]
        with m.If(dut.load):
            m.d.sync += kept.eq(anything(m, len(kept), "frame"))
        due = [
            Mux(valid, (entry.last >> frame_low) - (entry.first >> frame_low) + 1, 0)
            for valid, entry in zip(self.has_issued, self.issued, strict=True)
        ]
        loaded = (place >> shift) - (first >> shift) + has_frame  # of the oldest burst
        m.d.comb += [
            Assert(left + more + Mux(self.has_issued[0], loaded, 0) == due[0] + due[1]),
            Assert(~dut.load | (left != 0)),
            Assert(~has_frame | self.has_issued[0]),
            Assert(w.valid == has_frame),
        ]
        # A burst is to end early while few beats are left, no burst waits and few are out. What was
        # issued in the cycle before does not count yet.
        beats = Signal(range(4 * self.block), name="frames_left")
        is_little, least = (
            Signal(),
            max(2, 8 * 8 * dut.link_bytes // (WORD_BITS * self.frame_words)),
        )
        m.d.comb += beats.eq(due[0] + due[1] - Mux(self.has_issued[0], loaded, 0) - more)
        m.d.sync += is_little.eq(
            ~self.has_ended[0] & (beats < least) & (dut.outstanding < max(MOST // 2, 1))
        )
        m.d.comb += [Assert(dut.wants == is_little), Cover(dut.wants & dut.issues)]
        # The next frame of what was issued is loaded at once.
        is_waiting = self.has_issued[0] & ~has_frame
        m.d.comb += [
            Assert(more == Mux(self.was_issued, Mux(self.has_issued[1], due[1], due[0]), 0)),
            Assert(~is_waiting | (writes.idle == 0)),
        ]
        with m.If(is_begun):
            m.d.comb += [
                Assert(self.has_issued[0]),
                Assert(probe(m, "dut.next_beat", len(first)) == place),
                Assert(is_near == (place == last)),
                Assert(writes.sent <= last - first),
                Assert(has_frame | (place % (1 << shift) == 0)),
            ]
        with m.If(w.valid):
            words, size = 1 << low, WORD_BITS
            within = place % (1 << shift)
            m.d.comb += [
                Assert(w.payload.data == kept.word_select(within, words * size)),
                *(
                    Assert(
                        w.payload.strobe[k]
                        == ((place * words + k >= head.first) & (place * words + k <= head.last))
                    )
                    for k in range(words)
                ),
                Cover(w.payload.last & is_begun & (level == 2) & ~head.last.all()),
            ]


PROOFS = (
    Proof(
        name="burst_sender",
        promise="Each burst goes to the address behind the one before, with just its words, from "
        "their frames",
        components=(BurstSender,),
        design=SendsBursts,
        sizes={
            f"{link} words a beat, {frame} a frame": (link, frame, block)
            for link, frame, block in ((2, 2, 8), (2, 4, 8), (1, 4, 8), (4, 4, 8), (8, 8, 16))
        },
        broken=faults(
            (2, 4, 8),
            16,
            late("dut.is_full"),
            late("dut.is_end"),
            stuck_at(0, "dut.has_frame"),
            stuck_at(1, "dut.is_near"),
            late("dut.block.value"),
            late("dut.wants"),
        ),
    ),
)
