"""Any ends of two packets, as ``PacketEnds`` gives them to the fetcher."""

from amaranth.hdl import Assert, Const, Module, Mux, Signal, Value

from cdma.verify.formal.stream_rules import anything


class AnyEnds:
    """Drives the ports of a :class:`~cdma.hdl.zvcplus.decompressor.fetcher.ControlFetcher` that
    tell of the packets in the ring.

    Two packets can be here, told by the parity of their numbers. Their ends come at any time, in
    order. The next one may start when the end of the one in front has come and no other is here. A
    packet goes at any time behind its last step. With repeats, each can have failed.

    Members
    -------
    packet : parity of the packet of the step before, if that had a control
    end_has_come : with ``is_end``: the end of the packet that ends
    failed : with repeats: that packet of the step before, or of the step, has failed
    """

    def __init__(self, m: Module, dut, steps):
        newest, tail, end = (Signal(name=f"packet_{name}") for name in ("newest", "tail", "end"))
        here, have_ended, are_done = (
            Signal(2, name=f"packets_{name}") for name in ("here", "ended", "done")
        )
        last = steps.phase[-1]
        other_is_here, is_here = here.bit_select(~newest, 1), here.bit_select(newest, 1)
        has_ended = have_ended.bit_select(newest, 1)
        has_two, arrives = here.all(), anything(m, 1, "arrives")
        goes = anything(m, 2, "goes")
        self.packet, self.end_has_come = Signal(name="packet"), have_ended.bit_select(end, 1)
        have_failed = anything(m, 2, "have_failed") if dut.config.has_repeats else Const(0, 2)
        self.failed = have_failed.bit_select(self.packet, 1)
        m.d.comb += [
            self.packet.eq(Mux(steps.is_tail, tail, newest)),
            dut.can_start.eq(anything(m, 1, "may_start") & ~has_two & (~is_here | has_ended)),
            dut.has_two.eq(has_two),
            dut.ended.eq(is_here & has_ended),
            dut.failed.eq(have_failed.bit_select(newest, 1)),
            dut.parity.eq(Mux(other_is_here, ~newest, newest)),
        ]
        for name in ("current", "first"):
            port = Value.cast(getattr(dut, name))
            m.d.comb += port.eq(anything(m, len(port), f"any_{name}"))
        with m.If(last):
            m.d.sync += [tail.eq(newest), end.eq(tail)]
        with m.If(dut.start):
            m.d.sync += newest.eq(~newest)
        for parity in range(2):
            is_newest = newest == parity
            with m.If(dut.checked & (end == parity)):
                m.d.sync += are_done[parity].eq(1)
            with m.If(are_done[parity] & goes[parity]):
                m.d.sync += here[parity].eq(0)
            with m.If(arrives & is_newest & here[parity]):
                m.d.sync += have_ended[parity].eq(1)
            with m.If(dut.start & ~is_newest):
                m.d.sync += [here[parity].eq(1), have_ended[parity].eq(0), are_done[parity].eq(0)]
        m.d.comb += [
            # Invariants: packets of a step are here, in order, and the first of two has ended.
            Assert(~steps.is_first | steps.has_control),
            Assert(~(steps.is_tail & steps.has_control) | steps.is_first),
            *([Assert(~steps.shares_tail)] if dut.config.has_repeats else []),
            Assert(~steps.has_control | _is(here & ~are_done, newest)),
            Assert(~steps.is_tail | _is(here & ~are_done, tail)),
            Assert(~steps.is_end | _is(here & ~are_done, end)),
            Assert(~steps.is_tail | ((tail == newest) == ~steps.has_control)),
            Assert(~steps.is_end | ((end == newest) == ~(steps.has_control | steps.is_tail))),
            Assert(~(steps.has_control & steps.is_tail & steps.is_end)),
            Assert(~steps.is_end | steps.phase[0] | self.end_has_come),
            Assert(~other_is_here | have_ended.bit_select(~newest, 1)),
            Assert(~steps.is_end | (steps.shares_end == (end != newest))),
        ]
        self._newest, self._tail, self._end = newest, tail, end
        self._end_is_here = _is(here & have_ended & ~are_done, end)

    def wait(self, m: Module, steps, waits) -> None:
        """Invariants of a check that waits, and of its packet, which is not done.

        Parameters
        ----------
        m : Module
        steps : ControlSteps
        waits : Value
            A bit for each cycle since the packet's last step.
        """
        is_next = steps.has_control | steps.is_tail  # steps of the next packet
        with m.If(steps.is_end):
            m.d.comb += Assert(self._tail == self._end)
        with m.If(waits.any()):
            m.d.comb += [
                Assert(self._end_is_here),
                Assert(~steps.is_end),
                Assert((self._newest == self._end) == ~is_next),
                Assert(~steps.is_tail | (self._tail != self._end)),
            ]
        for cycle, phase in enumerate(steps.phase):
            m.d.comb += Assert(~phase | ~waits[:cycle].any())


def _is(flags, parity):
    return flags.bit_select(parity, 1)
