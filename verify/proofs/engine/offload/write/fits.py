"""The parts of a writer of streams fit together for ever: around a sender as its proof says."""

from unittest import mock

from amaranth.hdl import Assert, Cat, Module, Mux, Signal
from amaranth.lib.wiring import Out

from cdma.hdl.engine.offload.write import writer
from cdma.hdl.engine.offload.write.cut import BurstCutter
from cdma.hdl.engine.offload.write.log import BurstLog
from cdma.hdl.engine.offload.write.ring import WordRing
from cdma.hdl.engine.offload.write.send import BurstSender
from cdma.hdl.engine.offload.write.writer import StreamWriter
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import all_named
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, leave_ports_open
from cdma.verify.proofs.engine.offload.write.writer import (
    ADDRESS_BITS,
    BURST,
    COUNT_BITS,
    DEPTH,
    FRAMES,
    PART,
    TAGS,
    WORD_BITS,
    WritesStreams,
)
from cdma.verify.proofs.proof import Proof, faults

#: Cycles from a burst's issue to its answer, at least.
_ANSWER = 4
_WAITING = 2  # bursts that have ended and are not issued


class AnySender(BurstSender):
    """Issues the bursts that wait, in order, loads their frames, and drops what is discarded, at
    any time. What the proof of the sender needs of its bursts is asserted.

    ``left`` frames of issued bursts are to be loaded. ``issued`` are counted since a clear;
    ``issued[k]`` is the count of ``k`` cycles ago.
    """

    def __init__(self, *args):
        super().__init__(*args)
        self.level = Signal(range(_WAITING + 1), name="level")
        self.left = Signal(range(self.frames + 1), name="frames_left")
        self.pieces = [Signal(self.i.payload.shape(), name=f"piece{k}") for k in range(_WAITING)]
        self.issued = [Signal(COUNT_BITS, name=f"issued{k}") for k in range(_ANSWER)]
        self.dropped, self.answered = (
            Signal(COUNT_BITS, name=name) for name in ("dropped", "n_answered")
        )
        self.clears = Signal()
        self.low = self.frame_words.bit_length() - 1

    def frames_of(self, piece):
        """Frames of a burst."""
        return (piece.last >> self.low) - (piece.first >> self.low) + 1

    @property
    def due(self):
        """Frames of all bursts that have ended and are not loaded."""
        waits = [
            Mux(self.level > k, self.frames_of(piece), 0) for k, piece in enumerate(self.pieces)
        ]
        return self.left + waits[0] + waits[1]

    def elaborate(self, platform):
        m = Module()
        leave_ports_open(
            m, self, Out, "load", "issues", "is_idle", "holds", "outstanding", "client"
        )
        pops, was_issued, head = Signal(), Signal(), self.pieces[0]
        enters, place = Signal(), Signal(range(_WAITING + 1))
        leaves = self.discard & (self.level != 0)
        m.d.comb += [
            self.i.ready.eq(self.level != _WAITING),
            enters.eq(self.i.valid & self.i.ready),
            self.issues.eq(
                anything(m, 1, "any_issues")
                & (self.level != 0)
                & ~self.discard
                & ~was_issued
                & (self.outstanding != self.most)
            ),
            pops.eq(self.issues | leaves),
            place.eq(self.level - pops),
            self.load.eq(anything(m, 1, "any_load") & (self.left != 0)),
            self.is_idle.eq(anything(m, 1, "is_idle") & (self.level == 0) & (self.left == 0)),
            self.holds.eq(
                ((self.level != 0) & head.begins) | ((self.level > 1) & self.pieces[1].begins)
            ),
            self.client.b.ready.eq(1),
        ]
        answered = self.client.b.valid
        m.d.sync += [
            was_issued.eq(self.issues),
            self.level.eq(self.level + enters - pops),
            self.left.eq(self.left + Mux(self.issues, self.frames_of(head), 0) - self.load),
            self.outstanding.eq(self.outstanding + self.issues - answered),
            self.dropped.eq(self.dropped + leaves),
            self.answered.eq(self.answered + answered),
            self.issued[0].eq(self.issued[0] + self.issues),
            *(self.issued[k + 1].eq(self.issued[k]) for k in range(_ANSWER - 1)),
        ]
        with m.If(self.clears):
            m.d.sync += [each.eq(0) for each in (self.dropped, self.answered, *self.issued)]
        for k, piece in enumerate(self.pieces):
            with m.If(enters & (place == k)):
                m.d.sync += piece.eq(self.i.payload)
            with m.Elif(pops & (k + 1 < _WAITING)):
                m.d.sync += piece.eq(self.pieces[-1])
        self._check(m, enters)
        return m

    def _check(self, m, enters):
        """A burst follows the one before behind a whole frame, or begins a stream."""
        piece, last = self.i.payload, Signal.like(self.i.payload.last, name="last_place")
        with m.If(enters):
            m.d.sync += last.eq(piece.last)
            m.d.comb += [
                Assert(piece.first <= piece.last),
                Assert(piece.begins | (piece.first == (last + 1)[: len(last)])),
                Assert(piece.begins | ((last + 1) % self.frame_words == 0)),
                Assert(~piece.begins | ~self.holds),
            ]
        # Invariants.
        m.d.comb += [
            Assert(self.level <= _WAITING),
            *(
                Assert((self.level <= k) | (each.first <= each.last))
                for k, each in enumerate(self.pieces)
            ),
            Assert((self.issued[0] - self.answered)[:COUNT_BITS] == self.outstanding),
            Assert(self.outstanding <= self.most),
        ]
        self.last = last


class FitsForEver(WritesStreams):
    """As :class:`WritesStreams`, around any sender, for ever.

    The frames of the ring that are complete are those of bursts that wait, that are issued and not
    loaded, and of the open one. What has begun was tagged, issued and answered in this order, and
    no tag is overwritten before its burst's answer, nor before the first error's report is taken.
    """

    def elaborate(self, platform):
        m = Module()
        parts = {
            name: self._made(name, make)
            for name, make in (
                ("BurstSender", AnySender),
                ("BurstCutter", BurstCutter),
                ("WordRing", WordRing),
                ("BurstLog", BurstLog),
            )
        }
        with mock.patch.multiple(writer, PART_BYTES=PART, _LEAST_FRAMES=FRAMES, **parts):
            self.dut = dut = StreamWriter(
                ADDRESS_BITS, self.link_bytes, WORD_BITS, self.row_words, DEPTH, BURST
            )
            m.submodules.dut = all_named(dut, platform)
        self.sender, self.cutter = self.made["BurstSender"], self.made["BurstCutter"]
        self._streams(m)
        self._answers(m)
        self._frames(m)
        self._log(m)
        self._moves_on(m)
        self._bursts(m)
        self._rows(m)
        self._counts(m)
        return m

    def _made(self, name, make):
        """Keep what is made."""
        self.made = getattr(self, "made", {})

        def made(*args):
            self.made[name] = make(*args)
            return self.made[name]

        return made

    def _answers(self, m):
        """The memory answers what was issued some cycles ago."""
        b, sender = self.dut.client.b, self.sender
        m.d.comb += [
            b.valid.eq(anything(m, 1, "b_valid") & (sender.issued[-1] != sender.answered)),
            b.payload.as_value().eq(anything(m, 2, "b_resp")),
            sender.clears.eq(self.dut.clear),
            Assert(b.ready),
        ]

    def _bursts(self, m):
        """Invariants of the cutter: place of the next word, and of the first one of the burst."""
        dut, cutter, low = self.dut, self.cutter, PART.bit_length() - 1
        place, first = Signal.like(cutter.place, name="next_place"), Signal.like(cutter.place)
        begins, count, piece = Signal(name="begins"), Signal(range(8)), cutter.o.payload
        total, part = probe(m, "dut.cutter.total", low + 1), probe(m, "dut.cutter.part", 1)
        m.d.comb += count.eq(Mux(dut.valid, dut.i.count, 0))
        m.d.sync += place.eq(place + count)
        ends = cutter.o.valid
        with m.If(ends):
            m.d.sync += [first.eq(((place + count) >> low) << low), begins.eq(0)]
        with m.If(dut.start):
            m.d.sync += [place.eq(dut.address), first.eq(dut.address), begins.eq(1)]
        is_open = cutter.is_open
        is_going = ~self.has_ended | is_open
        m.d.comb += [
            Assert(total == place[:low] + count),
            Assert(part == (place[low:] + total[low])[:1]),
            Assert((piece.first == first) & (piece.begins == begins)),
            Assert(~is_open | (place > first)),
            Assert(~is_going | is_open | ((place == first) & (place % self.row_words == 0))),
            Assert(begins | (first % self.sender.frame_words == 0) | ~is_going),
            Assert(self.begun == is_open),
            Assert(~is_going | begins | (first == (self.sender.last + 1)[: len(first)])),
            Assert(~is_going | begins | ((self.sender.last + 1) % self.sender.frame_words == 0)),
            Assert(~(is_going & begins) | ~self.sender.holds),
        ]
        if self.row_words == 1:
            m.d.comb += Assert(~self.is_new | (begins & ~is_open))
        self.place, self.first, self.is_going = place, first, is_going

    def _rows(self, m):
        """Invariants of the ring: its frames are those of the bursts that are not loaded."""
        sender, low = self.sender, self.sender.low
        is_open, partial, open_frames = self.cutter.is_open, Signal(), Signal(range(FRAMES))
        level, has_words = self.level, self.has_words
        used = probe(m, "dut.ring.used", FRAMES.bit_length())
        moved, loaded = (probe(m, f"dut.ring.{name}", 1) for name in ("moved", "loaded"))
        m.d.comb += [
            # A frame of words that all belong to bursts that have ended.
            partial.eq(has_words & ~is_open & ~self.is_read),
            open_frames.eq(Mux(is_open, (self.place >> low) - (self.first >> low), 0)),
            Assert(probe(m, "dut.ring.has_words", 1) == has_words),
            Assert(self.made["WordRing"].level == level),
            Assert(~self.is_going | (level == self.place[: len(level)])),
            Assert(~is_open | (has_words == (level != 0))),
            Assert(is_open | self.has_ended | ~has_words),
            Assert(~self.is_read | (has_words & ~is_open & self.has_ended)),
            Assert((used + moved - loaded - self.frames + self.is_read)[: len(used)] == 0),
            Assert(self.frames + (has_words & ~self.is_read) <= FRAMES),
            Assert(self.frames + partial >= sender.left),
            Assert(self.discards | (self.frames + partial == sender.due + open_frames)),
        ]

    def _counts(self, m):
        """Invariants of the log: what was begun was tagged, issued, and answered in this order."""
        dut, sender = self.dut, self.sender
        opened = [Signal(COUNT_BITS, name=f"n_opened{k}") for k in range(_ANSWER + 1)]
        was_issued = probe(m, "dut.issued", 1)
        m.d.sync += opened[0].eq(opened[0] + dut.opens)
        m.d.sync += [opened[k + 1].eq(opened[k]) for k in range(_ANSWER)]
        with m.If(dut.clear):
            m.d.sync += [each.eq(0) for each in opened]
        owed = (opened[0] - sender.issued[0])[:COUNT_BITS]
        on_way = sum((self.late_by > k) & self.opened[k] for k in range(TAGS))
        here = owed + sender.outstanding + self.behind
        m.d.comb += [
            Assert(owed == (sender.dropped + sender.level + self.begun)[:COUNT_BITS]),
            Assert(self._is_tagged(opened, on_way)),
            Assert((self.issued + was_issued)[:COUNT_BITS] == sender.issued[0]),
            Assert(self.answered == sender.answered),
            Assert(probe(m, "dut.log.behind", DEPTH.bit_length()) == self.behind),
            Assert(self.had_error | dut.o_error.valid | (self.behind == 0)),
            # After a discard, two rows with words may come, and each may begin a burst.
            Assert(self.discards == self.drops[0]),
            Assert(self.drops[0] | ~self.drops[1]),
            Assert(self.discards | (sender.dropped == 0)),
            Assert(owed <= 3 + self.drops[0] + self.drops[1]),
            # While the first error waits, one more burst begins at most.
            Assert(self.had_error | self.discards | (here <= 7 + dut.o_error.valid)),
        ]
        m.d.comb += [
            Assert(self.behind <= self.report + 2),
            Assert(~dut.o_error.valid | (self.behind <= self.waits + 1)),
            Assert(self.waits <= self.report),
        ]
        for k in range(_ANSWER):
            m.d.comb += [
                Assert((opened[k + 1] - sender.issued[k])[:COUNT_BITS] < 16),
                Assert((opened[k] - opened[k + 1])[:COUNT_BITS] == self.opened[k]),
                Assert((sender.issued[0] - sender.issued[k])[:COUNT_BITS] <= k),
                Assert((sender.issued[k] - sender.answered)[:COUNT_BITS] <= sender.outstanding),
            ]

    def _is_tagged(self, opened, on_way):
        """Bursts that were tagged are those that have begun, but for some."""
        if self.row_words > 1:
            return (self.tagged + on_way)[:COUNT_BITS] == opened[0]
        ahead = (self.tagged - self.n_begun[0])[:COUNT_BITS] + TAGS  # -TAGS to 2
        same = [self.n_begun[k] == opened[k] for k in range(TAGS)]
        return (ahead[:COUNT_BITS] <= TAGS + 1 + self.is_new) & Cat(same).all()


PROOFS = (
    Proof(
        name="stream_writer_parts",
        promise="Around any sender, the parts of a writer of streams fit: no burst is lost, no "
        "frame read too early, each burst tagged before its answer",
        components=(StreamWriter,),
        design=FitsForEver,
        sizes={"rows of 2 words": (2, 2), "rows of 1 word": (2, 1)},
        depth=6,
        broken=faults(
            (2, 2),
            16,
            late("dut.cutter.opens"),
            stuck_at(0, "dut.cutter.is_open"),
            stuck_at(0, "dut.ring.moved"),
            stuck_at(0, "dut.ring.has_words"),
            late("dut.issued"),
        ),
    ),
)
