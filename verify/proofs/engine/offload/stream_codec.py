"""Stripes through a compressor that knows sizes at the end only, or around it, in order."""

from unittest import mock

from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.engine_config import EngineConfig
from cdma.hdl.engine.offload import stream_codec
from cdma.hdl.engine.offload.stream_codec import StreamStripeCompressor
from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvcplus.compressor.unit import Compressor
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.engine.offload.stripes import offer_stripes
from cdma.verify.proofs.proof import Proof, faults, named

_PACKETS = 16  # that the component lets into the compressor


class AnyCompressor(Compressor):
    """Takes beats at any time, and gives rows of any content while it has a packet.

    It ends as many packets as have ended at its input, and gives a status with or behind the last
    row. ``packets`` have ended and not left, ``is_open`` says that another has begun, and ``owed``
    have left without a status.
    """

    def __init__(self, config):
        super().__init__(config)
        self.packets, self.owed = (Signal(6, name=name) for name in ("packets", "owed"))
        self.is_open, self.takes, self.ends = (Signal(name=n) for n in ("is_open", "takes", "ends"))

    def elaborate(self, platform):
        m = Module()
        takes, ends = self.takes, self.ends
        words, status = Value.cast(self.o.payload.words), self.o_status
        kept = anything(m, len(self.o.payload.keep), "kept")
        m.d.comb += [
            self.i.ready.eq(anything(m, 1, "i_ready")),
            self.o.valid.eq(anything(m, 1, "o_valid") & ((self.packets != 0) | self.is_open)),
            words.eq(anything(m, len(words), "o_words")),
            Assume(kept[0] & ((kept & (kept + 1)) == 0)),
            Assume(self.o.payload.last | kept.all()),
            self.o.payload.keep.eq(kept),
            self.o.payload.last.eq(anything(m, 1, "o_last") & (self.packets != 0)),
            takes.eq(self.i.valid & self.i.ready),
            ends.eq(self.o.valid & self.o.ready & self.o.payload.last),
            status.valid.eq(anything(m, 1, "status_valid") & (self.owed + ends != 0)),
            Value.cast(status.payload).eq(anything(m, len(Value.cast(status.payload)), "status")),
            Assert(self.o.ready & status.ready),
        ]
        m.d.sync += [
            self.packets.eq(self.packets + (takes & self.i.payload.last) - ends),
            self.owed.eq(self.owed + ends - status.valid),
        ]
        with m.If(takes):
            m.d.sync += self.is_open.eq(~self.i.payload.last)
        return m


class PassesStripes(Elaboratable):
    """A stripe, picked at any time, gives its own rows: raw its beats, each in its cycle, and coded
    the rows of the compressor, which no other stripe gives. Its status has what belongs to it.

    A queue of registers takes the place of the buffer of endings.
    """

    def __init__(self, config):
        self.config, self.dut = config, StreamStripeCompressor(config)

    def elaborate(self, platform):
        m = Module()
        made, queues = [], []

        def unit(config):
            made.append(AnyCompressor(config))
            return made[0]

        def buffer(shape, depth, *, pipe):
            assert not pipe
            queues.append(Queue(shape, depth))
            return queues[0]

        with (
            mock.patch.object(stream_codec, "unit_class", return_value=unit),
            mock.patch.object(stream_codec, "RowBuffer", buffer),
        ):
            m.submodules.dut = elaborated(self.dut, platform)
        (self.unit,), (self.endings,) = made, queues
        self._beats(m)
        self._counts(m)
        self._follow(m)
        self._refund(m)
        return m

    def _beats(self, m):
        """All beats enter the compressor, those of raw stripes too."""
        dut, config, beat = self.dut, self.config, self.dut.i.payload
        self.enters, number, self.is_raw = offer_stripes(m, dut.i, config)
        into, size = self.unit.i.payload, config.word_bytes
        m.d.comb += [
            Assert((number != 0) == self.unit.is_open),
            Assert(self.unit.takes == self.enters),
            Assert(~dut.i.valid | (Value.cast(into.words) == Value.cast(beat.words))),
            Assert(into.last == beat.last),
        ]
        for lane in range(config.lanes):
            due = (beat.count > lane).replicate(size)
            m.d.comb += Assert(into.keep[lane * size : (lane + 1) * size] == due)

    def _counts(self, m):
        """Raw stripes are in front of all others in the compressor."""
        unit, endings = self.unit, self.endings
        dropped, whole = probe(m, "dut.dropped", 5), probe(m, "dut.whole", 5)
        self.dropped = dropped
        is_coded = unit.is_open & ~self.is_raw
        inside = Signal(7, name="inside")
        count = Signal(7, name="endings_held")
        m.d.comb += [
            inside.eq(unit.packets + unit.is_open),
            count.eq(unit.packets + unit.owed),
            Assert(dropped + whole + is_coded == inside),
            Assert(~(unit.is_open & self.is_raw) | ((whole == 0) & (dropped != 0))),
            Assert(count <= _PACKETS),
            *(Assert(endings.valid[k] == (count > k)) for k in range(_PACKETS)),
            Assert(probe(m, "dut.is_first", 1) == ~unit.is_open),
            Cover((dropped == 2) & (whole == 1)),
            Cover((whole == 2) & self.dut.i.valid & self.dut.i.payload.raw),
        ]

    def _follow(self, m):
        """One stripe on its way through the compressor, and around it."""
        dut, unit, beat = self.dut, self.unit, self.dut.i.payload
        status, row, coded = unit.o_status, dut.o, unit.o.payload
        names = ("has_rows", "has_status", "is_whole", "raw")
        has_rows, has_status, is_whole, raw = (Signal(name=f"own_{name}") for name in names)
        ahead, before = Signal(6, name="ahead"), Signal(6, name="before")
        error = Signal.like(beat.error, name="own_error")
        begins = anything(m, 1, "marks") & self.enters & ~unit.is_open & ~has_rows & ~has_status
        ends_own = unit.ends & (ahead == 0) & has_rows
        given = status.valid & (before == 0) & has_status
        with m.If(begins):
            m.d.sync += [
                has_rows.eq(1),
                has_status.eq(1),
                raw.eq(beat.raw),
                ahead.eq(unit.packets - unit.ends),
                before.eq(unit.packets + unit.owed - status.valid),
            ]
        with m.Else():
            m.d.sync += [
                has_rows.eq(has_rows & ~ends_own),
                has_status.eq(has_status & ~given),
                ahead.eq(Mux(unit.ends & (ahead != 0), ahead - 1, ahead)),
                before.eq(Mux(status.valid & (before != 0), before - 1, before)),
            ]
        own_enters = begins | (has_rows & ~is_whole & self.enters)
        with m.If(own_enters):
            m.d.sync += [is_whole.eq(beat.last), error.eq(beat.error)]
        # Where it is.
        m.d.comb += [
            Assert(~has_rows | has_status),
            Assert(~has_status | is_whole | (has_rows & unit.is_open & (raw == self.is_raw))),
            Assert(~has_rows | (ahead + ~is_whole < unit.packets + unit.is_open + ~is_whole)),
            Assert(~(has_rows & ~is_whole) | (ahead == unit.packets)),
            Assert(~has_rows | (before == ahead + unit.owed)),
            Assert(~has_status | has_rows | (before < unit.owed)),
            Assert(~has_rows | (raw == (ahead < self.dropped))),
            Assert(~(has_rows & is_whole) | (ahead < unit.packets)),
        ]
        entry = Signal(len(self.endings.entries[0].as_value()), name="own_entry")
        entries = Array(each.as_value() for each in self.endings.entries)
        m.d.comb += entry.eq(entries[before[:4]])
        with m.If(has_status & is_whole):
            m.d.comb += Assert(entry == Cat(raw, Value.cast(error)))
        # What it gives.
        with m.If(self.enters & beat.raw):
            m.d.comb += [
                Assert(dut.o_valid),
                Assert(Value.cast(row.words) == Value.cast(beat.words)),
                Assert((row.count == beat.count) & (row.last == beat.last)),
                Assert(~(unit.o.valid & has_rows & (ahead == 0)) | raw),
            ]
        with m.If(unit.o.valid & has_rows & (ahead == 0)):
            size = self.config.word_bytes
            ones = [coded.keep[lane * size] for lane in range(self.config.lanes)]
            m.d.comb += Assert(dut.o_valid == (~raw | (self.enters & beat.raw)))
            with m.If(~raw):
                m.d.comb += [
                    Assert(Value.cast(row.words) == Value.cast(coded.words)),
                    Assert((row.last == coded.last) & (row.count == sum(ones[1:], ones[0]))),
                    Cover(row.last & (row.count == 3)),
                ]
        with m.If(given):
            m.d.comb += [
                Assert(dut.status_valid),
                Assert((dut.status.raw == raw) & (Value.cast(dut.status.error) == error)),
                Assert(~has_rows | ends_own),
                Cover(raw),
            ]

    def _refund(self, m):
        """What the reader charged for the words and what a stripe may grow, less its rows."""
        dut, config, status = self.dut, self.config, self.unit.o_status
        size, count = config.beat_bytes, status.payload
        beats, rows = Signal(8, name="word_beats"), Signal(8, name="own_rows")
        most = config.stripe_bytes + config.growth_beats * size
        bytes_ = count.words * config.word_bytes
        m.d.comb += [
            Assume((count.words <= config.stripe_words) & (count.bytes <= most)),
            beats.eq((bytes_ + size - 1) // size),
            rows.eq(Mux(dut.status.raw, beats, (count.bytes + size - 1) // size)),
            # A stripe's stream does not grow beyond what is charged for it.
            Assume(rows <= beats + config.growth_beats),
            Assert(dut.status_valid == status.valid),
        ]
        with m.If(status.valid):
            m.d.comb += [
                Assert(dut.refund == (beats + config.growth_beats - rows) * config.lanes),
                Assert(dut.status.exceeds == (count.bytes > bytes_)),
            ]
        with m.Else():
            m.d.comb += Assert(dut.refund == 0)


SIZE = EngineConfig(channels=1, codec="zvcplus", type="fp32", stripe_bytes=1024)

PROOFS = (
    Proof(
        name="stream_stripe_compressor",
        promise="Stripes leave in order, raw ones as they are, also where sizes are known late",
        components=(StreamStripeCompressor,),
        design=PassesStripes,
        sizes=named(SIZE),
        slow=(SIZE.name,),
        broken=faults(
            SIZE,
            10,
            late("dut.dropped"),
            stuck_at(0, "dut.whole", 0),
            inverted("dut.rows", 0),
        ),
    ),
)
