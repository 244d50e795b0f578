"""The 64-bit counters of the engine and of each channel, with an atomic snapshot."""

from itertools import pairwise

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.job import Events
from cdma.hdl.engine.registers import ADDRESS_BITS, Map

_BLOCK_BITS = 4  # log2 of the counters that one block may have
_STEP_BITS = 16  # of a latency
_PART_BITS = 10
_BASE = 0x400 >> 7


class Counters(wiring.Component):
    """Counts events in flip-flops, and adds them to a memory, one counter a cycle.

    Time is cut into frames of as many cycles as there are counters. At the end of a frame all
    flip-flops are copied at once and start over; during the next frame the copies leave through a
    shift register, and are added to the memory one after the other. A snapshot is the state of all
    counters at the end of the frame in which it was asked for, so it is atomic; it is complete two
    frames later at most. Until the first one is complete, all counters read zero. An event of a
    channel counts in the cycle after it.

    Parameters
    ----------
    map_ : Map
        The register table, which says what counters there are and where.

    Members
    -------
    error : In, a completion with a status other than OK
    events : In, :class:`~cdma.hdl.engine.job.Events` of each channel, ``events0`` and so on
    clear : In, all counters start over, and read zero; a snapshot that was asked for is dropped
    take : In, one cycle: take a snapshot
    busy : Out, a snapshot is not complete
    address, read : In, byte address of a register, and one cycle of asking for it
    done, data : Out, the word, one cycle later
    """

    def __init__(self, map_: Map):
        self.map = map_
        self.channels = map_.config.channels
        super().__init__(
            {
                "error": In(1),
                "clear": In(1),
                "take": In(1),
                "busy": Out(1),
                "address": In(ADDRESS_BITS),
                "read": In(1),
                "done": Out(1),
                "data": Out(32),
                **{f"events{channel}": In(Events()) for channel in range(self.channels)},
            }
        )
        self._totals = _names(map_.block("COUNTERS"))
        self._each = _names(map_.block("CHANNEL_COUNTERS"))
        self.frame = len(self._totals) + self.channels * len(self._each)
        # Of a channel's counters, the widest first.
        widths = [self._bits(name) for name in self._each]
        self._order = sorted(range(len(widths)), key=lambda column: -widths[column])

    def elaborate(self, platform):
        m = Module()
        block, number, ends = self._turns(m)
        self._events = []
        for channel in range(self.channels):
            events = Signal(Events(), name=f"last_events{channel}")
            m.d.sync += events.eq(getattr(self, f"events{channel}"))
            self._events.append(events)
        sources = [
            self._count(m, self._each[column], channel, ends)
            for column in self._order
            for channel in range(self.channels)
        ]
        sources += [self._count(m, name, None, ends) for name in self._totals]
        added = Signal(_STEP_BITS + self.frame.bit_length())
        m.d.sync += added.eq(self._copies(m, sources, ends))
        is_maximum = Signal()
        maximum = self._each.index("LATENCY_MAX")
        m.d.sync += is_maximum.eq((block != 0) & (number == maximum))
        self._memories(m, Cat(number, block), ends, added, is_maximum)
        return m

    def _turns(self, m):
        """The counter of this cycle: its block, and its number there; and the last one of a frame.

        Channels take turns with each of their counters, the widest first; the totals are last.
        """
        first, last = self._order[0], self._order[-1]
        block = Signal(range(self.channels + 1), init=1)
        number, ends = Signal(_BLOCK_BITS, init=first), Signal()
        is_total = block == 0
        m.d.sync += ends.eq(is_total & (number == len(self._totals) - 2))
        with m.If(ends):
            m.d.sync += [block.eq(1), number.eq(first)]
        with m.Elif(is_total):
            m.d.sync += number.eq(number + 1)
        with m.Elif(block != self.channels):
            m.d.sync += block.eq(block + 1)
        with m.Elif(number == last):
            m.d.sync += [block.eq(0), number.eq(0)]
        with m.Else():
            m.d.sync += block.eq(1)
            for now, then in pairwise(self._order):
                with m.If(number == now):
                    m.d.sync += number.eq(then)
        return block, number, ends

    def _count(self, m, name, channel, ends):
        """Flip-flops of one counter; gives what it has counted in a frame, in the last cycle."""
        label = name.lower() if channel is None else f"{name}{channel}".lower()
        events = None if channel is None else self._events[channel]
        step = self._step(name, events)
        if name == "LATENCY_MAX":
            most = Signal(_STEP_BITS, name=label)
            with m.If(self.clear):
                m.d.sync += most.eq(0)
            with m.Elif(events.latency_valid & (events.latency > most)):
                m.d.sync += most.eq(events.latency)
            return most
        count = Signal(self._bits(name), name=label)
        # The carry out of the lower part is added a cycle later, also to the copy.
        low = min(len(count), _PART_BITS)
        carry = Signal(name=f"{label}_carry")
        upper = Signal(len(count) - low, name=f"{label}_upper")
        m.d.comb += upper.eq(count[low:] + carry + Mux(ends, 0, step[low:]))
        with m.If(self.clear):
            m.d.sync += [count.eq(0), carry.eq(0)]
        with m.Elif(ends):
            m.d.sync += [count.eq(step), carry.eq(0)]
        with m.Else():
            m.d.sync += [
                Cat(count[:low], carry).eq(count[:low] + step[:low]),
                count[low:].eq(upper),
            ]
        return Cat(count[:low], upper)

    def _copies(self, m, sources, ends):
        """Copies of the last frame, which leave one after the other; gives that of this cycle.

        Sources are in the order of their turns, so that wide copies pass no narrow ones.
        """
        following = Const(0, 0)
        for place, source in reversed(list(enumerate(sources))):
            copy = Signal(max(len(source), len(following)), name=f"copy{place}")
            m.d.sync += copy.eq(Mux(ends, source, following))
            following = copy
        return following

    def _bits(self, name):
        """Bits of a counter's flip-flops."""
        if name == "LATENCY_MAX":
            return _STEP_BITS
        return (_STEP_BITS if name == "LATENCY_SUM" else 1) + self.frame.bit_length()

    def _step(self, name, events):
        if name == "CYCLES":
            return Const(1, 1)
        if name == "ERRORS":
            return self.error
        if name == "LATENCY_SUM":
            return Mux(events.latency_valid, events.latency, 0)
        if name in ("LATENCY_MAX", "BURSTS"):
            return events.latency_valid
        return getattr(events, name.removeprefix("STALL_").lower())

    def _memories(self, m, place, ends, added, is_maximum):
        """Add the copies to the running counters, and copy these in a frame with a snapshot."""
        depth = (self.channels + 1) << _BLOCK_BITS
        m.submodules.running = running = Memory(shape=unsigned(64), depth=depth, init=[])
        m.submodules.taken = taken = Memory(shape=unsigned(64), depth=depth, init=[])
        write, old = running.write_port(), running.read_port()
        keep, read = taken.write_port(), taken.read_port()
        # After reset the memories are unknown: the first frame writes them without adding.
        is_first, starts_over, writes_first = Signal(init=1), Signal(init=1), Signal(init=1)
        last_place = Signal(len(place))
        with m.If(self.clear):
            m.d.sync += is_first.eq(1)
        with m.Elif(ends):
            m.d.sync += is_first.eq(0)
        with m.If(ends):
            m.d.sync += starts_over.eq(is_first)
        m.d.sync += [last_place.eq(place), writes_first.eq(starts_over)]
        takes_now, is_taken = self._snapshot(m, ends)
        total = Signal(64)
        is_fresh = writes_first | is_maximum
        m.d.comb += [
            old.addr.eq(place),
            total.eq(Mux(is_fresh, 0, old.data) + added),
            write.addr.eq(last_place),
            write.data.eq(total),
            write.en.eq(1),
            keep.addr.eq(last_place),
            keep.data.eq(total),
            keep.en.eq(takes_now),
        ]
        half, is_known = Signal(), Signal()
        m.d.comb += [
            read.addr.eq(Cat(self.address[3:7], (self.address[7:] - _BASE)[:4])),
            read.en.eq(1),
            self.data.eq(Mux(is_known, Mux(half, read.data[32:], read.data[:32]), 0)),
        ]
        m.d.sync += [
            half.eq(self.address[2]),
            is_known.eq(is_taken),
            self.done.eq(self.read),
        ]

    def _snapshot(self, m, ends):
        """Whether sums of this cycle belong to a snapshot, and whether one is complete."""
        is_wanted, takes, takes_now, is_taken = Signal(), Signal(), Signal(), Signal()
        m.d.comb += self.busy.eq(is_wanted | takes | takes_now)
        m.d.sync += takes_now.eq(takes)
        with m.If(self.take):
            m.d.sync += is_wanted.eq(1)
        with m.Elif(ends):
            m.d.sync += is_wanted.eq(0)
        with m.If(ends):
            m.d.sync += takes.eq(is_wanted)
        with m.If(takes_now & ~takes):
            m.d.sync += is_taken.eq(1)
        with m.If(self.clear):
            m.d.sync += Cat(is_wanted, takes, takes_now, is_taken).eq(0)
        return takes_now, is_taken


def _names(block) -> list[str]:
    """Names of a block's counters, in the order of their addresses, eight bytes apart."""
    low = [each for each in block.registers if each.name.endswith("_LO")]
    assert [each.offset for each in low] == [8 * k for k in range(len(low))]
    return [each.name.removesuffix("_LO") for each in low]
