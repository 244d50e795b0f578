"""State of a ring: run, halt, abort, error."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import State, Status
from cdma.engine_config import COMPLETION_BYTES, DESCRIPTOR_BYTES
from cdma.hdl.lib.adder import SplitSum, is_below

_SETTLE = 3  # cycles until the sums of addresses below follow a written register


class RingState(wiring.Component):
    """Decides when a ring runs.

    A ring starts only when both of its rings lie in its host window; otherwise it enters ERROR
    with HOST_DECERR and the address of the ring that does not. So no fetch and no completion needs
    a check of its own.

    Parameters
    ----------
    address_bits : int

    Members
    -------
    start, stop, abort : In, one cycle: software wrote RUN = 1, RUN = 0, ABORT
    halt, halt_status : In, one cycle: enter HALTED
    fail, fail_status, fail_address : In, one cycle: enter ERROR
    is_drained : In, nothing is started, outstanding or on its way
    submission_base, submission_log2, completion_base, completion_log2 : In
    host_base, host_end : In, window
    state : Out, :class:`~cdma.engine_codes.State`
    run : Out, fetch and start
    aborts : Out, level, to the data path
    is_active : Out, bases, sizes and windows cannot be written
    status : Out, why HALTED or ERROR was entered
    error_address : Out
    alarm : Out, one cycle: HALTED or ERROR is entered
    """

    def __init__(self, address_bits: int):
        self.address_bits = address_bits
        super().__init__(
            {
                "start": In(1),
                "stop": In(1),
                "abort": In(1),
                "halt": In(1),
                "halt_status": In(8),
                "fail": In(1),
                "fail_status": In(8),
                "fail_address": In(address_bits),
                "is_drained": In(1),
                "submission_base": In(address_bits),
                "submission_log2": In(4),
                "completion_base": In(address_bits),
                "completion_log2": In(4),
                "host_base": In(address_bits),
                "host_end": In(address_bits + 1),
                "state": Out(State),
                "run": Out(1),
                "aborts": Out(1),
                "is_active": Out(1),
                "status": Out(8),
                "error_address": Out(address_bits),
                "alarm": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        is_inside = [
            self._inside(m, "submission", DESCRIPTOR_BYTES),
            self._inside(m, "completion", COMPLETION_BYTES),
        ]
        state, waits = self.state, Signal(range(_SETTLE + 1))
        starts = Signal()
        m.d.comb += [
            self.run.eq(state == State.RUNNING),
            self.aborts.eq(state == State.ABORTING),
            self.is_active.eq(self.run | (waits != 0) | ~self.is_drained),
            starts.eq((waits == 1) & ((state == State.STOPPED) | (state == State.HALTED))),
        ]
        with m.If(self.stop | self.abort):
            m.d.sync += waits.eq(0)
        with m.Elif(self.start & ~self.run):
            m.d.sync += waits.eq(_SETTLE)
        with m.Elif(waits > (self.is_drained == 0)):  # the last step waits for what is outstanding
            m.d.sync += waits.eq(waits - 1)
        with m.If(self.abort):
            m.d.sync += [state.eq(State.ABORTING), self.status.eq(Status.OK)]
        with m.Elif(state == State.ABORTING):
            m.d.sync += state.eq(Mux(self.is_drained, State.STOPPED, State.ABORTING))
        with m.Elif(self.fail):
            self._enter(m, State.ERROR, self.fail_status, self.fail_address)
        with m.Elif(self.halt & self.run):
            self._enter(m, State.HALTED, self.halt_status, None)
        with m.Elif(self.stop & self.run):
            m.d.sync += state.eq(State.STOPPED)
        with m.Elif(starts & self.is_drained):
            with m.If(is_inside[0] & is_inside[1]):
                m.d.sync += [state.eq(State.RUNNING), self.status.eq(Status.OK)]
            with m.Else():
                base = Mux(is_inside[0], self.completion_base, self.submission_base)
                self._enter(m, State.ERROR, Status.HOST_DECERR, base)
        return m

    def _enter(self, m, state, status, address):
        m.d.sync += [self.state.eq(state), self.status.eq(status)]
        if address is not None:
            m.d.sync += self.error_address.eq(address)
        with m.If(self.state != state):
            m.d.comb += self.alarm.eq(1)

    def _inside(self, m, name, entry_bytes):
        """Whether a ring lies in the host window; two cycles after its registers."""
        base, log2 = getattr(self, f"{name}_base"), getattr(self, f"{name}_log2")
        last = SplitSum(self.address_bits + 1, f"{name}_last")
        is_inside = Signal(name=f"{name}_is_inside", reset_less=True)
        end = Signal(self.address_bits + 1, name=f"{name}_end")
        m.d.comb += end.eq(Mux(self.host_end[-1], 1 << self.address_bits, self.host_end))
        m.d.sync += [
            *last.set(base, entry_bytes << log2),
            is_inside.eq(~is_below(base, self.host_base) & ~last.is_above(end)),
        ]
        return is_inside
