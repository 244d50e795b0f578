"""Each event is counted once, in its counter, and a snapshot is the state of one cycle."""

from dataclasses import replace

from amaranth.asserts import AnyConst
from amaranth.hdl import Array, Assert, Assume, Cat, Const, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.engine.front.counters import _BASE, _BLOCK_BITS, _STEP_BITS, Counters
from cdma.hdl.engine.job import BEATS, Events
from cdma.hdl.engine.registers import register_map
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, leave_open
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import BOUNDED, Proof, faults

_TOTAL_BITS = 64


class _Software(Elaboratable):
    """Events of all channels come, and software clears, takes snapshots and reads, at any time."""

    def __init__(self, channels):
        self.map = register_map(replace(small(channels), address_bits=32))
        self.dut = Counters(self.map)
        self.channels = [f"events{channel}" for channel in range(channels)]

    def _act(self, m, platform):
        m.submodules.dut = elaborated(self.dut, platform)
        leave_open(m, self.dut, "error", *self.channels, "clear", "take", "read")


class CountsAll(_Software):
    """One counter.

    A snapshot has the sum of all events of one counter since the last clear, up to the end of the
    frame in which it was asked for. When it is complete, both registers of the counter show it.
    Without a snapshot since the last clear or reset they are zero.
    """

    def __init__(self, name, channels=1, channel=0):
        super().__init__(channels)
        self.name, self.channel = name, channel

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        self._act(m, platform)
        place, ends = Signal(range(dut.frame)), Signal()
        m.d.comb += [
            ends.eq(place == dut.frame - 1),
            # One a direction.
            *(Assume(getattr(dut, each)[name] <= 2) for each in self.channels for name in BEATS),
        ]
        m.d.sync += place.eq(Mux(ends, 0, place + 1))
        snapshot, is_known = self._snapshot(m, ends, self._count(m, ends))
        self._read(m, snapshot, is_known)
        return m

    def _count(self, m, ends):
        """What the counter has counted in this frame before this cycle, or its maximum so far."""
        dut, name = self.dut, self.name
        events = Signal(Events(), name="last_events")
        m.d.sync += events.eq(getattr(dut, f"events{self.channel}"))
        simple = {"CYCLES": 1, "ERRORS": dut.error, "BURSTS": events.latency_valid}
        step, count = Signal(16), Signal(24)
        if name in simple:
            m.d.comb += step.eq(simple[name])
        elif name.startswith("LATENCY"):
            m.d.comb += step.eq(Mux(events.latency_valid, events.latency, 0))
        else:
            m.d.comb += step.eq(events[name.removeprefix("STALL_").lower()])
        if name == "LATENCY_MAX":
            following = Mux(step > count, step, count)
        else:
            following = Mux(ends, 0, count) + step
        m.d.sync += count.eq(Mux(dut.clear, 0, following))
        return count

    def _snapshot(self, m, ends, count):
        """Total at the end of the frame with the last take, zero after a clear, and whether both
        registers must show it."""
        dut = self.dut
        is_cleared, is_wanted, changes = Signal(init=1), Signal(), Signal(3)
        total, snapshot = Signal(_TOTAL_BITS), Signal(_TOTAL_BITS)
        is_new = is_cleared | (self.name == "LATENCY_MAX")
        following = Mux(is_new, 0, total) + count
        m.d.sync += [
            is_cleared.eq(Mux(dut.clear, 1, Mux(ends, 0, is_cleared))),
            is_wanted.eq(Mux(dut.take, 1, Mux(ends, 0, is_wanted))),
            changes[1:].eq(changes[:2]),
        ]
        with m.If(ends):
            m.d.sync += [total.eq(following), changes[0].eq(is_wanted)]
            with m.If(is_wanted):
                m.d.sync += snapshot.eq(following)
        # The snapshot of a take is complete when it is no more busy.
        is_taken = Signal()
        with m.If(dut.take):
            m.d.sync += is_taken.eq(1)
        with m.If(dut.clear):
            m.d.sync += [Cat(is_wanted, changes, is_taken).eq(0), snapshot.eq(0)]
        is_complete = is_taken & ~dut.busy & ~is_wanted
        m.d.comb += [
            Assert(is_taken | ~dut.busy),
            Cover(is_complete & (snapshot > 1) & (snapshot != total)),
            Cover(is_cleared & ~ends & (total > 1)),
        ]
        return snapshot, ~changes.any() | is_complete

    def _read(self, m, snapshot, is_known):
        """A register is its half of the snapshot, in the cycle after it was asked for."""
        dut = self.dut
        half, was_high, was_asked, was_known = Signal(), Signal(), Signal(), Signal()
        was = Signal(_TOTAL_BITS)
        block = "COUNTERS" if self.name in dut._totals else "CHANNEL_COUNTERS"
        address = self.map.block(block).address(f"{self.name}_LO", self.channel)
        m.d.comb += [
            half.eq(anything(m, 1, "half")),
            dut.address.eq(address + (half << 2)),
            Assert(dut.done == was_asked),
        ]
        m.d.sync += [
            was_high.eq(half),
            was_asked.eq(dut.read),
            was_known.eq(is_known),
            was.eq(snapshot),
        ]
        with m.If(was_known):
            m.d.comb += Assert(dut.data == Mux(was_high, was[32:], was[:32]))


class KeepsSnapshots(_Software):
    """A word of the snapshot changes only while ``busy``. What is read is half of its word, or zero
    from a clear or reset on until a snapshot is complete.

    In its turn, a running counter of 64 bits, whatever it is, grows by what was counted, or starts
    over with that. A word of the snapshot changes only to the counter, in the same cycle.
    """

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        self._act(m, platform)
        leave_open(m, dut, "address")
        is_cleared, starts_over, was_over = Signal(init=1), Signal(init=1), Signal(init=1)
        has_run = Signal()
        ends = self._frames(m, has_run)
        m.d.sync += [
            is_cleared.eq(Mux(dut.clear, 1, Mux(ends, 0, is_cleared))),
            starts_over.eq(Mux(ends, is_cleared, starts_over)),
            was_over.eq(starts_over),
        ]
        known = (("is_first", is_cleared), ("starts_over", starts_over), ("writes_first", was_over))
        m.d.comb += [Assert(probe(m, f"dut.{name}", 1) == signal) for name, signal in known]
        # Two places of the snapshot: one that is any, and that which is read.
        depth = (dut.channels + 1) << _BLOCK_BITS
        rows = Array(probe(m, f"dut.taken[{row}]", _TOTAL_BITS) for row in range(depth))
        place, asked = Signal(range(depth)), Signal(range(depth))
        word, was_word, was_asked = (Signal(_TOTAL_BITS, name=f"word{k}") for k in range(3))
        may_change, was_high, completes = Signal(), Signal(), Signal()
        names = ("is_taken", "takes", "takes_now")
        is_taken, takes, takes_now = (probe(m, f"dut.{name}", 1) for name in names)
        m.d.comb += [place.eq(AnyConst(len(place))), word.eq(rows[place])]
        m.d.comb += asked.eq(Cat(dut.address[3 : 3 + _BLOCK_BITS], (dut.address >> 7) - _BASE))
        m.d.sync += [
            has_run.eq(1),
            was_word.eq(word),
            may_change.eq(dut.busy),
            was_asked.eq(Mux(is_taken, rows[asked], 0)),
            completes.eq(~dut.clear & (is_taken | takes_now & ~takes)),
            was_high.eq(dut.address[2]),
        ]
        is_there = Signal()
        blocks = dut.address >> 7
        m.d.sync += is_there.eq((blocks >= _BASE) & (blocks <= _BASE + dut.channels))
        with m.If(~has_run):
            m.d.comb += Assert(~is_taken & ~dut.busy)
        with m.Else():
            m.d.comb += Assert(may_change | (word == was_word))
            m.d.comb += Assert(is_taken == completes)
            with m.If(is_there):
                m.d.comb += Assert(dut.data == was_asked.word_select(was_high, 32))
        m.d.comb += Cover(has_run & ~may_change & ~dut.busy & (word != 0))
        self._grow(m, place, has_run, was_over, word)
        return m

    def _grow(self, m, place, has_run, is_over, word):
        """The counter at a place and its word of the snapshot are those of the cycle before, or,
        in its turn, the sum."""
        dut = self.dut
        depth = (dut.channels + 1) << _BLOCK_BITS
        rows = Array(probe(m, f"dut.running[{row}]", _TOTAL_BITS) for row in range(depth))
        last, takes = probe(m, "dut.last_place", len(place)), probe(m, "dut.takes_now", 1)
        added = probe(m, "dut.added", _STEP_BITS + dut.frame.bit_length())
        names = ("count", "total", "next_count", "next_word")
        count, total, next_count, next_word = (Signal(_TOTAL_BITS, name=name) for name in names)
        is_maximum, is_turn = Signal(), Signal()
        maximum = dut._each.index("LATENCY_MAX")
        m.d.comb += [
            count.eq(rows[place]),
            is_maximum.eq((last >> _BLOCK_BITS != 0) & (last[:_BLOCK_BITS] == maximum)),
            total.eq(Mux(is_over | is_maximum, 0, count) + added),
            is_turn.eq(last == place),
            Assert(probe(m, "dut.is_maximum", 1) == is_maximum),
            Assert(has_run | is_over),
        ]
        m.d.sync += [
            next_count.eq(Mux(is_turn, total, count)),
            next_word.eq(Mux(is_turn & takes, total, word)),
        ]
        with m.If(has_run):
            m.d.comb += [
                Assert(probe(m, "dut.old__data", _TOTAL_BITS) == rows[last]),
                Assert(count == next_count),
                Assert(word == next_word),
            ]
        m.d.comb += Cover(is_turn & ~is_over & (count != total))

    def _frames(self, m, has_run):
        """Each counter has its turn once in a frame; gives the last cycle of it. Its sum is written
        a cycle later."""
        dut = self.dut
        turn, ends = Signal(range(dut.frame)), Signal()
        m.d.comb += ends.eq(turn == dut.frame - 1)
        m.d.sync += turn.eq(Mux(ends, 0, turn + 1))
        turns = [(column, block + 1) for column in dut._order for block in range(dut.channels)]
        turns += [(column, 0) for column in range(len(dut._totals))]
        number = probe(m, "dut.number", _BLOCK_BITS)
        block = probe(m, "dut.block", dut.channels.bit_length())
        last = probe(m, "dut.last_place", _BLOCK_BITS + len(block))
        m.d.comb += [
            Assert(turn < dut.frame),
            Assert(probe(m, "dut.ends", 1) == ends),
            Assert(has_run | ((turn == 0) & (last == 0))),
        ]
        for now, (column, of) in enumerate(turns):
            written = Cat(Const(turns[now - 1][0], _BLOCK_BITS), turns[now - 1][1])
            with m.If(turn == now):
                m.d.comb += Assert((number == column) & (block == of))
                m.d.comb += Assert(~has_run | (last == written))
        return ends


_NAMES = ("RAW_BEATS", "LATENCY_SUM", "LATENCY_MAX", "BURSTS", "CYCLES", "ERRORS")
_SIZES = {name: (name,) for name in _NAMES}
_SIZES |= {
    f"LATENCY_SUM, channel {channel} of 2": ("LATENCY_SUM", 2, channel) for channel in (0, 1)
}

PROOFS = (
    Proof(
        name="counters",
        promise="A snapshot has each event of a counter once, up to the end of one frame for all; "
        "without one since the last clear or reset, a counter reads zero",
        components=(Counters,),
        design=lambda size: CountsAll(*size),
        sizes=_SIZES,
        slow=tuple(_SIZES)[1:],
        mode=BOUNDED,
        depth=64,
        broken=faults(
            ("RAW_BEATS",),
            64,
            late("dut.ends"),
            stuck_at(0, "dut.raw_beats0", 1),
            stuck_at(1, "dut.is_first"),
            stuck_at(0, "dut.takes"),
        ),
    ),
    Proof(
        name="snapshots",
        promise="A snapshot stays until the next one, and what is read is a word of it, or zero "
        "until one is complete; a counter grows by what was counted in all of its bits",
        components=(Counters,),
        design=KeepsSnapshots,
        sizes={"1 channel": 1},
        broken=faults(
            1,
            40,
            stuck_at(0, "dut.busy"),
            stuck_at(0, "dut.half"),
            stuck_at(1, "dut.is_known"),
            stuck_at(0, "dut.is_maximum"),
            stuck_at(0, "dut.write__data", 0),
        ),
    ),
)
