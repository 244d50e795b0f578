"""The steps of packets, compared with a number of words and of cycles for each packet."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.counter import PART_BITS
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.steps import PHASES, ControlSteps
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import leave_open, offer
from cdma.verify.proofs.proof import Proof, faults

NUMBER_BITS = 2  # packets are counted modulo 4, and three can share a step


class FollowsPackets(Elaboratable):
    """A packet has a step for each block of its words, one for the last payload, and one behind.
    A step takes the cycles of its phases, and waits in the first of them until it may proceed.

    The model numbers packets. A step has a control of the newest packet, the last payload of one
    packet, or what follows another: or all three.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        size, has_repeats = dut.config.word.block_words, dut.config.has_repeats
        takes = offer(m, dut.i_command, "command")
        leave_open(m, dut, "can_start", "proceed")
        newest, tail, end = (Signal(NUMBER_BITS, name=name) for name in ("newest", "tail", "end"))
        has_control, has_tail, has_end = (
            Signal(name=f"has_{name}") for name in ("control", "tail", "end")
        )
        is_first, was_first = Signal(name="is_first"), Signal(name="was_first")
        # Words of the newest packet from its control on, from a step's second cycle to the next's.
        rest, all_words, is_known = Signal(COUNT_BITS), Signal(COUNT_BITS), Signal()
        cycle, is_over, starts = Signal(range(PHASES)), Signal(), Signal()
        may_start = Mux(
            cycle == 0,
            ~has_control & ~(has_repeats & has_tail),
            (cycle == PHASES - 1) & is_over & ~(has_repeats & has_control),
        )
        m.d.comb += [
            is_over.eq(~has_control | (rest <= size)),
            starts.eq(dut.can_start & dut.i_command.valid & may_start),
            Assert(dut.starts == starts),
            Assert(dut.phase == 1 << cycle),
            Assert(takes == (dut.i_command.valid & has_control & is_first & (cycle == 1))),
        ]
        with m.If((cycle != 0) | (dut.proceed & ~starts)):
            m.d.sync += cycle.eq(cycle + 1)
        with m.If(cycle == 1):
            m.d.sync += [rest.eq(rest - size), is_known.eq(has_control)]
            with m.If(is_first):
                m.d.sync += [rest.eq(dut.i_command.payload.words), is_known.eq(takes)]
                m.d.sync += all_words.eq(dut.i_command.payload.words)
        with m.If(starts):
            m.d.sync += [newest.eq(newest + 1), has_control.eq(1), is_first.eq(1)]
        with m.If(cycle == PHASES - 1):
            m.d.sync += [
                has_tail.eq(has_control & is_over),
                tail.eq(newest),
                has_end.eq(has_tail),
                end.eq(tail),
                was_first.eq(has_control & is_first),
                has_control.eq(starts | ~is_over),
                is_first.eq(starts),
            ]
        m.d.comb += [
            Assert(dut.has_control == has_control),
            Assert(dut.is_tail == has_tail),
            Assert(dut.is_end == has_end),
            Assert(dut.has_block == (has_tail | (has_control & ~is_first))),
            Assert(~has_control | (dut.is_first == is_first)),
            Assert(~dut.has_block | (dut.is_second == was_first)),
            Assert(dut.shares_tail == (has_tail & has_control)),
            Assert(~has_end | (dut.shares_end == (newest != end))),
        ]
        with m.If(is_known):
            m.d.comb += [
                Assert(dut.is_last == (rest <= size)),
                Assert(dut.is_empty == (all_words == 0)),
                Assert((rest > size) | (dut.words == rest)),
                Cover(has_end & (all_words == size + 1) & (cycle == 3)),
                Cover(has_end & has_control & (all_words == 0) & (cycle == 3)),
            ]
        self._know(m, newest, tail, end, rest, is_known, cycle, was_first)
        return m

    def _know(self, m, newest, tail, end, rest, is_known, cycle, was_first):
        """Invariants: packets of a step, and the registers of the countdown."""
        dut = self.dut
        has_control, has_tail, has_end = dut.has_control, dut.is_tail, dut.is_end
        of_control = Mux(has_control, (newest - 1)[:NUMBER_BITS], newest)
        m.d.comb += [
            Assert(~has_tail | (tail == of_control)),
            Assert(~has_end | has_tail | (end == of_control)),
            Assert(~has_end | ~has_tail | (end == (tail - 1)[:NUMBER_BITS])),
            Assert(dut.is_first == (has_control & probe(m, "is_first", 1))),
            Assert(~probe(m, "is_first", 1) | has_control),
            Assert(dut.is_second == was_first),
            # A packet that has started has its command until that is taken.
            Assert(~(has_control & dut.is_first & (cycle < 2)) | dut.i_command.valid),
            # Of the step with a control up to the second cycle of the next.
            Assert((cycle < 2) | (is_known == has_control)),
            Assert(is_known | ~has_control | dut.is_first),
        ]
        size = dut.config.word.block_words
        low = (3 * size - 1).bit_length()
        is_last, borrow = (probe(m, f"dut.left.{name}", 1) for name in ("is_last", "borrow"))
        m.d.comb += [
            Assert(is_known | is_last),
            Assert(~borrow | ~is_last),
            # A later control comes only with words; in front of a packet's first, nothing is left.
            Assert(~has_control | dut.is_first | (cycle > 1) | ~is_last),
            Assert(~(has_control & dut.is_first) | (cycle > 1) | is_last),
            Assert(~has_tail | (cycle > 1) | is_last),
            Assert(has_control | has_tail | is_last),
            Assert(~is_known | has_control | has_tail),
        ]
        with m.If(is_known):
            m.d.comb += [
                Assert(probe(m, "dut.left.words", low) == rest[:low]),
                Assert(~borrow | (rest[:low] >= (1 << low) - size)),
            ]
        upper = Signal(COUNT_BITS - low)
        m.d.comb += upper.eq(rest[low:] + borrow)
        with m.If(is_known & ~is_last):
            for start in range(0, len(upper), PART_BITS):
                part, number = upper[start : start + PART_BITS], start + low
                m.d.comb += [
                    Assert(probe(m, f"dut.left.part{number}", len(part)) == part),
                    Assert(probe(m, f"dut.left.is_zero{number}", 1) == (part == 0)),
                ]


SIZES = {
    **{name: Config(name) for name in ("fp32", "bf16", "int8")},
    "fp32-left": Config("fp32", "left"),
}

PROOFS = (
    Proof(
        name="control_steps",
        promise="A packet has a step for each of its blocks, one for the last payload, one behind",
        components=(ControlSteps,),
        design=lambda config: FollowsPackets(ControlSteps(config)),
        sizes=SIZES,
        broken=faults(
            SIZES["fp32"],
            24,
            late("dut.left.is_last"),
            stuck_at(0, "dut.is_empty"),
            stuck_at(1, "dut.starts"),
            stuck_at(0, "dut.is_second"),
            stuck_at(0, "dut.shares_end"),
        ),
    ),
)
