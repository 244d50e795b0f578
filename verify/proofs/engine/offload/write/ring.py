"""Words are packed without a gap, and each is in its frame when that is read."""

from amaranth.hdl import Array, Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data

from cdma.hdl.engine.offload.write.ring import WordRing
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, leave_open
from cdma.verify.proofs.proof import Proof, faults, swapped

WORD_BITS = 2
FRAMES = 8


class KeepsWords(Elaboratable):
    """Rows of any counts come at any time, but not a cycle after ``is_tight``; streams begin at any
    time, and frames are read at any time.

    A frame is read when it is complete, or when its stream has ended. One word, picked as it comes
    at any time, must be at its place when its frame is read, and until the next one is read. Of the
    two memories just the one that has the frame is read.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        m.submodules.dut = body = elaborated(dut, platform)
        memories = body.submodules.even_frames, body.submodules.odd_frames
        (even,), (odd,) = (memory.read_ports for memory in memories)
        m.d.comb += [Assert((even.en | odd.en) == dut.load), Assert(~(even.en & odd.en))]
        leave_open(m, dut, "clear", "align", "first", "valid", "i", "load")
        self._environment(m)
        self._word(m)
        return m

    def _environment(self, m):
        """Complete frames that were not read, and what is in the open one."""
        dut, frame = self.dut, self.dut.frame_words
        self.frames = frames = Signal(range(FRAMES + 2), name="frames")
        level, is_open = Signal.like(dut.level, name="at"), Signal()
        has_ended, is_read, was_tight = Signal(), Signal(), Signal()  # is_read: the open one
        total = Signal(range(2 * frame + 1), name="total")
        count = dut.i.count
        completes = dut.valid & (total >= frame)
        can_read = (frames != 0) | (has_ended & is_open & ~is_read)
        m.d.comb += [
            total.eq(level + count),
            Assume(count <= dut.row_words),
            Assume(~dut.valid | ~(was_tight | has_ended | dut.align)),
            Assume(~dut.clear | ~(dut.valid | dut.align | dut.load)),
            Assume(~dut.load | can_read),
            Assert(dut.level == level),
            Assert(dut.completes == completes),
            # The frames of a row are none that are kept.
            Assert(~dut.valid | (frames + 1 + (total > frame) <= FRAMES)),
            Cover(dut.is_tight & was_tight),
            Cover(frames == FRAMES - 3),
        ]
        moves = completes | (dut.align & is_open & ~is_read)
        reads_open = dut.load & (frames == 0) & ~dut.align
        m.d.sync += [
            was_tight.eq(dut.is_tight),
            has_ended.eq((has_ended | anything(m, 1, "ends")) & ~dut.align),
            frames.eq(frames + moves - (dut.load & ~reads_open)),
            is_read.eq((is_read | reads_open) & ~dut.align),
        ]
        with m.If(dut.valid):
            m.d.sync += [
                level.eq(total),
                is_open.eq(Mux(completes, total != frame, is_open | (count != 0))),
            ]
        with m.Elif(dut.align):
            m.d.sync += [level.eq(dut.first), is_open.eq(0)]
        with m.If(dut.clear):
            m.d.sync += [each.eq(0) for each in (frames, level, is_open, has_ended, is_read)]
        self._room(m, frames, is_open, is_read, was_tight)
        m.d.comb += [
            Assert(probe(m, "dut.has_words", 1) == is_open),
            Assert(~is_open | (level != 0)),
            Assert(~is_read | (is_open & has_ended & (frames == 0))),
        ]
        self.level, self.is_kept = level, is_open & ~is_read

    def _room(self, m, frames, is_open, is_read, was_tight):
        """Frames in use, now and up to three cycles ago, as the ring counts them late."""
        dut = self.dut
        bits = FRAMES.bit_length()
        used, ago = Signal(bits), [Signal(bits, name=f"used_{k}_ago") for k in (1, 2, 3)]
        counted, moved, loaded = (
            probe(m, f"dut.{name}", width)
            for name, width in (("used", bits), ("moved", 1), ("loaded", 1))
        )
        m.d.comb += used.eq(frames - is_read)
        for number, (each, before) in enumerate(zip(ago, (used, *ago), strict=False)):
            m.d.sync += each.eq(before)
            with m.If(dut.clear):
                m.d.sync += each.eq(0)
            step = Signal(bits, name=f"step_{number}")
            m.d.comb += [step.eq(before - each + 1), Assert(step <= 2)]
        most = FRAMES - 5
        row, after, first = (
            probe(m, f"dut.{name}", bits - 1) for name in ("row", "after", "first")
        )
        self.first = first
        m.d.comb += [
            Assert((row - first)[: bits - 1] == used[: bits - 1]),
            Assert((after - row)[: bits - 1] == 1),
            Assert((counted + moved - loaded)[:bits] == used),
            Assert(counted == ago[0]),
            Assert(dut.is_tight == (ago[1] > most)),
            Assert(was_tight | (ago[2] <= most)),
            Assert(frames + is_open <= FRAMES),
        ]

    def _word(self, m):
        """A word that waits ``ahead`` frames behind the next to be read, or is read."""
        dut, frame = self.dut, self.dut.frame_words
        waits, is_out = Signal(), Signal()
        ahead = Signal(range(FRAMES + 2))
        value, place = Signal(WORD_BITS), Signal(range(frame))
        number, target = Signal(range(dut.row_words)), Signal(range(2 * frame))
        picks = anything(m, 1, "picks") & dut.valid & ~waits & ~is_out
        m.d.comb += [
            number.eq(anything(m, len(number), "number")),
            target.eq(dut.level + number),
            Assume(~picks | (number < dut.i.count)),
        ]
        with m.If(picks):
            m.d.sync += [
                waits.eq(1),
                ahead.eq(self.frames + (target >= frame) - dut.load),
                value.eq(Array(dut.i.words[k] for k in range(dut.row_words))[number]),
                place.eq(target),
            ]
        with m.If(dut.load):
            with m.If(waits):
                m.d.sync += [ahead.eq(Mux(ahead == 0, 0, ahead - 1)), waits.eq(ahead != 0)]
            m.d.sync += is_out.eq(waits & (ahead == 0))
        with m.If(dut.clear):
            m.d.sync += [waits.eq(0), is_out.eq(0)]
        with m.If(is_out):
            m.d.comb += [
                Assert(Array(dut.o[k] for k in range(frame))[place] == value),
                Assert(~waits),
                Cover((value != 0) & (self.frames == FRAMES - 3)),
            ]
        rows = [
            probe(m, f"dut.{parity}_frames[{k}]", frame * WORD_BITS)
            for k in range(FRAMES // 2)
            for parity in ("even", "odd")
        ]
        found = Signal(data.ArrayLayout(WORD_BITS, frame))
        m.d.comb += Value.cast(found).eq(
            Array(rows)[(self.first + ahead)[: FRAMES.bit_length() - 1]]
        )
        with m.If(waits):
            is_stored = (ahead == self.frames) & self.is_kept & (place < self.level)
            m.d.comb += [
                Assert((ahead < self.frames) | is_stored),
                Assert(found[place] == value),
            ]


class _ReadsBoth(WordRing):
    """Reads both memories with each load."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        (even,) = m.submodules.even_frames.read_ports
        m.d.comb += even.en.eq(self.load)
        return m


PROOFS = (
    Proof(
        name="word_ring",
        promise="Each word is at its place when its frame is read; no frame is overwritten before",
        components=(WordRing,),
        design=lambda size: KeepsWords(WordRing(WORD_BITS, *size, FRAMES)),
        sizes={
            f"rows of {row}, frames of {frame}": (row, frame)
            for row, frame in ((1, 1), (1, 4), (2, 2), (2, 4), (4, 8))
        },
        broken=faults(
            (2, 2),
            20,
            late("dut.is_tight"),
            late("dut.is_odd"),
            stuck_at(0, "dut.has_words"),
            stuck_at(0, "dut.moved"),
        )
        + swapped(20, {"both memories": lambda: KeepsWords(_ReadsBoth(WORD_BITS, 2, 2, FRAMES))}),
    ),
)
