"""State of a ring: run, halt, abort, error."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import State, Status


class RingState(wiring.Component):
    """Decides when a ring runs.

    A ring starts only when nothing is outstanding and both of its rings lie in its host window;
    otherwise it enters ERROR with HOST_DECERR and the address of the ring that does not. So no
    fetch and no completion needs a check of its own.

    A ring that is to start halts as one that runs does: software has not seen that error yet when
    it writes RUN. In ERROR, status and address are those of the first error.

    Parameters
    ----------
    address_bits : int

    Members
    -------
    start, stop, abort : In, one cycle: software wrote RUN = 1, RUN = 0, ABORT
    halt, halt_status : In, one cycle: enter HALTED, if the ring runs or is to start
    fail, fail_status : In, one cycle: enter ERROR
    clear : In, one cycle: forget the address
    is_drained : In, nothing is started, outstanding or on its way
    asks : Out, level: compare the rings with their window
    answered, is_inside : In, one cycle, while ``asks``: they have been compared
    address : In, of an error, with ``fail`` and ``answered``
    state : Out, :class:`~cdma.engine_codes.State`
    run : Out, fetch and start
    is_wanted : Out, the ring runs, or it will as soon as it is drained and inside of its window
    aborts : Out, level, to the data path
    is_active : Out, bases, sizes and windows cannot be written
    status : Out, why HALTED or ERROR was entered
    error_address : Out
    alarm : Out, one cycle: HALTED or ERROR was entered; a register
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
                "clear": In(1),
                "is_drained": In(1),
                "asks": Out(1),
                "answered": In(1),
                "is_inside": In(1),
                "address": In(address_bits),
                "state": Out(State),
                "run": Out(1),
                "is_wanted": Out(1),
                "aborts": Out(1),
                "is_active": Out(1),
                "status": Out(8),
                "error_address": Out(address_bits),
                "alarm": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        state = self.state
        starts = Signal()
        can_start = Signal()
        errs, halts = Signal(), Signal()
        m.d.comb += [
            self.is_active.eq(self.run | starts | ~self.is_drained),
            can_start.eq((state == State.STOPPED) | (state == State.HALTED)),
            self.is_wanted.eq(self.run | (starts & can_start)),
            self.asks.eq(starts & can_start & self.is_drained),
        ]
        with m.If(self.stop | self.abort | halts):
            m.d.sync += starts.eq(0)
        with m.Elif(self.start & ~self.run):
            m.d.sync += starts.eq(1)
        with m.Elif(self.answered | (self.is_drained & ~can_start)):
            m.d.sync += starts.eq(0)
        with m.If(self.abort):
            self._enter(m, State.ABORTING, Status.OK)
        with m.Elif(self.aborts), m.If(self.is_drained):
            self._enter(m, State.STOPPED)
        with m.Elif(self.fail), m.If(state != State.ERROR):
            m.d.comb += errs.eq(1)
            self._enter(m, State.ERROR, self.fail_status)
        with m.Elif(self.halt & self.is_wanted):
            m.d.comb += halts.eq(1)
            self._enter(m, State.HALTED, self.halt_status)
        with m.Elif(self.stop & self.run):
            self._enter(m, State.STOPPED)
        with m.Elif(self.asks & self.answered & ~self.stop):
            with m.If(self.is_inside):
                self._enter(m, State.RUNNING, Status.OK)
            with m.Else():
                m.d.comb += errs.eq(1)
                self._enter(m, State.ERROR, Status.HOST_DECERR)
        with m.If(self.clear):
            m.d.sync += self.error_address.eq(0)
        with m.Elif(errs):
            m.d.sync += self.error_address.eq(self.address)
        m.d.sync += self.alarm.eq(errs | halts)
        return m

    def _enter(self, m, state, status=None):
        """Enter a state. Two have registers of their own, which many look at."""
        m.d.sync += [
            self.state.eq(state),
            self.run.eq(state == State.RUNNING),
            self.aborts.eq(state == State.ABORTING),
        ]
        if status is not None:
            m.d.sync += self.status.eq(status)
