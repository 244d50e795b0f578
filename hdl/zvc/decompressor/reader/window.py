"""The rows that the reader sees."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import registered, select
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.reader.place import rows_of_beat
from cdma.hdl.zvc.decompressor.ring import RowInfo, add_row


class RowWindow(wiring.Component):
    """Keep the contents of the ring's rows in order of arrival, and free the rows.

    Rows are freed as the reader passes them; a packet's last beat frees all that the packet still
    has, which may not have come in yet: until it has, no other beat is read (``drains``). Whether a
    beat is launched, and whether its words end one row further on, is known late, so the next state
    is computed for each case and they drive the muxes.

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
    drains : Out, waits for the end of a packet
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
        self.reach = reach = rows_of_beat(config)
        super().__init__(
            {
                "accept": In(1),
                "info": In(RowInfo(config)),
                "launch": In(1),
                "last": In(1),
                "first_row": In(range(reach)),
                "carry": In(1),
                "has_room": Out(1, init=1),
                "indices": Out(data.ArrayLayout(range(rows), reach), init=range(reach)),
                "infos": Out(data.ArrayLayout(RowInfo(config), reach)),
                "is_ours": Out(reach),
                "may_read": Out(reach),
                "drains": Out(1),
                "leftover": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # From the row on in which the last beat's words end.
        is_known = Signal(self.rows)
        infos = [
            Signal(RowInfo(self.config), name=f"info{k}", reset_less=True) for k in range(self.rows)
        ]
        is_past = Signal()  # the packet has no more rows; those that are known are the next's
        first = infos[0]
        m.d.comb += [
            *(info.eq(known) for info, known in zip(self.infos, infos, strict=False)),
            self.leftover.eq(self.drains & self.is_ours[0] & ((first.count != 0) | first.ragged)),
        ]
        window = self._window(m, is_known, infos)
        outcomes = [self._outcome(m, window, step) for step in self._steps(m, is_past)]
        hold, *advance = outcomes
        state = Signal.like(hold)
        m.d.comb += state.eq(Mux(self.launch, Mux(self.carry, advance[1], advance[0]), hold))
        m.d.sync += [
            is_past.eq(state.step.is_past),
            self.drains.eq(state.step.drains),
            self.indices.eq(state.indices),
            self.is_ours.eq(state.is_ours),
            self.may_read.eq(state.may_read),
            self.has_room.eq(state.has_room),
            is_known.eq(Cat(row.is_there for row in state.known)),
            *(info.eq(row.info) for info, row in zip(infos, state.known, strict=True)),
        ]
        return m

    def _steps(self, m, is_past):
        """The three cases: no beat, and a beat whose words end without and with a carry."""
        ends_here = [here & info.last for here, info in zip(self.is_ours, self.infos, strict=True)]
        is_end_seen = Cat(ends_here).any()
        to_end = Signal(range(self.reach + 1))  # rows up to the packet's end
        for k in reversed(range(self.reach)):
            with m.If(ends_here[k]):
                m.d.comb += to_end.eq(k + 1)

        hold = Signal(_Step(self.reach), name="hold")
        m.d.comb += hold.is_past.eq(is_past)
        with m.If(self.drains):
            m.d.comb += [hold.passes.eq(self.is_ours[0]), hold.drains.eq(~ends_here[0])]
        steps = [hold]
        for carried in range(2):
            advance = Signal(_Step(self.reach), name=f"advance{carried}")
            steps.append(advance)
            passes = Signal(range(self.reach + 1), name=f"passes{carried}")
            m.d.comb += passes.eq(self.first_row + carried)
            with m.If(is_past):
                m.d.comb += advance.is_past.eq(~self.last)
            with m.Elif(is_end_seen & (self.last | (passes >= to_end))):
                m.d.comb += [advance.passes.eq(to_end), advance.is_past.eq(~self.last)]
            with m.Else():
                m.d.comb += [advance.passes.eq(passes), advance.drains.eq(self.last)]
        return steps

    def _outcome(self, m, window, step):
        """State after a step."""
        passes, reach = step.passes, self.reach
        result = Signal(
            data.StructLayout(
                {
                    "step": step.shape(),
                    "known": data.ArrayLayout(_Row(self.config), self.rows),
                    "is_ours": reach,
                    "may_read": reach,
                    "indices": self.indices.shape(),
                    "has_room": 1,
                }
            )
        )
        m.d.comb += result.step.eq(step)
        for k, row in enumerate(result.known):
            m.d.comb += row.eq(select(m, passes, window[k : k + reach + 1], f"next_known{k}"))
        # A row that arrives now is known a cycle later.
        m.d.comb += result.has_room.eq(
            ~result.known[-1].is_there & ~(result.known[-2].is_there & self.accept)
        )
        is_over = step.is_past
        for k in range(reach):
            row = result.known[k]
            m.d.comb += [
                result.is_ours[k].eq(row.is_there & ~is_over),
                result.may_read[k].eq(row.is_there | is_over),
            ]
            is_over = is_over | (row.is_there & row.info.last)
        rows = [*self.indices, *(add_row(m, index, reach, self.rows) for index in self.indices)]
        for k, index in enumerate(result.indices):
            m.d.comb += index.eq(select(m, passes, rows[k : k + reach + 1], f"next_index{k}"))
        return result

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
    """Rows to pass, and whether the packet then has no more rows, or is drained."""

    def __init__(self, reach: int):
        super().__init__({"passes": range(reach + 1), "is_past": 1, "drains": 1})
