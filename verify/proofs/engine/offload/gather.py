"""Rows leave in the order of their stripes, each once, and AUTO waits for what it depends on."""

from dataclasses import replace
from unittest import mock

from amaranth.hdl import Array, Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.engine_codes import Raw
from cdma.hdl.engine.common.crc import unit_words
from cdma.hdl.engine.offload import gather
from cdma.hdl.engine.offload.gather import Gather
from cdma.hdl.engine.offload.policy import RawDecision
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, leave_open, offer, take
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import PDR, Proof, faults


class _ShortRows(Gather):
    """With rows of at most two words."""

    def __init__(self, config):
        with mock.patch.object(gather, "_MOST_BYTES", 2 * config.word_bytes):
            super().__init__(config)

    def elaborate(self, platform):
        with mock.patch.object(gather, "_MOST_BYTES", 2 * self.config.word_bytes):
            return super().elaborate(platform)


class TakesTurns(Elaboratable):
    """Channels offer rows and statuses at any time; the order names one channel after the other.

    Words of the channel whose turn it is are taken in order, each once: a row at a time, or while
    ``slow`` a unit at a time. The turn ends with a stripe's last words, with which the status of
    the stripe is taken.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        channels, lanes = dut.config.channels, dut.config.lanes
        size, unit = dut.o.words.shape().length, unit_words(dut.config)
        turns = offer(m, dut.order, "order")
        with m.If(dut.order.valid):
            m.d.comb += Assume(dut.order.payload < channels)
        rows = [offer(m, port, f"row{k}") for k, port in enumerate(dut.i)]
        ends = [offer(m, port, f"status{k}") for k, port in enumerate(dut.i_status)]
        for port in dut.i:
            row = port.payload
            m.d.comb += [
                Assume((row.count != 0) & (row.count <= lanes)),
                *(Assume((row.words[k] == 0) | (row.count > k)) for k in range(lanes)),
            ]
        leave_open(m, dut, "hold", "hold_last", "drops", "slow", "kept", "cut")
        turn = dut.order.payload
        valid = Array([port.valid for port in dut.i])[turn]
        has_status = Array([port.valid for port in dut.i_status])[turn]
        row = Signal(dut.i[0].payload.shape(), name="row")
        m.d.comb += row.as_value().eq(Array([Value.cast(port.payload) for port in dut.i])[turn])
        # Words of the beat that were taken; up to the end of the row, and of the unit.
        taken, start, whole, part, behind = (
            Signal(range(lanes + 1), name=name)
            for name in ("taken", "start", "whole", "part", "behind")
        )
        moves, ends_beat = Signal(), Signal()
        m.d.comb += [
            start.eq(taken & -size),
            whole.eq(Mux(start + size < row.count, start + size, row.count)),
            part.eq(Mux(taken + unit < row.count, taken + unit, row.count)),
            behind.eq(Mux(dut.slow, part, whole)),
            ends_beat.eq(behind == row.count),
            moves.eq(
                dut.order.valid
                & valid
                & (~row.last | has_status)
                & ~dut.hold
                & ~(dut.hold_last & ends_beat & row.last)
            ),
            Assert(turns == (moves & ends_beat & row.last)),
            Assert(dut.takes == (moves & (behind == whole))),
            Assert(~dut.takes | (dut.count == whole - start)),
            Assert(~(moves & dut.slow) | (taken < row.count)),
            Cover(turns & (turn == channels - 1)),
        ]
        with m.If(moves):
            m.d.sync += taken.eq(Mux(ends_beat, 0, behind))
        for k in range(channels):
            m.d.comb += [
                Assert(rows[k] == (moves & ends_beat & (turn == k))),
                Assert(ends[k] == (moves & ends_beat & row.last & (turn == k))),
            ]
        self._outputs(m, row, start, taken, moves, ends_beat & row.last)
        # Invariants: words are taken of a beat that is there.
        m.d.comb += Assert((taken == 0) | (dut.order.valid & valid & (taken < row.count)))
        if lanes > unit:
            place = probe(m, "dut.place", (lanes // unit - 1).bit_length())
            m.d.comb += Assert(place * unit == taken)
        return m

    def _outputs(self, m, row, start, taken, moves, is_end):
        """What was taken is at the outputs in the next cycle."""
        dut, unit = self.dut, unit_words(self.dut.config)
        size = dut.o.words.shape().length
        o, was = dut.o, Signal(dut.o.shape(), name="was")
        statuses = Array([Value.cast(port.payload) for port in dut.i_status])
        words = Value.cast(row.words) >> (start * dut.config.word_bits)
        takes, works, place = Signal(), Signal(), Signal.like(taken)
        m.d.sync += [
            takes.eq(dut.takes),
            works.eq(moves & dut.slow),
            place.eq((taken - start) // unit),
            was.words.eq(words),
            was.count.eq(dut.count),
            was.kept.eq(Mux(dut.drops, 0, dut.kept)),
            was.live.eq(~dut.drops),
            was.cut.eq(dut.cut & ~dut.drops),
            was.last.eq(is_end),
            was.channel.eq(dut.order.payload),
            was.status.eq(statuses[dut.order.payload]),
        ]
        m.d.comb += [Assert(dut.valid == takes), Assert(dut.works == works)]
        with m.If(takes):
            m.d.comb += [Assert(o[name] == was[name]) for name in ("count", "kept", "live", "cut")]
            m.d.comb += [Assert(o[name] == was[name]) for name in ("last", "channel")]
            with m.If(was.last):
                m.d.comb += Assert(Value.cast(o.status) == Value.cast(was.status))
        with m.If(takes | works):
            for k in range(size):
                m.d.comb += Assert((o.words[k] == was.words[k]) | (takes & (k >= o.count)))
        with m.If(works):
            m.d.comb += [
                Assert(dut.unit == place),
                Assert(dut.ends == was.last),
                Cover(dut.ends),
            ]


class WaitsForSize(Elaboratable):
    """A stripe of AUTO passes when the size of the one ``D`` before is known, and is raw when that
    one would be longer compressed.

    The stripes come in order; sizes become known in order, at any time after their stripe passed.
    One stripe, picked at any time, is remembered.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        distance = dut.config.auto_distance
        enters, leaves = offer(m, dut.i, "i"), take(m, dut.o, "o")
        number, known = Signal(4), Signal(4)  # of the next stripe; stripes of which it is known
        policy = Signal(2)
        m.d.comb += dut.policy.eq(policy)
        was_raw = Signal(2)
        m.d.sync += was_raw.eq(policy)
        is_fresh = Signal(init=1)
        m.d.sync += is_fresh.eq(0)
        with m.If(is_fresh):
            m.d.comb += policy.eq(anything(m, 2, "policy"))
        with m.Else():
            m.d.comb += policy.eq(was_raw)
        m.d.comb += [
            Assume(dut.i.payload.number == number),
            Assume(number < 12),
            dut.known.eq(anything(m, 1, "known") & (known != number)),
            dut.exceeds.eq(anything(m, 1, "exceeds")),
            Assert(enters == leaves),
        ]
        m.d.sync += [number.eq(number + enters), known.eq(known + dut.known)]
        picked, is_picked, exceeds = Signal(4), Signal(), Signal()
        with m.If(dut.known & ~is_picked & anything(m, 1, "pick")):
            m.d.sync += [is_picked.eq(1), picked.eq(known), exceeds.eq(dut.exceeds)]
        is_auto = policy == Raw.AUTO
        with m.If(dut.o.valid):
            raw = dut.o.payload.raw
            m.d.comb += [
                Assert(~is_auto | (number < distance) | (known + distance > number)),
                Assert(is_auto | (raw == (policy == Raw.ALWAYS))),
                Assert(~is_auto | (number >= distance) | ~raw),
            ]
            with m.If(is_auto & is_picked & (number == picked + distance)):
                m.d.comb += [Assert(raw == exceeds), Cover(raw), Cover(~raw)]
        return m


class Near(type(small())):
    """AUTO acts on the stripe two before."""

    @property
    def auto_distance(self) -> int:
        """Two stripes."""
        return 2


NEAR = Near(**vars(small()))
#: Beats of four words, and units of one.
UNITS = replace(small(2, lanes=4), link_bytes=1)

PROOFS = (
    Proof(
        name="gather",
        promise="Rows leave in the order of their stripes, each once, with the stripe's status",
        components=(Gather,),
        design=lambda size: TakesTurns(size[0](size[1])),
        sizes={
            "3 channels": (Gather, small(3)),
            "2 units a row": (Gather, UNITS),
            "2 rows a beat": (_ShortRows, UNITS),
        },
        broken=faults(
            (_ShortRows, UNITS),
            4,
            stuck_at(1, "dut.order__ready"),
            stuck_at(0, "dut.row_at_hand", 0),
            late("dut.count"),
            stuck_at(0, "dut.place", 0),
        ),
    ),
    Proof(
        name="raw_decision",
        promise="AUTO waits for the size of the stripe that it depends on, and follows it",
        components=(RawDecision,),
        design=lambda config: WaitsForSize(RawDecision(config)),
        sizes={"distance of 2": NEAR},
        slow=("distance of 2",),
        mode=PDR,
        depth=6,
        broken=faults(NEAR, 10, late("dut.count"), stuck_at(0, "dut.waits")),
    ),
)
