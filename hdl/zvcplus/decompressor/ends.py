"""Where the packets in the ring end, and where the next begins."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import StreamEnd, row_bits


class PacketEnds(wiring.Component):
    """Keep the ends of the two packets in the ring, in order, until both are done with.

    The fetcher may start the second packet when the end of the first has come. The first packet is
    removed when its end is checked and its payload is read.

    A packet that has failed has an error that leaves the places of its payload unknown: nothing
    waits for its rows any more.

    All outputs come from registers, ``failed`` and ``has_ended`` through a few gates, but for
    ``accept``.

    Parameters
    ----------
    config : Config
        Size of a row.
    depth : int
        Slots of the ring.

    Members
    -------
    arrives : In, a packet's end comes
    end : In, that :class:`~cdma.hdl.zvcplus.decompressor.layouts.StreamEnd`
    start : In, the fetcher starts the next packet; to be set only with ``can_start``
    checked : In, the end of the first packet is checked
    read : In, all payload of the first packet is read
    fails, failing : In, the packet with parity ``failing`` has failed; to be set while it is here
    accept : Out, rows may come in the next cycle
    can_start : Out, the next packet's first row is known, and there is room for its end
    row : Out, with ``can_start``: number of that row
    has_two : Out, the fetcher is at the second packet
    ended : Out, the end of the packet of the fetcher has come
    current : Out, with ``ended``: that end
    first : Out, the end of the first packet, if it has come
    failed : Out, the packet of the fetcher has failed
    has_ended : Out, a bit per parity: the end of the packet of that parity has come, or it failed
    parity : Out, of the first packet
    drain : Out, the first packet is read, but not removed yet
    """

    arrives: Signal
    end: data.View
    start: Signal
    checked: Signal
    read: Signal
    fails: Signal
    failing: Signal
    accept: Signal
    can_start: Signal
    row: Signal
    has_two: Signal
    ended: Signal
    current: data.View
    first: data.View
    failed: Signal
    has_ended: Signal
    parity: Signal
    drain: Signal

    def __init__(self, config: Config, depth: int):
        self.config = config
        self.depth = depth
        end = StreamEnd(config, depth)
        super().__init__(
            {
                **dict.fromkeys(("arrives", "start", "checked", "read"), In(1)),
                **dict.fromkeys(("fails", "failing"), In(1)),
                "end": In(end),
                **dict.fromkeys(("accept", "can_start", "has_two", "ended", "failed"), Out(1)),
                "row": Out(row_bits(depth)),
                "current": Out(end),
                "first": Out(end),
                "has_ended": Out(2),
                "parity": Out(1),
                "drain": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        shape = StreamEnd(self.config, self.depth)
        second = Signal(shape, reset_less=True)
        valid = Signal(2)  # both ends, in order
        has_one = Signal()  # the fetcher has started the first packet, or both
        is_next = Signal(init=1)  # the next packet's first row is known
        is_checked = Signal()
        have_failed = Signal(2)  # both packets, in order
        removes = Signal()
        ends = Mux(self.has_two, valid[1], valid[0] & has_one)
        m.d.comb += [
            removes.eq(is_checked & self.drain & valid[0]),
            # Both may be there at the end of this cycle.
            self.accept.eq(~valid[1] & ~(valid[0] & self.arrives)),
            self.can_start.eq(is_next & ~self.has_two),
            self.ended.eq(ends),
            self.current.eq(Mux(self.has_two, second, self.first)),
            self.failed.eq(Mux(self.has_two, have_failed[1], have_failed[0])),
            self.has_ended.eq(_by_parity(valid | have_failed, self.parity)),
        ]
        with m.If(removes | ~valid[0]):
            m.d.sync += self.first.eq(Mux(valid[1], second, self.end))
        with m.If(~valid[1]):
            m.d.sync += second.eq(self.end)
        count = valid[0] + valid[1] + self.arrives - removes
        m.d.sync += [
            valid.eq(Mux(count[1], 3, count[0])),
            is_checked.eq((is_checked | self.checked) & ~removes),
            self.drain.eq((self.drain | self.read) & ~removes),
            self.parity.eq(self.parity ^ removes),
        ]
        is_second = self.failing ^ self.parity
        fails = have_failed | Cat(self.fails & ~is_second, self.fails & is_second)
        m.d.sync += have_failed.eq(Mux(removes, fails >> 1, fails))
        started = has_one + self.has_two + self.start - removes
        m.d.sync += [has_one.eq(started[0] | started[1]), self.has_two.eq(started[1])]
        with m.If(self.start):
            m.d.sync += is_next.eq(0)
        with m.Elif(ends & ~is_next):
            m.d.sync += [
                is_next.eq(1),
                self.row.eq(self.current.start),
            ]
        return m


def _by_parity(flags, parity):
    """Flags of the two packets in order, as a bit per parity."""
    return Mux(parity, flags[1] | flags[0] << 1, flags)
