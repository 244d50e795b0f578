"""The reader of ranges asks only for its ranges, has room for all it asks for, and gives all."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.hdl.engine.common.bursts import RangeReader
from cdma.verify.formal.axi_rules import answer_reads, check_address
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, hold_to_rule
from cdma.verify.proofs.proof import PDR, Proof, faults, swapped

ADDRESS_BITS, DATA_BYTES, SIZE_BITS = 4, 2, 2
SIZES = {"burst_bytes": 2 * DATA_BYTES, "page_bytes": 2 * DATA_BYTES}
#: Most cycles without a beat while the memory answers and nothing stalls.
MOST_IDLE = 15


class ReadsRanges(Elaboratable):
    """Ranges follow each other and grow by pieces at any time; a stop or an end comes at any time.
    A piece that is offered may change, or be taken back.

    A range begins when all of the one before is asked for; its beats wait behind those of that one.
    Behind one that was abandoned it begins when nothing is left. All that ``AnyRanges`` in the
    proof of ``EntryReader`` assumes is asserted here.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        m.submodules.dut = elaborated(dut, platform)
        client, size = dut.client, DATA_BYTES
        width = ADDRESS_BITS + 1
        beats = answer_reads(m, client.ar, client.r, "r", most_beats=dut.depth)
        check_address(m, client.ar, size, None, "ar", **SIZES)
        takes, attr = dut.i.valid & dut.i.ready, Value.cast(dut.attr)
        end, next_beat = Signal(width), Signal(width)  # of the range; of it what is asked for
        stopped, has_last, was_abandoned = Signal(), Signal(), Signal()
        # Beats of all ranges that are covered and not given, where no range was abandoned.
        last, due = Signal(width + 1), Signal(width + 2)
        start, stop, abandon = Signal(), anything(m, 1, "stop"), anything(m, 1, "abandon")
        is_exact = Signal(init=1)  # nothing is left of a range that was abandoned
        gives, asks = dut.o.valid & dut.o.ready, client.ar.valid & client.ar.ready
        m.d.comb += [
            Value.cast(dut.i.payload).eq(anything(m, len(Value.cast(dut.i.payload)), "any_piece")),
            dut.i.valid.eq(anything(m, 1, "i_valid")),
            attr.eq(AnyConst(len(attr))),
            start.eq(anything(m, 1, "start") & dut.asked & is_exact),
            dut.start.eq(start),
            dut.address.eq(anything(m, ADDRESS_BITS, "address")),
            dut.stop.eq(stop | stopped),
            # Until all is asked for; then nobody looks.
            dut.abandon.eq(abandon | (was_abandoned & ~dut.asked)),
            dut.final.eq(anything(m, 1, "final")),
            dut.o.ready.eq(anything(m, 1, "o_ready")),
            last.eq((end + size - 1) & -size),
            # The range stays below the end of memory.
            Assume(~takes | (end + dut.i.payload.size <= 1 << ADDRESS_BITS)),
        ]
        grown, moved = Signal(width + 1), Signal(width)
        m.d.comb += [
            grown.eq((end + dut.i.payload.size + size - 1) & -size),
            moved.eq(end + dut.i.payload.size),
        ]
        # The beat that the range begins in counts with its first byte.
        is_empty = Signal(init=1)
        is_first = is_empty & (dut.i.payload.size != 0) & end[0]
        added = Mux(takes, ((grown - last) >> 1) + is_first, 0)
        with m.If(start):
            m.d.sync += [
                end.eq(dut.address),
                next_beat.eq(dut.address & -size),
                stopped.eq(0),
                has_last.eq(0),
                was_abandoned.eq(0),
                is_empty.eq(1),
            ]
        with m.Else():
            m.d.sync += [stopped.eq(stopped | stop), was_abandoned.eq(was_abandoned | abandon)]
            with m.If(takes):
                m.d.sync += [end.eq(moved), has_last.eq(dut.i.payload.last)]
                m.d.sync += is_empty.eq(is_empty & (dut.i.payload.size == 0))
        m.d.sync += due.eq(due + added - gives)
        ar = client.ar.payload
        with m.If(asks):
            m.d.sync += next_beat.eq(ar.address + (ar.beats << 1))
        with m.If(dut.abandon & ~dut.asked):
            m.d.sync += is_exact.eq(0)
        with m.Elif(dut.idle):
            m.d.sync += is_exact.eq(1)
            with m.If(~is_exact):
                m.d.sync += due.eq(0)
        self._ends(m, start, takes, has_last, beats)
        self._follow(m)
        # All that is asked for is in the range, in order, and there is room for it.
        with m.If(client.ar.valid):
            m.d.comb += [
                Assert(~is_empty),
                Assert(ar.address == next_beat),
                Assert(ar.address + (ar.beats << 1) <= last),
                Assert(Value.cast(ar.attr) == attr),
            ]
        with m.If(client.r.valid):
            m.d.comb += Assert(probe(m, "dut.buffer.i__ready", 1))
        # No more beats are given than belong to the ranges, and all of them.
        with m.If(dut.o.valid & is_exact):
            m.d.comb += Assert(due != 0)
        with m.If(dut.idle & is_exact):
            m.d.comb += Assert(due == 0)
        with m.If(dut.asked & is_exact):
            m.d.comb += Assert(due <= dut.depth)
        # Something moves while the memory answers and nothing stalls.
        waits, idle = Signal(), Signal(range(MOST_IDLE + 2))
        willing = client.ar.ready & dut.o.ready & ((beats == 0) | client.r.valid)
        m.d.comb += waits.eq(has_last & (due != 0) & willing & is_exact & ~abandon)
        m.d.sync += idle.eq(Mux(waits & ~gives, idle + 1, 0))
        m.d.comb += [
            Assert(idle < MOST_IDLE),
            Cover(gives & (due == 1) & has_last & (next_beat > 5) & ~stopped & is_exact),
            Cover(gives & (due == 1) & stopped & (end > 9) & is_exact & dut.asked),
            Cover(start & (due == 2)),
            Cover(dut.asked & has_last & is_empty & end[0]),
            Cover(dut.asked & was_abandoned & ~has_last),
        ]
        return m

    def _ends(self, m, start, takes, has_last, beats):
        """A range takes pieces up to its last, not two in a row, and is asked for only then or when
        it is abandoned; when the reader is idle, nothing is on its way. Beats are held. No burst
        begins with a stop, or when the range is abandoned."""
        dut = self.dut
        was_taken, had_start, was_asked, may_end, must_not, was_valid = (
            Signal(name=name, init=name == "was_asked")
            for name in ("was_taken", "had_start", "was_asked", "may_end", "must_not", "was_valid")
        )
        hold_to_rule(m, dut.o, "o")
        if dut.at_once:
            self._begins_at_once(m, start, takes, had_start)
        m.d.sync += [
            was_taken.eq(takes),
            had_start.eq(start),
            was_asked.eq(dut.asked & ~start),
            may_end.eq((has_last & ~start) | dut.abandon),
            must_not.eq(dut.stop | dut.abandon),
            was_valid.eq(dut.client.ar.valid),
        ]
        m.d.comb += [
            Assert(dut.client.r.ready),
            Assert(~takes | ~(was_taken | has_last | dut.asked)),
            Assert(~had_start | ~dut.asked),
            Assert(~was_asked | dut.asked),
            Assert(~dut.asked | was_asked | may_end),
            Assert(~dut.idle | (dut.asked & ~dut.o.valid & (beats == 0))),
            Assert(~dut.client.ar.valid | was_valid | ~must_not),
            Cover(dut.idle & may_end & ~was_asked),
        ]

    def _begins_at_once(self, m, start, takes, had_start):
        """With nothing left of earlier ranges, a piece right behind the start is asked for in the
        next cycle, if nothing more can come to its burst."""
        dut, piece = self.dut, self.dut.i.payload
        was_idle, is_due = Signal(), Signal()
        m.d.sync += [
            was_idle.eq(dut.idle),
            is_due.eq(
                had_start
                & was_idle
                & takes
                & (piece.size != 0)
                & (piece.last | dut.final)
                & ~dut.stop
                & ~dut.abandon
            ),
        ]
        m.d.comb += [Assert(~is_due | dut.client.ar.valid), Cover(is_due)]

    def _follow(self, m):
        """A beat that is picked at any time is given behind those before it, as it was read."""
        r, o = self.dut.client.r, self.dut.o
        inside, before = Signal(4), Signal(4)
        is_inside, picks, gives = Signal(), Signal(), Signal()
        kept = Signal.like(o.payload, name="picked")
        m.d.comb += [
            gives.eq(o.valid & o.ready & (inside != 0)),
            picks.eq(anything(m, 1, "any_picks") & r.valid & ~is_inside),
            Assert(~is_inside | (before < inside)),
            Cover(is_inside & o.valid & (before == 0) & (kept.data != 0)),
        ]
        m.d.sync += [inside.eq(inside + r.valid - gives), before.eq(before - gives)]
        with m.If(picks):
            m.d.sync += [is_inside.eq(1), before.eq(inside - gives)]
            m.d.sync += [kept.data.eq(r.payload.data), kept.resp.eq(r.payload.resp)]
        with m.Elif(gives & (before == 0)):
            m.d.sync += is_inside.eq(0)
        with m.If(is_inside & o.valid & (before == 0)):
            m.d.comb += Assert(Value.cast(o.payload) == Value.cast(kept))


class ForgetsAttributes(RangeReader):
    """Asks with no attributes."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += Value.cast(self.client.ar.payload.attr).eq(0)
        return m


class IdleTooEarly(RangeReader):
    """Is idle behind a range that was abandoned, whatever is on its way."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        was_abandoned = Signal()
        with m.If(self.start):
            m.d.sync += was_abandoned.eq(0)
        with m.Elif(self.abandon & ~self.asked):
            m.d.sync += was_abandoned.eq(1)
        with m.If(was_abandoned):
            m.d.comb += self.idle.eq(self.asked)
        return m


class GivesNoErrors(RangeReader):
    """Gives beats without their error."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        m.d.comb += self.o.payload.resp.eq(0)
        return m


def _reader(depth: int, at_once: bool = False, made=RangeReader) -> ReadsRanges:
    return ReadsRanges(made(ADDRESS_BITS, DATA_BYTES, depth, SIZE_BITS, 2 * DATA_BYTES, at_once))


_SIZES = {"bursts of 2, room for 2": (2,), "bursts of 2, room for 2, at once": (2, True)}


PROOFS = (
    Proof(
        name="range_reader",
        promise="A reader of ranges asks for its range in order and for nothing else, has room for "
        "all, and gives all as it was read",
        components=(RangeReader,),
        design=lambda size: _reader(*size),
        sizes=_SIZES,
        slow=tuple(_SIZES),
        mode=PDR,
        depth=6,
        broken=(
            *faults(
                (2,),
                24,
                stuck_at(0, "dut.reach", 0),
                stuck_at(1, "dut.fits"),
                late("dut.is_last"),
            ),
            *faults((2, True), 24, stuck_at(0, "dut.is_first"), stuck_at(0, "dut.first", 0)),
            *swapped(
                24,
                {
                    "asks without attributes": lambda: _reader(2, made=ForgetsAttributes),
                    "is idle too early": lambda: _reader(2, made=IdleTooEarly),
                    "gives no errors": lambda: _reader(2, made=GivesNoErrors),
                },
            ),
        ),
    ),
)
