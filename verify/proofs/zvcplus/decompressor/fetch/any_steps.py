"""Any steps of packets, as ``ControlSteps`` and ``PacketEnds`` have them."""

from amaranth.hdl import Assert, Cover, Module, Mux, Signal
from amaranth.lib import data

from cdma.hdl.zvcplus.decompressor.layouts import StreamEnd
from cdma.hdl.zvcplus.decompressor.steps import PHASES
from cdma.verify.formal.stream_rules import anything


class AnySteps:
    """Drives the steps and ends of a :class:`~cdma.hdl.zvcplus.decompressor.check.StreamCheck`.

    Packets have any number of blocks, their steps wait for any time, and their ends come at any
    time. Two packets can be here, which are told by the parity of their numbers. The next one
    starts when the end of the one in front has come and no other is here. A packet's last step
    waits for the packet's end, and with that step it goes. What belongs to packets that are not
    here, and flags that say nothing in a step, are anything.

    Members
    -------
    cycle : of the step
    reports : in the last cycle of a step: the step before had a control
    packet : with ``reports``: parity of that control's packet
    is_second : with ``reports``: that control is the packet's first
    ends : in the last cycle of a step: a packet ends
    has_begun : a packet's first control was reported
    """

    def __init__(self, m: Module, dut):
        self._m, self._dut, self.has_begun = m, dut, Signal(name="step_has_begun")
        names = ("newest", "tail", "end", "has_control", "is_first", "has_tail", "has_end")
        registers = [Signal(name=f"step_{name}") for name in names]
        newest, tail, end, has_control, is_first, has_tail, has_end = registers
        self.cycle = Signal(range(PHASES), name="step_cycle")
        self.reports, self.packet, self.is_second, self.ends, starts = (
            Signal(name=f"step_{name}")
            for name in ("reports", "packet", "is_second", "ends", "starts")
        )
        self._here = here = Signal(2, name="step_here")
        self._have_ended = have_ended = Signal(2, name="step_have_ended")
        shape = StreamEnd(dut.config, dut.depth)
        self._stream_ends = [Signal(shape, name=f"step_end{k}") for k in range(2)]
        self._compared = Signal(name="step_compared")  # packet whose end is compared
        first, last = self.cycle == 0, self.cycle == PHASES - 1
        self._first, self._last = first, last
        has_block = has_tail | (has_control & ~is_first)
        is_over = Signal(name="step_is_over")
        can_start = ~_of(here, ~newest) & (~_of(here, newest) | _of(have_ended, newest))
        m.d.comb += [
            is_over.eq(~has_control | anything(m, 1, "ends_here")),
            starts.eq(
                can_start & anything(m, 1, "starts") & Mux(first, ~has_control, last & is_over)
            ),
            self.packet.eq(Mux(has_tail, tail, newest)),
            self.reports.eq(last & has_block),
            self.ends.eq(last & has_end),
        ]
        proceeds = anything(m, 1, "proceeds") & ~starts & (~has_end | _of(have_ended, end))
        with m.If(~first | proceeds):
            m.d.sync += self.cycle.eq(self.cycle + 1)
        with m.If(starts):
            m.d.sync += [newest.eq(~newest), has_control.eq(1), is_first.eq(1)]
        with m.If(last):
            m.d.sync += [
                has_tail.eq(has_control & is_over),
                tail.eq(newest),
                has_end.eq(has_tail),
                end.eq(tail),
                self.is_second.eq(has_control & is_first),
                has_control.eq(starts | ~is_over),
                is_first.eq(starts),
            ]
        m.d.sync += self._compared.eq(Mux((self.cycle == 1) & has_end, end, self.packet))
        self._keep_ends(starts, newest, end)
        flag = anything(m, 1, "other_flag")
        m.d.comb += [
            dut.phase.eq(1 << self.cycle),
            dut.starts.eq(starts),
            dut.has_block.eq(has_block),
            dut.is_second.eq(Mux(has_block, self.is_second, flag)),
            dut.parity.eq(Mux(has_block, self.packet, flag)),
            dut.is_end.eq(has_end),
            dut.shares_tail.eq(has_tail & has_control),
            dut.shares_end.eq(Mux(has_end, end != newest, flag)),
        ]
        self._know(*registers)

    def _keep_ends(self, starts, newest, end):
        """Packets that are here, and their ends."""
        m, dut, here, have_ended = self._m, self._dut, self._here, self._have_ended
        arriving = anything(m, len(self._stream_ends[0].as_value()), "arriving")
        arrives = anything(m, 1, "arrives")
        for parity, stream_end in enumerate(self._stream_ends):
            with m.If(arrives & (newest == parity) & here[parity] & ~have_ended[parity]):
                m.d.sync += [stream_end.eq(arriving), have_ended[parity].eq(1)]
            with m.If(self.ends & (end == parity)):
                m.d.sync += here[parity].eq(0)
            with m.If(starts & (newest != parity)):
                m.d.sync += [here[parity].eq(1), have_ended[parity].eq(0)]
        zero, one = (each.as_value() for each in self._stream_ends)
        is_here, has_ended = _of(here, newest), _of(have_ended, newest)
        others = [anything(m, len(zero), f"other_{name}") for name in ("current", "first")]
        m.d.comb += [
            dut.ended.eq(Mux(is_here, has_ended, anything(m, 1, "other_ended"))),
            dut.current.eq(Mux(is_here & has_ended, Mux(newest, one, zero), others[0])),
            dut.first.eq(Mux(_of(here, ~newest), Mux(newest, zero, one), others[1])),
        ]

    def end_of_compared(self) -> tuple[Signal, data.View]:
        """Whether the packet that a place of the cycle before is of has ended, and where."""
        stream_end = Signal(StreamEnd(self._dut.config, self._dut.depth), name="step_end_compared")
        zero, one = (each.as_value() for each in self._stream_ends)
        self._m.d.comb += stream_end.eq(Mux(self._compared, one, zero))
        return _of(self._have_ended, self._compared), stream_end

    def _know(self, newest, tail, end, has_control, is_first, has_tail, has_end):
        """Invariants: packets of a step are here, in order, and the first of two has ended."""
        here, last = self._here, self._last
        has_block = has_tail | (has_control & ~is_first)
        with self._m.If(self.reports & self.is_second):
            self._m.d.sync += self.has_begun.eq(1)
        self._m.d.comb += [
            Assert(self.has_begun | ~(has_end | (has_block & ~self.is_second))),
            Assert(~is_first | has_control),
            Assert(~has_control | _of(here, newest)),
            Assert(~has_tail | _of(here, tail)),
            Assert(~has_end | _of(here, end)),
            Assert(~has_tail | ((tail == newest) == ~has_control)),
            Assert(~has_end | ((end == newest) == ~(has_control | has_tail))),
            Assert(~(has_control & has_tail & has_end)),
            Assert(~has_end | self._first | _of(self._have_ended, end)),
            Assert(~_of(here, ~newest) | _of(self._have_ended, ~newest)),
            Cover(last & has_end & has_tail),
            Cover(last & has_end & has_control & ~is_first),
            Cover(last & has_tail & has_control),
        ]


def _of(flags, parity):
    """The flag of a packet."""
    return flags.bit_select(parity, 1)
