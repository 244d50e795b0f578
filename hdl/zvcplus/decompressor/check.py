"""The first error of a packet's stream, and what of it was decoded before."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.counter import Counter
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import PacketEnd
from cdma.zvcplus import ErrorCode

ROW_STEP_BITS = 3


class StreamCheck(wiring.Component):
    """Keep a packet's first error, and follow how far the stream was right.

    In the order of the stream a step comes behind the control of the step before, and then the
    payload of the step before that. So a step reports its predecessor's control first.

    ``end`` comes from registers; it is complete a cycle after the last step's ``step``.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    step : In, a step ends
    is_first, is_second, is_end : In, see
        :class:`~cdma.hdl.zvcplus.decompressor.steps.ControlSteps`
    is_over, is_cut : In, the stream ends before the step's place, or in its control too
    is_reserved, is_past, is_many, is_long : In, errors of the control of the step before
    is_miscounted : In, the payload in front of the step has another number of repeated words
    is_trailing : In, with ``is_end``: something follows
    bit : In, place of the step in its row
    rows : In, rows from the place to that of the next step
    end : Out, :class:`~cdma.hdl.zvcplus.decompressor.layouts.PacketEnd`
    """

    step: Signal
    is_first: Signal
    is_second: Signal
    is_end: Signal
    is_over: Signal
    is_cut: Signal
    is_reserved: Signal
    is_past: Signal
    is_long: Signal
    is_trailing: Signal
    bit: Signal
    rows: Signal
    end: data.View

    def __init__(self, config: Config):
        self.config = config
        flags = ("step", "is_first", "is_second", "is_end", "is_over", "is_cut")
        errors = ["is_reserved", "is_past", "is_long", "is_trailing"]
        if config.has_repeats:
            errors += ["is_many", "is_miscounted"]
        super().__init__(
            {
                **dict.fromkeys((*flags, *errors), In(1)),
                "bit": In(range(config.beat_bits)),
                "rows": In(ROW_STEP_BITS),
                "end": Out(PacketEnd()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        byte_bits = (self.config.beat_bytes - 1).bit_length()
        error = Signal(ErrorCode)
        known = Signal(ErrorCode)  # found in the steps before
        was_cut = Signal()
        m.d.comb += known.eq(Mux(self.is_second, ErrorCode.NONE, error))
        found = Signal(ErrorCode)
        with m.If(known != ErrorCode.NONE):
            m.d.comb += found.eq(known)
        with m.Elif(was_cut):
            m.d.comb += found.eq(ErrorCode.TRUNCATED)
        with m.Elif(self.is_reserved):
            m.d.comb += found.eq(ErrorCode.RESERVED)
        with m.Elif(self.is_past):
            m.d.comb += found.eq(ErrorCode.MASK_PAST_END)
        if self.config.has_repeats:
            with m.Elif(self.is_many):
                m.d.comb += found.eq(ErrorCode.COUNT)
        with m.Elif(self.is_long):
            m.d.comb += found.eq(ErrorCode.TOO_LONG)
        with m.Elif(self.is_over):
            m.d.comb += found.eq(ErrorCode.TRUNCATED)
        if self.config.has_repeats:
            with m.Elif(self.is_miscounted):
                m.d.comb += found.eq(ErrorCode.COUNT)

        # Whole rows and bytes up to the last place that was right, rounded up to a byte.
        m.submodules.whole = whole = Counter(COUNT_BITS - byte_bits, ROW_STEP_BITS)
        rows = Signal(ROW_STEP_BITS)
        rounded, was_carried = Signal(byte_bits + 1), Signal()
        byte = Signal(byte_bits)
        is_right = Signal()
        later = self.step & ~self.is_first
        carry_before = was_carried & ~self.is_second
        m.d.comb += [
            is_right.eq(found == ErrorCode.NONE),
            rounded.eq((self.bit + 7) >> 3),
            whole.enable.eq(later),
            whole.restart.eq(self.is_second),
            whole.step.eq(Mux(is_right, rows + rounded[-1] - carry_before, 0)),
        ]
        with m.If(self.step):
            m.d.sync += [was_cut.eq(self.is_cut), rows.eq(self.rows)]
        with m.If(later):
            m.d.sync += error.eq(found)
            with m.If(is_right & self.is_end & self.is_trailing):
                m.d.sync += error.eq(ErrorCode.TRAILING)
            with m.If(is_right):
                m.d.sync += [byte.eq(rounded), was_carried.eq(rounded[-1])]
            with m.Elif(self.is_second):
                m.d.sync += byte.eq(0)
        m.d.comb += [self.end.error.eq(error), self.end.bytes.eq(Cat(byte, whole.value))]
        return m
