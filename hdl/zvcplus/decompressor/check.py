"""The first error of a packet's stream, and what of it was decoded before."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.counter import Counter
from cdma.hdl.lib.signals import registered
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.compare import PlaceCompare
from cdma.hdl.zvcplus.decompressor.layouts import PacketEnd, StreamEnd, place_bits
from cdma.hdl.zvcplus.decompressor.steps import PHASES
from cdma.zvcplus import ErrorCode

ROW_STEP_BITS = 3
#: Cycles by which reports wait for the length of a payload of int8 with repeats.
METER_CYCLES = 4


class StreamCheck(wiring.Component):
    """Keep a packet's first error, and follow how far the stream was right.

    In the order of the stream a step's place comes behind the control of the step before and the
    payload of the step before that. So a step reports its predecessor's control first, then the
    payload. The step of a packet's end reports its last payload, and what follows.

    A step's places are compared with the end of its packet from phase 1 on. Its report is complete
    three cycles after its last phase. That of an end is complete in the last phase: so the end of
    a packet comes before the report of the next packet's second step, which may be the same step.
    With repeats of int8, both and all outputs come ``METER_CYCLES`` later, when the length of the
    payload is known. ``end`` comes from registers.

    Parameters
    ----------
    config : Config
        Element type.
    depth : int
        Slots of the ring.

    Members
    -------
    phase, has_block, is_second, is_end, shares_tail, shares_end, starts : In, see
        :class:`~cdma.hdl.zvcplus.decompressor.steps.ControlSteps`
    tail, behind : In, see :class:`~cdma.hdl.zvcplus.decompressor.place.ControlPlace`
    first, current, ended : In, see :class:`~cdma.hdl.zvcplus.decompressor.ends.PacketEnds`
    is_reserved, is_past, is_many, is_long : In, two cycles after a step: errors of the control of
        the step before
    is_miscounted : In, with repeats, from three cycles after a step to the last phase of the next:
        the payload behind the step's place has another number of repeated words. Of int8, from
        eight cycles after a step to seven after the next: another length than its control says
    parity : In, with ``has_block``: of the packet of the step before
    checked : Out, the end of a packet is compared
    fails, failing : Out, an error was found in front of a packet's end, and its parity; at the
        latest in the cycle after ``checked``
    o_valid : Out, ``end`` is complete
    end : Out, :class:`~cdma.hdl.zvcplus.decompressor.layouts.PacketEnd`
    """

    phase: Signal
    has_block: Signal
    is_second: Signal
    is_end: Signal
    shares_tail: Signal
    shares_end: Signal
    starts: Signal
    tail: Signal
    behind: Signal
    first: data.View
    current: data.View
    ended: Signal
    is_reserved: Signal
    is_past: Signal
    is_long: Signal
    parity: Signal
    checked: Signal
    fails: Signal
    failing: Signal
    o_valid: Signal
    end: data.View

    def __init__(self, config: Config, depth: int):
        self.config = config
        self.depth = depth
        flags = ["has_block", "is_second", "is_end", "shares_tail", "shares_end", "starts"]
        flags += ["ended", "is_reserved", "is_past", "is_long", "parity"]
        if config.has_repeats:
            flags += ["is_many", "is_miscounted"] if config.word.is_float else ["is_miscounted"]
        end = StreamEnd(config, depth)
        super().__init__(
            {
                "phase": In(PHASES),
                **dict.fromkeys(flags, In(1)),
                "tail": In(place_bits(depth)),
                "behind": In(place_bits(depth)),
                "first": In(end),
                "current": In(end),
                **dict.fromkeys(("checked", "fails", "failing"), Out(1)),
                "o_valid": Out(1),
                "end": Out(PacketEnd()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.compare = compare = PlaceCompare(self.config, self.depth)
        _, begins, goes_on, ends = self.phase
        ends_packet = ends & self.is_end
        is_checked = self._late(m, ends_packet, "end", is_reset=True)
        # The places of a packet's end, of the step, and behind the control of the step before.
        is_before = registered(
            m, Mux(begins, self.shares_end, self.shares_tail | (ends & self.starts)), "is_before"
        )
        m.d.comb += [
            compare.place.eq(Mux(ends, self.behind, self.tail)),
            compare.end.eq(Mux(is_before, self.first, self.current)),
            compare.ended.eq(self.ended | is_before),
            self.checked.eq(is_checked),
        ]
        row, byte = Signal.like(compare.row), Signal.like(compare.byte)  # of the report
        with m.If((goes_on & self.is_end) | (ends & self.has_block)):
            m.d.sync += [row.eq(compare.row), byte.eq(compare.byte)]

        own = self._own_error(m, compare, ends_packet)
        reports = ends & self.has_block
        is_second, parity = Signal(), Signal()
        with m.If(ends):
            m.d.sync += [is_second.eq(self.is_second), parity.eq(self.parity)]
        for cycle in range(3):
            reports = registered(m, reports, f"reports{cycle}", is_reset=True)
        reports = self._late(m, reports, "report", is_reset=True)
        row, byte, is_second, parity, is_left = (
            self._late(m, value, name)
            for value, name in (
                (row, "row"),
                (byte, "byte"),
                (is_second, "second"),
                (parity, "parity"),
                (compare.is_left, "left"),
            )
        )
        self._keep(m, row, byte, own, reports, is_second, is_checked, is_left)
        m.d.sync += self.failing.eq(parity)
        return m

    @property
    def _wait(self):
        """Cycles by which reports wait for the length of a payload."""
        return METER_CYCLES if self.config.has_repeats and not self.config.word.is_float else 0

    def _late(self, m, value, name, *, is_reset=False):
        """``value`` when the length of the payload is known."""
        for cycle in range(self._wait):
            value = registered(m, value, f"{name}_late{cycle}", is_reset=is_reset)
        return value

    def _own_error(self, m, compare, ends_packet):
        """The first error that a step reports; those of a control come before the payload's."""
        of_control = Signal(ErrorCode)
        counts = self.config.has_repeats and self.config.word.is_float
        many = [(self.is_many, ErrorCode.COUNT)] if counts else []
        errors = [
            (self.is_reserved, ErrorCode.RESERVED),
            (self.is_past, ErrorCode.MASK_PAST_END),
            *many,
            (self.is_long, ErrorCode.TOO_LONG),
        ]
        for is_here, code in reversed(errors):
            with m.If(is_here):
                m.d.comb += of_control.eq(code)
        of_control = registered(m, of_control, "of_control")
        is_cut = registered(m, compare.is_over, "was_over")  # behind the control
        is_over = registered(m, is_cut, "was_over_before")  # behind the payload

        found = Signal(ErrorCode)
        if counts:
            was_miscounted = Signal()
            with m.If(self.phase[-1]):
                m.d.sync += was_miscounted.eq(self.is_miscounted)
            with m.If(Mux(ends_packet, self.is_miscounted, was_miscounted)):
                m.d.comb += found.eq(ErrorCode.COUNT)
        with m.If(Mux(ends_packet, compare.is_over, is_over)):
            m.d.comb += found.eq(ErrorCode.TRUNCATED)
        with m.If(~ends_packet & (of_control != ErrorCode.NONE)):
            m.d.comb += found.eq(of_control)
        with m.If(~ends_packet & is_cut):
            m.d.comb += found.eq(ErrorCode.TRUNCATED)
        if self._wait:  # the last error of a report
            found = self._late(m, found, "found")
            is_last = self.is_miscounted & (found == ErrorCode.NONE)
            found = Mux(is_last, ErrorCode.COUNT, found)
        return registered(m, found, "own_error")

    def _keep(self, m, row, byte, own, reports, is_second, ends_packet, is_left):
        """A cycle after a report: the first error so far, and the bytes in front of it."""
        byte_bits = len(byte)
        last_row, passed = Signal.like(row), Signal(ROW_STEP_BITS)
        step = registered(m, reports | ends_packet, "was_reported", is_reset=True)
        restarts = registered(m, reports & is_second, "restarts")
        is_trailing = registered(m, ends_packet & is_left, "is_trailing")
        own_row, own_byte = registered(m, row, "own_row"), registered(m, byte, "own_byte")
        error = Signal(ErrorCode)
        is_known, is_right = Signal(), Signal()
        m.d.comb += [
            is_known.eq((error != ErrorCode.NONE) & ~restarts),
            is_right.eq(~is_known & (own == ErrorCode.NONE)),
            passed.eq(own_row - last_row),
        ]
        m.d.comb += self.fails.eq(
            registered(m, reports, "is_inside", is_reset=True) & (own != ErrorCode.NONE)
        )
        with m.If(step & ~is_known):
            m.d.sync += error.eq(
                Mux((own == ErrorCode.NONE) & is_trailing, ErrorCode.TRAILING, own)
            )
        kept = Signal(byte_bits)
        with m.If(step & is_right):
            m.d.sync += [kept.eq(own_byte), last_row.eq(own_row)]
        with m.Elif(step & restarts):
            m.d.sync += kept.eq(0)
        # Whole rows up to the last place that was right; the first of them is in the first row.
        m.submodules.whole = whole = Counter(COUNT_BITS - byte_bits, ROW_STEP_BITS, for_cells=True)
        m.d.comb += [
            whole.enable.eq(registered(m, step, "counts", is_reset=True)),
            whole.restart.eq(registered(m, restarts, "restarts_rows")),
            whole.step.eq(
                registered(m, passed & (is_right & ~restarts).replicate(ROW_STEP_BITS), "more_rows")
            ),
            self.end.error.eq(error),
            self.end.bytes.eq(Cat(kept, whole.value)),
        ]
        valid = ends_packet
        for cycle in range(3):
            valid = registered(m, valid, f"ends{cycle}", is_reset=True)
        m.d.comb += self.o_valid.eq(valid)
