"""The parts of a writer of streams fit together: no burst is lost, no frame read too early."""

from unittest import mock

from amaranth.asserts import AnyConst
from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.engine.common.errors import is_error
from cdma.hdl.engine.offload.write import writer
from cdma.hdl.engine.offload.write.writer import StreamWriter
from cdma.verify.formal.axi_rules import Writes
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, leave_open
from cdma.verify.proofs.proof import BOUNDED, Proof, faults

WORD_BITS, ADDRESS_BITS = 8, 4
BURST, PART = 8, 4  # bytes of the longest burst, and of its parts
FRAMES, DEPTH = 16, 8  # of the ring; bursts that have begun and are not answered
TAGS = 4  # cycles from a burst's begin to its tag, at most
_SETTLES = 4  # cycles in which the count of frames settles, at most
REPORT = 2  # cycles for which a report waits, at most: two other sources are taken first
COUNT_BITS = DEPTH.bit_length() + 1


class WritesStreams(Elaboratable):
    """Streams follow each other; rows of any counts come at any time, but not a cycle after
    ``is_tight``. The memory takes and answers at any time. A discard lasts until all is forgotten.

    What each part needs of the others is asserted: room for each burst that has ended, frames that
    are complete when they are loaded, tag and address of a burst in time for its answer.
    """

    def __init__(self, size):
        self.link_bytes, self.row_words = size

    def elaborate(self, platform):
        m = Module()
        with (
            mock.patch.object(writer, "PART_BYTES", PART),
            mock.patch.object(writer, "_LEAST_FRAMES", FRAMES),
        ):
            self.dut = dut = StreamWriter(
                ADDRESS_BITS, self.link_bytes, WORD_BITS, self.row_words, DEPTH, BURST
            )
            m.submodules.dut = elaborated(dut, platform)
        self._streams(m)
        self._writes(m)
        self._frames(m)
        self._log(m)
        self._moves_on(m)
        return m

    def _streams(self, m):
        """A stream begins, has rows, ends, and another one follows when all of it is in bursts."""
        dut = self.dut
        leave_open(m, dut, "attr", "tag")
        has_ended, was_tight = Signal(init=1), Signal()
        discards, drops, address = Signal(), Signal(2), Signal(ADDRESS_BITS)
        low = self.row_words * WORD_BITS // 8 if self.row_words > 1 else 1
        is_tight = dut.is_tight if self.row_words == 1 else 1
        m.d.comb += [
            dut.start.eq(anything(m, 1, "start") & has_ended & ~dut.is_open & ~dut.clear),
            dut.address.eq(Mux(dut.start, anything(m, ADDRESS_BITS, "any_address"), address)),
            dut.valid.eq(anything(m, 1, "valid") & ~has_ended),
            # Rows that are dropped have no words: all but those on their way when a discard begins.
            # Rows of one word are those of the index, which come in the cycle itself.
            Assume(~dut.valid | (dut.i.count == 0) | (~(was_tight & is_tight) & ~drops[1])),
            dut.i.as_value().eq(anything(m, len(dut.i.as_value()), "any_row")),
            dut.flush.eq(has_ended),
            dut.discard.eq(anything(m, 1, "discard") | discards),
            dut.clear.eq(anything(m, 1, "clear") & has_ended & ~dut.is_open & dut.idle),
            Assume(dut.i.count <= self.row_words),
            Assume(~dut.start | (dut.address % low == 0)),
        ]
        m.d.sync += [
            was_tight.eq(dut.is_tight),
            address.eq(dut.address),
            has_ended.eq((has_ended | anything(m, 1, "ends")) & ~dut.start),
            discards.eq(dut.discard & ~dut.clear),
            drops.eq(Mux(dut.clear, 0, Cat(dut.discard, drops))),
        ]
        self.discards, self.drops, self.has_ended = discards, drops, has_ended
        # Each burst that begins ends once, and finds room.
        self.begun, ends = Signal(name="begun"), probe(m, "dut.cutter.o__valid", 1)
        opens, begun = dut.opens, self.begun
        m.d.sync += begun.eq(begun + opens - ends)
        m.d.comb += [
            Assert(~ends | probe(m, "dut.sender.i__ready", 1)),
            Assert(dut.collects == ends),
            Assert(begun | opens | ~ends),
            Assert(~begun | dut.is_open),
            Cover(ends & opens),
        ]

    def _writes(self, m):
        """Bursts obey AXI, and are answered some time after their last beat."""
        client = self.dut.client
        self.writes = Writes(
            m,
            client.aw,
            client.w,
            client.b,
            self.link_bytes,
            most=DEPTH - writer._NOT_ISSUED,
            depth=3,
            gap=2,
            holds_data=False,
            burst_bytes=BURST,
            page_bytes=BURST,
        )
        m.d.comb += Assert(client.b.ready)

    def _frames(self, m):
        """No frame is loaded that is not complete, and of a stream that has not ended."""
        dut, frame = self.dut, max(8 * self.link_bytes // WORD_BITS, self.row_words)
        frames, is_open, is_read = Signal(range(FRAMES + 2), name="complete"), Signal(), Signal()
        self.frames, self.has_words, self.is_read = frames, is_open, is_read
        level, total = Signal(range(frame)), Signal(range(2 * frame + 1))
        self.level = level
        load, completes, count = probe(m, "dut.ring.load", 1), Signal(), dut.i.count
        reads_open = load & (frames == 0) & ~dut.start
        moves = completes | (dut.start & is_open & ~is_read)
        m.d.comb += [
            total.eq(level + count),
            completes.eq(dut.valid & (total >= frame)),
            Assert(~load | (frames != 0) | (self.has_ended & is_open & ~is_read)),
            Assert(~load | ~dut.clear),
            # The frames of a row are none that are kept.
            Assert(~dut.valid | (count == 0) | (frames + 1 + (total > frame) <= FRAMES)),
        ]
        m.d.sync += [
            frames.eq(frames + moves - (load & ~reads_open)),
            is_read.eq((is_read | reads_open) & ~dut.start),
        ]
        with m.If(dut.valid):
            m.d.sync += [
                level.eq(total),
                is_open.eq(Mux(completes, total != frame, is_open | (count != 0))),
            ]
        with m.Elif(dut.start):
            m.d.sync += [level.eq(dut.address), is_open.eq(0)]
        with m.If(dut.clear):
            m.d.sync += [each.eq(0) for each in (frames, level, is_open, is_read)]

    def _log(self, m):
        """Tags come some cycles after their bursts have begun; reports are taken in a few."""
        dut = self.dut
        opened = [Signal(name=f"opened{k}") for k in range(TAGS)]
        m.d.sync += [opened[0].eq(dut.opens)]
        m.d.sync += [opened[k + 1].eq(opened[k]) for k in range(TAGS - 1)]
        late_by = Signal(range(TAGS + 1))
        is_index, any_tags = self.row_words == 1, anything(m, 1, "any_tags")
        waits, stalls = Signal(range(REPORT + 2)), dut.o_error.valid & ~dut.o_error.ready
        m.d.comb += [
            late_by.eq(AnyConst(len(late_by))),
            Assume(late_by <= TAGS),
            dut.tags.eq(any_tags if is_index else Array([dut.opens, *opened])[late_by]),
            dut.o_error.ready.eq(anything(m, 1, "error_ready") | (waits == REPORT)),
        ]
        m.d.sync += waits.eq(Mux(stalls, waits + 1, 0))
        bits = COUNT_BITS
        counts = [Signal(bits, name=name) for name in ("tagged", "issued", "answered", "done")]
        tagged, issued, answered, done = counts
        behind, ends = Signal(bits), Signal()
        self.tagged, self.issued, self.answered, self.done = counts
        self.opened, self.late_by, self.waits, self.report = opened, late_by, waits, REPORT
        is_bad = is_error(dut.client.b.payload)
        # As the proof of the log says.
        m.d.comb += [
            behind.eq(answered - done),
            ends.eq(
                (dut.answers | (behind != 0))
                & ~dut.o_error.valid
                & ~(dut.answers & (behind == 0) & is_bad)
            ),
        ]
        issues = probe(m, "dut.log.issues", 1)
        was_tagged, was_issued, had_error = Signal(bits), Signal(bits), Signal()
        m.d.sync += [
            tagged.eq(tagged + dut.tags),
            issued.eq(issued + issues),
            answered.eq(answered + dut.answers),
            done.eq(done + ends),
            was_tagged.eq(tagged),
            was_issued.eq(issued),
            had_error.eq((had_error | (dut.o_error.valid & dut.o_error.ready)) & ~dut.clear),
        ]
        with m.If(dut.clear):
            m.d.sync += [count.eq(0) for count in (*counts, was_tagged, was_issued)]
        self.behind, self.had_error = behind, had_error
        if is_index:
            self._tag_index(m)
        m.d.comb += [
            Assert(behind <= DEPTH),
            # All tags have come before all is forgotten.
            Assume(~dut.clear | ~Cat(opened).any()),
        ]
        # Until the first error's report is taken: no other one counts.
        with m.If(~had_error & ~(dut.o_error.valid & dut.o_error.ready)):
            m.d.comb += [
                # What is dropped needs no tag.
                Assert(~dut.tags | self.discards | ((tagged - done)[:bits] < DEPTH)),
                Assert(~issues | ((issued - done)[:bits] < DEPTH)),
                Assert(~dut.answers | (tagged != done)),
                Assert(~dut.answers | (issued != done)),
            ]

    def _tag_index(self, m):
        """Tags of the index come when its entries are counted, which may be given a little later:
        up to one burst before they begin, or two before a stream's first."""
        dut = self.dut
        begun = [Signal(COUNT_BITS, name=f"n_begun{k}") for k in range(TAGS)]
        is_new, tagged = Signal(name="is_new"), Signal(COUNT_BITS, name="now_tagged")
        m.d.sync += is_new.eq(dut.start | (is_new & ~dut.opens))
        m.d.sync += [begun[0].eq(begun[0] + dut.opens)]
        m.d.sync += [begun[k + 1].eq(begun[k]) for k in range(TAGS - 1)]
        with m.If(dut.clear):
            m.d.sync += [each.eq(0) for each in begun]
        most = 1 + (is_new & ~dut.opens)
        m.d.comb += [
            tagged.eq(self.tagged + dut.tags),
            Assume((begun[0] + dut.opens + most - tagged)[:COUNT_BITS] <= 3 + TAGS),
            Assume((tagged - begun[-1])[:COUNT_BITS] <= 2 + TAGS),
            Assume(~(dut.start | dut.clear) | (self.tagged == begun[0])),
        ]
        self.is_new, self.n_begun = is_new, begun

    def _moves_on(self, m):
        """Rows wait only for bursts that are on their way: else the stream would stop for ever."""
        dut, waits = self.dut, Signal(range(_SETTLES + 2))
        is_alone = dut.is_tight & dut.idle & ~dut.discard & ~self.has_ended
        m.d.sync += waits.eq(Mux(is_alone, waits + 1, 0))
        m.d.comb += [Assert(waits < _SETTLES), Cover(dut.is_tight & ~dut.discard)]


PROOFS = (
    Proof(
        name="stream_writer",
        promise="The parts of a writer of streams fit: no burst is lost, no frame read too early; "
        "bursts obey AXI",
        components=(StreamWriter,),
        design=WritesStreams,
        sizes={"rows of 2 words": (2, 2), "rows of 1 word": (2, 1)},
        slow=("rows of 2 words", "rows of 1 word"),
        mode=BOUNDED,
        depth=14,
        broken=faults(
            (2, 2),
            14,
            late("dut.cutter.opens"),
            stuck_at(0, "dut.cutter.is_open"),
            stuck_at(1, "dut.sender.load"),
        ),
    ),
)
