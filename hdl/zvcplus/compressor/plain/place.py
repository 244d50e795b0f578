"""Where controls and payloads land in the stream."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.adder import adds_up_to_zero
from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.zvcplus.compressor.plain.records import Landing
from cdma.hdl.zvcplus.config import Config

#: Bits of a place that are added in the first cycle, and the others.
LOW = 4
HIGH = 8 - LOW


class SplitPlacer(wiring.Component):
    """Give each control and each word its place.

    The only feedback loop is the place where the next item begins. A packet's first item begins a
    row. Sums are taken in two steps: the lowest bits of a place, and a cycle later the others.

    A row that is full counts as the one being filled until more bits follow, or the packet ends: so
    a packet has exactly one row more than rows that are left behind.

    Throughput one item a cycle. ``landing`` and ``o_valid`` are registered, two cycles behind the
    item; ``starts`` and ``next`` come a cycle before, at the end of it.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    enable : In, the registers load
    has_front, has_after, has_payload : In, there is an item with a control in front, with the
        control of the next packet behind, with the payload of a beat
    lacks_front : In, there is no control in front: the inverse, from another register
    control_bits : In, length of the control
    total : In, bits of the payload
    behind : In, array of the places of the words from the first bit of payload on
    words : In, words of the item
    last : In, the packet ends with the item
    at_low : Out, the lowest bits of the place of the control in its row, in the same cycle
    at_high : Out, its other bits, a cycle later
    starts : Out, array of the places of the words in their rows, a cycle later
    counts : Out, with ``next``: there is an item with the payload of a beat
    next_valid, next : Out, ``o_valid`` and ``landing`` a cycle before
    next_passes : Out, with them: the item leaves at least one row behind, and at least two, a
        packet's last row aside
    o_valid : Out, there is an item
    landing : Out, its :class:`~cdma.hdl.zvcplus.compressor.plain.records.Landing`
    """

    #: Cycles from an item to its landing.
    LATENCY = 2

    enable: Signal
    has_front: Signal
    lacks_front: Signal
    has_after: Signal
    has_payload: Signal
    control_bits: Signal
    total: Signal
    behind: data.View
    words: Signal
    last: Signal
    at_low: Signal
    at_high: Signal
    starts: data.View
    counts: Signal
    next_valid: Signal
    next: data.View
    next_passes: Signal
    o_valid: Signal
    landing: data.View

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "enable": In(1),
                "has_front": In(1),
                "lacks_front": In(1),
                "has_after": In(1),
                "has_payload": In(1),
                "control_bits": In(range(config.control_bits + 1)),
                "total": In(range(config.beat_bits + 1)),
                "behind": In(data.ArrayLayout(8, config.lanes)),
                "words": In(range(config.lanes + 1)),
                "last": In(1),
                "at_low": Out(LOW),
                "at_high": Out(HIGH),
                "starts": Out(data.ArrayLayout(8, config.lanes)),
                "counts": Out(1),
                "next_valid": Out(1),
                "next": Out(Landing(config)),
                "next_passes": Out(2),
                "o_valid": Out(1),
                "landing": Out(Landing(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.begun = begun = DelayLine(_Begun(self.config), 1)
        m.submodules.landed = landed = DelayLine(Landing(self.config), 1)
        counts = Signal()
        with m.If(self.enable):
            m.d.sync += counts.eq(self.has_payload)
        m.d.comb += [
            begun.enable.eq(self.enable),
            landed.enable.eq(self.enable),
            begun.i_valid.eq(self.has_front | self.has_after | self.has_payload),
            landed.i_valid.eq(begun.o_valid),
            self.counts.eq(counts),
            self.next_valid.eq(begun.o_valid),
            self.next.eq(landed.i),
            self.o_valid.eq(landed.o_valid),
            self.landing.eq(landed.o),
        ]
        self._begin(m, begun.i)
        self._land(m, begun.o_valid, begun.o, landed.i)
        return m

    def _begin(self, m, item):
        """The lowest bits of all sums, and the sums of all other bits but those of the place."""
        at = Signal(LOW)
        front, total = Signal.like(self.control_bits), Signal.like(self.total, name="sent")
        start, end = Signal(LOW + 1), Signal(LOW + 1)
        both = Signal(LOW + len(item.bits))
        m.d.comb += [
            self.at_low.eq(Mux(self.has_after, 0, at)),
            front.eq(
                Cat(
                    self.control_bits[:LOW] & ~self.lacks_front.replicate(LOW),
                    self.control_bits[LOW:] & self.has_front.replicate(len(front) - LOW),
                )
            ),
            total.eq(self.total & self.has_payload.replicate(len(total))),
            start.eq(at + front[:LOW]),
            both.eq(front + total),
            end.eq(at + both[:LOW]),
            item.start.eq(start),
            item.end.eq(end),
            item.front.eq(front[LOW:]),
            item.bits.eq(both[LOW:]),
            item.next_front.eq(Mux(self.has_after, self.control_bits[LOW:], 0)),
            item.is_after.eq(self.has_after),
            item.last.eq(self.last),
            item.words.eq(self.words),
        ]
        for lane, bits in enumerate(self.behind):
            # Three numbers become two, bits and carries. The uppermost carry is known early.
            low = front[:LOW], bits[:LOW]
            odd = at ^ low[0] ^ low[1]
            carries = (at & low[0]) | ((at | low[0]) & low[1])
            m.d.comb += [
                item.low[lane].eq(odd + Cat(Const(0, 1), carries[:-1])),
                item.behind[lane].eq(front[LOW:] + bits[LOW:] + carries[-1]),
            ]
        with m.If(self.enable):
            m.d.sync += at.eq(
                Mux(self.last, self.control_bits[:LOW] & self.has_after.replicate(LOW), end[:LOW])
            )

    def _land(self, m, valid, item, landing):
        """The other bits of the sums, and where the item lies in the rows, from the one that was
        being filled before."""
        at, is_full = Signal(HIGH), Signal()
        start, end = Signal(HIGH + 1), Signal(HIGH + 2)
        reached, is_even, fills, rows = Signal(2), Signal(), Signal(), Signal(2)
        m.d.comb += [
            start.eq(at + item.front + item.start[LOW]),
            end.eq(Cat(at, is_full) + item.bits + item.end[LOW]),
            self.at_high.eq(Mux(item.is_after, 0, at)),
            reached.eq(end[HIGH:]),
            is_even.eq(
                ~item.end[:LOW].any() & adds_up_to_zero(at, item.bits[:HIGH], item.end[LOW])
            ),
            # Also a row that was full before, if no bits have come.
            fills.eq(is_even & reached.any()),
            rows.eq(Mux(is_even, Cat(reached[1] & ~reached[0], reached.all()), reached)),
            self.next_passes.eq(
                Cat(reached[1] | (reached[0] & ~is_even), reached[1] & (reached[0] | ~is_even))
            ),
            landing.rows.eq(rows + item.last),
            landing.reach.eq(rows + item.is_after),
            landing.is_after.eq(item.is_after),
            landing.control_row.eq(is_full),
            landing.start_row.eq(start[HIGH] | is_full),
            landing.last.eq(item.last),
            landing.bytes.eq(
                Mux(
                    fills,
                    self.config.beat_bytes,
                    Cat(item.end[3:LOW], end[:HIGH]) + item.end[:3].any(),
                )
            ),
            landing.words.eq(item.words),
        ]
        place = Cat(item.start[:LOW], start[:HIGH])
        high = place[4:]
        m.d.comb += [
            landing.from_low.eq(Cat(place[:4] <= number for number in range(16))),
            landing.here.eq(Cat(high == number for number in range(16))),
            # No place is below 0; comparing with it would be a constant that tools warn of.
            landing.below.eq(Cat(Const(0), *(high < number for number in range(1, 16)))),
        ]
        for lane, (low, bits) in enumerate(zip(item.low, item.behind, strict=True)):
            upper = Signal(HIGH, name=f"upper{lane}")
            m.d.comb += [
                upper.eq(at + bits + low[LOW]),
                self.starts[lane].eq(Cat(low[:LOW], upper)),
            ]
        with m.If(self.enable & valid):
            m.d.sync += [
                at.eq(Mux(item.last, item.next_front, end[:HIGH])),
                is_full.eq(fills & ~item.last),
            ]


class _Begun(data.StructLayout):
    """An item with the lowest bits of its sums, each with its carry, and the sums of all other
    bits but those of the place where it begins."""

    def __init__(self, config: Config):
        lanes = config.lanes
        super().__init__(
            {
                "start": LOW + 1,
                "end": LOW + 1,
                "front": HIGH,
                "bits": HIGH + 2,
                "next_front": HIGH,
                "is_after": 1,
                "last": 1,
                "words": range(lanes + 1),
                "low": data.ArrayLayout(LOW + 1, lanes),
                "behind": data.ArrayLayout(HIGH, lanes),
            }
        )
