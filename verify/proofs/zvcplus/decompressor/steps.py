"""The steps of packets, compared with a number of words and of cycles for each packet."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.counter import PART_BITS
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.steps import PHASES, ControlSteps, Step
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import leave_open, offer
from cdma.verify.proofs.proof import Proof, faults


class FollowsPackets(Elaboratable):
    """A packet has a step for each block of its words, one for the last payload, and one behind.

    A command is taken between packets only. A step takes the cycles of its phases, and waits in
    the first of them until it may proceed.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        size = dut.config.word.block_words
        takes = offer(m, dut.i_command, "command")
        leave_open(m, dut, "proceed")
        # Of the packet: words without a control so far, all of them, steps that are done.
        is_loaded, rest, all_words = Signal(), Signal(COUNT_BITS), Signal(COUNT_BITS)
        done, is_behind = Signal(range(3)), Signal()  # up to two; the last payload is done
        cycle, moves, ends = Signal(range(PHASES)), Signal(), Signal()
        is_control = rest != 0
        m.d.comb += [
            moves.eq(is_loaded & (dut.proceed | (cycle != 0))),
            ends.eq(cycle == PHASES - 1),
        ]
        with m.If(moves):
            m.d.sync += cycle.eq(cycle + 1)
        with m.If(ends):
            m.d.sync += done.eq(Mux(done == 2, 2, done + 1))
            with m.If(is_control):
                m.d.sync += rest.eq(Mux(rest > size, rest - size, 0))
            with m.Else():
                m.d.sync += [is_behind.eq(1), is_loaded.eq(~is_behind)]
        with m.If(takes):
            m.d.sync += [
                is_loaded.eq(1),
                rest.eq(dut.i_command.payload.words),
                all_words.eq(dut.i_command.payload.words),
                done.eq(0),
                is_behind.eq(0),
            ]
        m.d.comb += [
            Assert(dut.i_command.ready == ~is_loaded),
            Assert(dut.loaded == is_loaded),
            Assert(dut.phase == Mux(is_loaded, 1 << cycle, 0)),
            Assert(dut.starts == (is_loaded & (cycle == 0) & dut.proceed)),
        ]
        with m.If(is_loaded):
            m.d.comb += [
                Assert(dut.is_control == is_control),
                Assert(dut.is_end == is_behind),
                Assert(dut.is_first == (done == 0)),
                Assert(dut.is_second == (done == 1)),
                Assert(dut.is_empty == (all_words == 0)),
                Cover(is_behind & (all_words == 0) & ends),
                Cover(is_behind & (all_words == size + 1) & ends),
            ]
            with m.If(is_control):
                m.d.comb += Assert(dut.is_last == (rest <= size))
                with m.If(rest <= size):
                    m.d.comb += Assert(dut.words == rest)
        self._know(m, is_loaded, is_control, rest, all_words, done, is_behind, cycle)
        return m

    def _know(self, m, is_loaded, is_control, rest, all_words, done, is_behind, cycle):
        """Invariants: states that occur, and the registers of the countdown."""
        step = probe(m, "dut.step$", 2)
        m.d.comb += [
            Assert(is_loaded | (cycle == 0)),
            Assert(probe(m, "dut.phase$", PHASES) == 1 << cycle),
            Assert(~is_behind | ~is_control),
            Assert((rest == all_words) | (done != 0)),
            Assert(~is_behind | (done != 0)),
            Assert(done != 3),
            Assert(is_loaded | ~self.dut.is_second),
        ]
        with m.If(is_loaded):
            # The tail of a packet without words is told apart by its number of words.
            kind = Mux(is_control | (all_words == 0), Step.CONTROL.value, Step.TAIL.value)
            m.d.comb += Assert(step == Mux(is_behind, Step.END.value, kind))
        # The upper bits are a cycle late, and not used after the last control.
        size = self.dut.config.word.block_words
        low = (3 * size - 1).bit_length()
        is_last, borrow = (probe(m, f"dut.left.{name}", 1) for name in ("is_last", "borrow"))
        m.d.comb += [
            Assert((is_loaded & is_control) | is_last),
            Assert(~borrow | ~is_last),
        ]
        with m.If(is_loaded & is_control):
            m.d.comb += [
                Assert(probe(m, "dut.left.words", low) == rest[:low]),
                Assert(~borrow | (rest[:low] >= (1 << low) - size)),
            ]
        upper = Signal(COUNT_BITS - low)
        m.d.comb += upper.eq(rest[low:] + borrow)
        with m.If(is_loaded & is_control & ~is_last):
            for start in range(0, len(upper), PART_BITS):
                part, number = upper[start : start + PART_BITS], start + low
                m.d.comb += [
                    Assert(probe(m, f"dut.left.part{number}", len(part)) == part),
                    Assert(probe(m, f"dut.left.is_zero{number}", 1) == (part == 0)),
                ]


PROOFS = (
    Proof(
        name="control_steps",
        promise="A packet has a step for each of its blocks, one for the last payload, one behind",
        components=(ControlSteps,),
        design=lambda config: FollowsPackets(ControlSteps(config)),
        sizes={name: Config(name) for name in ("fp32", "bf16", "int8")},
        broken=faults(
            Config("fp32"),
            24,
            late("dut.left.is_last"),
            stuck_at(0, "dut.is_empty"),
            stuck_at(1, "dut.starts"),
            stuck_at(0, "dut.is_second"),
        ),
    ),
)
