"""The first error of a packet's stream, and what of it was decoded before."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.counter import Counter
from cdma.hdl.lib.signals import registered
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import PacketEnd
from cdma.zvcplus import ErrorCode

ROW_STEP_BITS = 3


class StreamCheck(wiring.Component):
    """Keep a packet's first error, and follow how far the stream was right.

    In the order of the stream a step comes behind the control of the step before, and then the
    payload of the step before that. So a step reports its predecessor's control first.

    Three stages, a register after each: the step's own error; the first so far; the bytes in front
    of it. ``end`` comes from registers; it is complete three cycles after the last step's ``step``.

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
    is_miscounted : In, with repeats, a cycle after ``step``: the payload in front of the step has
        another number of repeated words
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
        flags = ["is_first", "is_second", "is_end", "is_over", "is_cut"]
        flags += ["is_reserved", "is_past", "is_long", "is_trailing"]
        if config.has_repeats:
            flags += ["is_many", "is_miscounted"]
        super().__init__(
            {
                **dict.fromkeys(("step", *flags), In(1)),
                "bit": In(range(config.beat_bits)),
                "rows": In(ROW_STEP_BITS),
                "end": Out(PacketEnd()),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # The step's own error and place, a cycle later.
        own = registered(m, self._own_error(m), "own_error")
        step = registered(m, self.step, "was_step", is_reset=True)
        is_first, is_second, is_end, is_trailing = (
            registered(m, getattr(self, name), f"was_{name}")
            for name in ("is_first", "is_second", "is_end", "is_trailing")
        )
        byte_bits = (self.config.beat_bytes - 1).bit_length()
        rounded = Signal(byte_bits + 1)  # up to a byte
        rows = Signal(ROW_STEP_BITS)  # from the place before
        m.d.comb += rounded.eq((self.bit + 7) >> 3)
        with m.If(self.step):
            m.d.sync += rows.eq(self.rows)
        passed = registered(m, (rows + rounded[-1])[:ROW_STEP_BITS], "passed")
        place = registered(m, rounded, "place")

        # The first error so far.
        error = Signal(ErrorCode)
        is_known, is_right, later = Signal(), Signal(), Signal()
        is_miscounted = self.is_miscounted if self.config.has_repeats else Const(0, 1)
        m.d.comb += [
            is_known.eq((error != ErrorCode.NONE) & ~is_second),
            is_right.eq(~is_known & (own == ErrorCode.NONE) & ~is_miscounted),
            later.eq(step & ~is_first),
        ]
        byte, was_carried = Signal(byte_bits), Signal()
        with m.If(later & ~is_known):
            m.d.sync += error.eq(own)
            with m.If(own == ErrorCode.NONE):
                m.d.sync += error.eq(Mux(is_end & is_trailing, ErrorCode.TRAILING, own))
                with m.If(is_miscounted):
                    m.d.sync += error.eq(ErrorCode.COUNT)
        with m.If(later & is_right):
            m.d.sync += [byte.eq(place), was_carried.eq(place[-1])]
        with m.Elif(later & is_second):
            m.d.sync += byte.eq(0)

        # Whole rows up to the last place that was right.
        m.submodules.whole = whole = Counter(COUNT_BITS - byte_bits, ROW_STEP_BITS)
        more = (passed - (was_carried & ~is_second)) & is_right.replicate(ROW_STEP_BITS)
        m.d.comb += [
            whole.enable.eq(registered(m, later, "was_later", is_reset=True)),
            whole.restart.eq(registered(m, is_second, "restarts")),
            whole.step.eq(registered(m, more[:ROW_STEP_BITS], "more_rows")),
            self.end.error.eq(error),
            self.end.bytes.eq(Cat(byte, whole.value)),
        ]
        return m

    def _own_error(self, m):
        """The first error that a step reports, but for the count of repeated words: the last."""
        was_cut = Signal()
        found = Signal(ErrorCode)
        with m.If(self.step):
            m.d.sync += was_cut.eq(self.is_cut)
        many = [(self.is_many, ErrorCode.COUNT)] if self.config.has_repeats else []
        errors = [
            (was_cut, ErrorCode.TRUNCATED),
            (self.is_reserved, ErrorCode.RESERVED),
            (self.is_past, ErrorCode.MASK_PAST_END),
            *many,
            (self.is_long, ErrorCode.TOO_LONG),
            (self.is_over, ErrorCode.TRUNCATED),
        ]
        for is_here, code in reversed(errors):
            with m.If(is_here):
                m.d.comb += found.eq(code)
        return found
