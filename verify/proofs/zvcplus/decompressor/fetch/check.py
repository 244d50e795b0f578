"""The first error of a packet, compared with one that is judged report by report."""

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.counter import PART_BITS
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.check import METER_CYCLES, ROW_STEP_BITS, StreamCheck
from cdma.hdl.zvcplus.decompressor.layouts import BIT_BITS, row_bits
from cdma.hdl.zvcplus.decompressor.steps import PHASES
from cdma.hdl.zvcplus.decompressor.unit import Decompressor
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import leave_open
from cdma.verify.proofs.proof import Proof, faults
from cdma.verify.proofs.zvcplus.decompressor.fetch.any_steps import AnySteps
from cdma.zvcplus import ErrorCode

ROW = 1 << BIT_BITS
MOST_ROWS = (1 << ROW_STEP_BITS) - 1


class _Past:
    """Values of earlier cycles, zero before the first."""

    def __init__(self, m):
        self._m = m
        self._values = {}

    def __call__(self, value: Signal, cycles: int) -> Signal:
        """``value`` as it was ``cycles`` ago."""
        name = value.name
        for cycle in range(1, cycles + 1):
            if (name, cycle) not in self._values:
                register = Signal.like(value, name=f"{name}_{cycle}_ago", init=0)
                self._m.d.sync += register.eq(value)
                self._values[name, cycle] = register
            value = self._values[name, cycle]
        return value


class JudgesReports(Elaboratable):
    """A packet's error is that of the first of its reports that has one, and its bytes are those in
    front of the last place without an error.

    A step reports the control of the step before, and the payload in front of that. A report is
    wrong when the packet ends in front of the place behind the control, when the control is wrong,
    when the packet ends in front of the place behind the payload, or when that has another number
    of repeated words, in this order. At a packet's end, its last payload is judged, and whether
    anything is behind it.

    Between two reports are at most seven rows, and a packet's first control ends in its first row.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        m.submodules.dut = elaborated(dut, platform)
        config, word = dut.config, dut.config.word
        errors = {"is_reserved": ErrorCode.RESERVED, "is_past": ErrorCode.MASK_PAST_END}
        if config.has_repeats and word.is_float:
            errors["is_many"] = ErrorCode.COUNT
        errors["is_long"] = ErrorCode.TOO_LONG
        counts = ["is_miscounted"] if config.has_repeats else []
        leave_open(m, dut, "tail", "behind", *errors, *counts)
        steps, past = AnySteps(m, dut), _Past(m)
        at, is_over, is_left = self._compare(m, steps)

        # A report is judged four cycles after its step, an end one cycle after it. Both come later
        # where the last payload is measured.
        wait = METER_CYCLES if config.has_repeats and not word.is_float else 0
        is_report, is_end, is_second = Signal(), Signal(), Signal()
        place, code, of_control = Signal.like(at), Signal(ErrorCode), Signal(ErrorCode)
        m.d.comb += [
            is_report.eq(past(steps.reports, 4 + wait)),
            is_end.eq(past(steps.ends, 1 + wait)),
            is_second.eq(is_report & past(steps.is_second, 4 + wait)),
            # Of a report: in front of the control, in the cycle before the last of its step. Of an
            # end: in its step's second cycle.
            place.eq(Mux(is_end, past(at, 3 + wait), past(at, 5 + wait))),
            Assert(~is_report | ~is_end),
        ]
        for name, error in reversed(errors.items()):
            with m.If(past(getattr(dut, name), 2 + wait)):
                m.d.comb += of_control.eq(error)
        if counts:
            since = past(dut.is_miscounted, 1 if wait else 4)
            with m.If(Mux(is_end, past(dut.is_miscounted, 1), since)):
                m.d.comb += code.eq(ErrorCode.COUNT)
        with m.If(Mux(is_end, past(is_over, 2 + wait), past(is_over, 4 + wait))):
            m.d.comb += code.eq(ErrorCode.TRUNCATED)
        with m.If(is_report & (of_control != ErrorCode.NONE)):
            m.d.comb += code.eq(of_control)
        with m.If(is_report & past(is_over, 3 + wait)):
            m.d.comb += code.eq(ErrorCode.TRUNCATED)
        m.d.comb += [
            Assert(dut.checked == past(steps.ends, wait)),
            Assert(dut.o_valid == past(steps.ends, 3 + wait)),
            Assert(dut.fails == (is_report & (code != ErrorCode.NONE))),
            Assert(~dut.fails | (dut.failing == past(steps.packet, 4 + wait))),
        ]
        trails = is_end & (code == ErrorCode.NONE) & past(is_left, 2 + wait)
        has_begun = past(steps.has_begun, 4 + wait)
        self._judge(m, is_report | is_end, is_second, has_begun, place, code, trails)
        return m

    def _compare(self, m, steps):
        """A place of each cycle in whole bytes; and compared with its packet's end, as far as that
        has come, in the cycle behind: the packet ends in front of it, or something is behind it."""
        dut = self.dut
        size = row_bits(dut.depth) + BIT_BITS - 3
        at, was_at, end, apart = (
            Signal(size, name=f"the_{n}") for n in ("at", "was", "e", "apart")
        )
        place, used = Signal.like(dut.tail), Signal(3)
        is_over, is_left = Signal(name="the_over"), Signal(name="the_left")
        half = 1 << (row_bits(dut.depth) - 1)
        has_come, packet_end = steps.end_of_compared()
        m.d.comb += [
            place.eq(Mux(steps.cycle == PHASES - 1, dut.behind, dut.tail)),
            at.eq((place >> 3) + (place[:3] != 0)),
            end.eq(Cat(packet_end.byte, packet_end.row)),
            apart.eq(end - was_at),
            # Numbers are modulo the rows that they can have.
            Assume(~has_come | ((apart >> len(packet_end.byte)) != half - 1)),
            Assume(~has_come | ((apart >> len(packet_end.byte)) != half)),
            is_over.eq(has_come & ~packet_end.dropped & apart[-1]),
            is_left.eq(
                packet_end.dropped | (apart != 0) | ((used != 0) & ((packet_end.rest >> used) != 0))
            ),
        ]
        m.d.sync += [was_at.eq(at), used.eq(place[:3])]
        return at, is_over, is_left

    def _judge(self, m, is_judged, is_second, has_begun, place, code, trails):
        """The error so far, and the bytes in front of it."""
        dut = self.dut
        error, was_known = Signal(ErrorCode), Signal()
        last, count, step = Signal.like(place), Signal(COUNT_BITS), Signal.like(place)
        size = BIT_BITS - 3
        is_right = ~was_known & (code == ErrorCode.NONE)
        m.d.comb += [was_known.eq((error != ErrorCode.NONE) & ~is_second), step.eq(place - last)]
        with m.If(is_judged):
            with m.If(is_second):
                m.d.sync += count.eq(0)
                m.d.comb += Assume(place & (ROW // 8 - 1) != 0)
            with m.If(~was_known):
                m.d.sync += error.eq(Mux(trails, ErrorCode.TRAILING, code))
            with m.If(is_right):
                m.d.sync += [
                    count.eq(Mux(is_second, place[:size], count + step)),
                    last.eq(place),
                ]
                m.d.comb += Assume(is_second | (step <= MOST_ROWS * ROW // 8))
        rows, was_count = Signal(COUNT_BITS - size), Signal.like(count)
        m.d.sync += was_count.eq(count)
        whole = probe(m, "dut.whole.value", COUNT_BITS - size)
        m.d.comb += rows.eq(was_count >> size)
        with m.If(dut.o_valid):
            m.d.comb += [
                Assert(dut.end.error == error),
                Assert(dut.end.bytes == count),
                *(Cover(dut.end.error == each) for each in (ErrorCode.NONE, ErrorCode.TRAILING)),
                Cover((dut.end.error == ErrorCode.TRUNCATED) & (dut.end.bytes > ROW // 8)),
                Cover((dut.end.error == ErrorCode.TOO_LONG) & (dut.end.bytes == 7)),
            ]
            if dut.config.has_repeats:
                m.d.comb += Cover(dut.end.error == ErrorCode.COUNT)
        # Invariants: registers of the sum.
        m.d.comb += [
            Assert(probe(m, "dut.error", 4) == error),
            Assert(probe(m, "dut.kept", size) == count[:size]),
            Assert(whole == rows),
        ]
        with m.If(has_begun & (error == ErrorCode.NONE)):
            m.d.comb += [
                Assert(probe(m, "dut.last_row", row_bits(dut.depth)) == last >> size),
                Assert(count[:size] == last[:size]),
            ]
        for start in range(ROW_STEP_BITS, len(rows), PART_BITS):
            part = whole[start : start + PART_BITS]
            m.d.comb += Assert(probe(m, f"dut.whole.is_full{start}", 1) == part.all())


def check(config: Config) -> StreamCheck:
    """The check of a unit."""
    return StreamCheck(config, Decompressor.rows(config))


SIZES = {
    "fp32": Config("fp32"),
    **{f"{name}-left": Config(name, "left") for name in ("fp32", "int8")},
}

PROOFS = (
    Proof(
        name="stream_check",
        promise="A packet's error is its first, and its bytes are those in front of it",
        components=(StreamCheck,),
        design=lambda config: JudgesReports(check(config)),
        sizes=SIZES,
        depth=14,
        broken=faults(
            SIZES["fp32"],
            24,
            late("dut.is_before"),
            stuck_at(0, "dut.was_over_before"),
            inverted("dut.restarts"),
            stuck_at(0, "dut.is_trailing"),
            late("dut.more_rows"),
        ),
    ),
)
