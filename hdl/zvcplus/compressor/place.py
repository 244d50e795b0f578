"""Where controls and payloads land in the stream."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.zvcplus.compressor.records import Place
from cdma.hdl.zvcplus.config import Config


class BitPlacer(wiring.Component):
    """Give each control and each word its place.

    The only feedback loop is the place where the next item begins. A packet's first item begins a
    row.

    Throughput one item a cycle, latency :attr:`LATENCY` cycles; the outputs are registered.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    enable : In, the registers load
    valid : In, there is an item
    control_bits : In, length of the control and of the bits of repeats, 0 without
    is_after : In, the control begins the next packet
    is_behind : In, with late controls: the control is behind the payload
    total : In, bits of the payload, 0 without one
    behind : In, array of the places of the words from the first bit of payload on
    words : In, words of the item
    last : In, the packet ends with the item
    o_valid : Out, there is an item
    place : Out, its :class:`~cdma.hdl.zvcplus.compressor.records.Place`
    starts : Out, array of the places of the words in their rows
    """

    #: Cycles from an item to its place and its starts.
    LATENCY = 2

    enable: Signal
    valid: Signal
    control_bits: Signal
    is_after: Signal
    total: Signal
    behind: data.View
    words: Signal
    last: Signal
    o_valid: Signal
    place: data.View
    starts: data.View

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "enable": In(1),
                "valid": In(1),
                "control_bits": In(range(config.front_bits + 1)),
                "is_after": In(1),
                **({"is_behind": In(1)} if config.has_late_controls else {}),
                "total": In(range(config.beat_bits + 1)),
                "behind": In(data.ArrayLayout(8, config.lanes)),
                "words": In(range(config.lanes + 1)),
                "last": In(1),
                "o_valid": Out(1),
                "place": Out(Place(config)),
                "starts": Out(data.ArrayLayout(8, config.lanes)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.appended = appended = DelayLine(_Appended(self.config), 1)
        m.submodules.placed = placed = DelayLine(Place(self.config), 1)
        m.d.comb += [
            appended.enable.eq(self.enable),
            appended.i_valid.eq(self.valid),
            placed.enable.eq(self.enable),
            placed.i_valid.eq(appended.o_valid),
            self.o_valid.eq(placed.o_valid),
            self.place.eq(placed.o),
        ]
        self._append(m, appended.i)
        self._describe(m, appended.o, placed.i)
        starts = Signal.like(self.starts, reset_less=True)
        m.d.comb += self.starts.eq(starts)
        with m.If(self.enable):
            m.d.sync += [
                start.eq(appended.o.start + behind)
                for start, behind in zip(starts, appended.o.behind, strict=True)
            ]
        return m

    def _append(self, m, item):
        """Append an item to those before."""
        at = Signal(8)
        is_fresh = Signal(init=1)  # the packet has no bits so far
        names = ("inside", "before", "after")
        inside, before, after = (Signal.like(self.control_bits, name=name) for name in names)
        late = self.config.has_late_controls
        is_behind = self.is_behind if late else Const(0, 1)
        m.d.comb += [
            inside.eq(Mux(self.is_after, 0, self.control_bits)),
            before.eq(Mux(is_behind, 0, inside) if late else inside),
            after.eq(Mux(self.is_after, self.control_bits, 0)),
            item.at.eq(Mux(is_behind, at + self.total, at) if late else at),
            item.start.eq(at + before),
            item.end.eq(at + inside + self.total),
            item.is_fresh.eq(is_fresh & ~inside.any() & ~self.total.any()),
            item.is_after.eq(self.is_after),
            item.last.eq(self.last),
            item.words.eq(self.words),
            item.behind.eq(self.behind),
        ]
        with m.If(self.enable & self.valid):
            m.d.sync += [
                at.eq(Mux(self.last, after, item.end[:8])),
                is_fresh.eq(Mux(self.last, ~after.any(), item.is_fresh)),
            ]

    def _describe(self, m, item, place):
        """Where the item lies in the rows."""
        end, is_whole, has_end = item.end, Signal(), Signal()
        m.d.comb += [
            is_whole.eq(~end[:8].any() & ~item.is_fresh),
            # The packet has a row that is not full, be it without a bit.
            has_end.eq(item.last & ~is_whole),
            place.at.eq(Mux(item.is_after, 0, item.at[:8])),
            place.control_row.eq(Mux(item.is_after, place.rows, item.at[8:])),
            place.start.eq(item.start[:8]),
            place.start_row.eq(item.start[8]),
            place.rows.eq(end[8:] + has_end),
            place.is_open.eq(~item.last & is_whole),
            place.last.eq(item.last),
            place.bytes.eq(Mux(has_end, end[3:8] + end[:3].any(), self.config.beat_bytes)),
            place.words.eq(item.words),
        ]


class _Appended(data.StructLayout):
    """An item: where control, payload and the bits behind begin, in bits from the start of the row
    that was being filled before."""

    def __init__(self, config: Config):
        super().__init__(
            {
                "at": 9 if config.has_late_controls else 8,
                "start": 9,
                "end": 10,
                "is_fresh": 1,
                "is_after": 1,
                "last": 1,
                "words": range(config.lanes + 1),
                "behind": data.ArrayLayout(8, config.lanes),
            }
        )
