"""The rows that the reader sees."""

from amaranth.hdl import Assert, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import kept_apart, one_of, registered
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.reader.place import rows_of_beat
from cdma.hdl.zvc.decompressor.ring import RowInfo
from cdma.hdl.zvc.decompressor.rows import RowIndex


class RowWindow(wiring.Component):
    """Keep the contents of the ring's rows in order of arrival, and free the rows.

    Rows are freed as the reader passes them; a packet's last beat frees all that the packet still
    has, which may not have come in yet: until it has, no other beat is read (``drains``). Whether a
    beat is launched, and whether its words end one row further on, is known late, so the next state
    is computed for each case and they drive the muxes.

    With a tail of ones, a packet's last beat is made of its last row, at most :attr:`reach` rows
    further: nothing is left to drain.

    Latency one cycle; all outputs come from registers, but for ``leftover``.

    Parameters
    ----------
    config : Config
        Lanes and format.
    rows : int
        Rows of the ring.

    Members
    -------
    accept, info : In, a row that the ring accepts, and its content
    launch : In, a beat is read
    last : In, the packet ends with the beat
    first_row, carry : In, where its words end, see
        :class:`~cdma.hdl.zvc.decompressor.reader.place.BeatPlace`
    has_room : Out, the ring has room for a row
    indices : Out, array of the ring's indices of the first rows
    infos : Out, array of the contents of these rows
    is_ours : Out, a bit per row: it has arrived, and belongs to the packet
    may_read : Out, a bit per row: it has arrived, or the packet has ended
    drains : Out, waits for the end of a packet; never with a tail of ones
    leftover : Out, a row with bytes in it is drained
    """

    accept: Signal
    info: data.View
    launch: Signal
    last: Signal
    first_row: Signal
    carry: Signal
    has_room: Signal
    indices: data.View
    infos: data.View
    is_ours: Signal
    may_read: Signal
    drains: Signal
    leftover: Signal

    def __init__(self, config: Config, rows: int):
        self.config = config
        self.rows = rows
        self.index = RowIndex.of(config, rows)
        self.reach = reach = rows_of_beat(config)
        self.may_drain = not config.format.ends_itself
        super().__init__(
            {
                "accept": In(1),
                "info": In(RowInfo(config)),
                "launch": In(1),
                "last": In(1),
                "first_row": In(range(reach)),
                "carry": In(1),
                "has_room": Out(1, init=1),
                "indices": Out(
                    data.ArrayLayout(self.index.shape, reach),
                    init=[self.index.at(k) for k in range(reach)],
                ),
                "infos": Out(data.ArrayLayout(RowInfo(config), reach)),
                "is_ours": Out(reach),
                "may_read": Out(reach),
                "drains": Out(1),
                "leftover": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        reach = self.reach
        # From the row on in which the last beat's words end.
        is_known = Signal(self.rows)
        infos = [
            Signal(RowInfo(self.config), name=f"info{k}", reset_less=True) for k in range(self.rows)
        ]
        is_past = Signal()  # the packet has no more rows; those that are known are the next's
        ends = Signal(reach)  # a bit per row: the packet ends with it
        first = infos[0]
        m.d.comb += [
            *(info.eq(known) for info, known in zip(self.infos, infos, strict=False)),
            self.leftover.eq(self.drains & self.is_ours[0] & ((first.count != 0) | first.ragged)),
        ]
        step = self._step(m, is_past, ends)
        m.d.sync += is_past.eq(step.is_past)
        if self.may_drain:
            m.d.sync += self.drains.eq(step.drains)
        elif platform == "formal":
            m.d.comb += Assert(~(self.launch & self.last) | is_past | ends.any())

        # All rows move up by as many as are passed.
        window = self._window(m, is_known, infos)
        indices = [*self.indices, *(self.index.further(m, k, reach) for k in self.indices)]
        for k, index in enumerate(self.indices):
            m.d.sync += index.eq(one_of(step.passes, indices[k : k + reach + 1]))
        for k, info in enumerate(infos):
            behind = [Value.cast(row) for row in window[k : k + reach + 1]]
            m.d.sync += Cat(is_known[k], info).eq(one_of(step.passes, behind))
        seen = Signal(_Seen(reach))
        m.d.comb += seen.as_value().eq(
            one_of(step.passes, [self._seen(window[k:]) for k in range(reach + 1)])
        )
        no_more = step.is_past.replicate(reach)
        m.d.sync += [
            self.has_room.eq(seen.has_room),
            self.is_ours.eq(seen.is_ours & ~no_more),
            self.may_read.eq(seen.may_read | no_more),
            ends.eq(seen.ends & ~no_more),
        ]
        return m

    def _step(self, m, is_past, ends):
        """The step of this cycle. Whether a beat is launched, and whether its words end one row
        further on, comes late and drives the muxes."""
        to_end = Signal(range(self.reach + 1))  # rows up to the packet's end
        for k in reversed(range(self.reach)):
            with m.If(ends[k]):
                m.d.comb += to_end.eq(k + 1)

        hold = Signal(_Step(self.reach), name="hold")
        m.d.comb += [hold.passes[0].eq(1), hold.is_past.eq(is_past)]
        with m.If(self.drains):
            m.d.comb += [
                hold.passes.eq(Cat(~self.is_ours[0], self.is_ours[0])),
                hold.drains.eq(~ends[0] if self.may_drain else 0),
            ]
        advances = []
        for carried in range(2):
            advance = Signal(_Step(self.reach), name=f"advance{carried}")
            advances.append(advance)
            passes = Signal(range(self.reach + 1), name=f"passes{carried}")
            m.d.comb += passes.eq(self.first_row + carried)
            with m.If(is_past):
                m.d.comb += [advance.passes[0].eq(1), advance.is_past.eq(~self.last)]
            with m.Elif(ends.any() & (self.last | (passes >= to_end))):
                m.d.comb += [advance.passes[1:].eq(ends), advance.is_past.eq(~self.last)]
            with m.Else():
                m.d.comb += [
                    advance.passes.eq(Cat(passes == k for k in range(self.reach + 1))),
                    advance.drains.eq(self.last if self.may_drain else 0),
                ]
        late = []
        for name, case, is_it in (
            ("holds", hold, ~self.launch),
            ("advances", advances[0], self.launch),
            ("carries", advances[1], self.launch),
        ):
            late.append(kept_apart(name, len(hold.as_value())))
            m.d.comb += late[-1].eq(case.as_value() & is_it.replicate(len(late[-1])))
        step = Signal.like(hold, name="step")
        m.d.comb += step.as_value().eq(late[0] | Mux(self.carry, late[2], late[1]))
        return step

    def _seen(self, window):
        """What is known of the first rows of ``window`` if the packet has further rows."""
        are_ours, may_read, ends, is_over = [], [], [], Const(0, 1)
        for row in window[: self.reach]:
            are_ours.append(row.is_there & ~is_over)
            may_read.append(row.is_there | is_over)
            ends.append(row.is_there & row.info.last & ~is_over)
            is_over = is_over | ends[-1]
        # A row that arrives now is known a cycle later.
        last, newest = window[self.rows - 2 : self.rows]
        has_room = ~newest.is_there & ~(last.is_there & self.accept)
        return Cat(*are_ours, *may_read, *ends, has_room)

    def _window(self, m, is_known, infos):
        """The known rows, then the row that has just arrived, then empty entries."""
        came = registered(m, self.accept, "came", is_reset=True)
        came_info = registered(m, self.info, "came_info")
        window = [
            Signal(_Row(self.config), name=f"window{k}") for k in range(self.rows + self.reach)
        ]
        is_next = 1
        for row, is_there, info in zip(window, is_known, infos, strict=False):
            m.d.comb += [
                row.is_there.eq(is_there | (came & is_next)),
                row.info.eq(Mux(is_there, info, came_info)),
            ]
            is_next = is_there
        return window


class _Row(data.StructLayout):
    """A row: whether it is there, and its content."""

    def __init__(self, config: Config):
        super().__init__({"is_there": 1, "info": RowInfo(config)})


class _Step(data.StructLayout):
    """Rows to pass, one-hot, and whether the packet then has no more rows, or is drained."""

    def __init__(self, reach: int):
        super().__init__({"passes": reach + 1, "is_past": 1, "drains": 1})


class _Seen(data.StructLayout):
    """Registers that follow from the rows, see :class:`RowWindow`."""

    def __init__(self, reach: int):
        rows = dict.fromkeys(("is_ours", "may_read", "ends"), reach)
        super().__init__({**rows, "has_room": 1})
