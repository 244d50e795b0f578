"""The sequence of the controls of packets."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.countdown import Countdown
from cdma.hdl.zvc.beat import COUNT_BITS, DecompressorCommand
from cdma.hdl.zvcplus.config import Config

PHASES = 4  # cycles of a step, those of a block at the output


class ControlSteps(wiring.Component):
    """Sequence the steps of packets: one for each control, and two behind them, for the last
    payload and for what follows it. A packet without words has one control, of no bits.

    The steps behind a packet's last control can be the first two of the next packet, with repeats
    only the second, if that packet has a command and may start. A step has four phases of a cycle.
    It waits in its first phase, 0, until it may ``proceed``.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    i_command : In stream of :class:`~cdma.hdl.zvc.beat.DecompressorCommand`, taken in phase 1 of
        a packet's first step
    can_start : In, the next packet may start
    proceed : In, a step may leave its first phase
    phase : Out, one bit per phase; in phase 0 a step waits
    starts : Out, the next packet starts: it has the next step, or this step if that waits
    has_control : Out, the step has a control
    is_first : Out, with ``has_control``: of its packet
    has_block : Out, the step before had a control, and this step is of the same packet, or tail
    is_second : Out, with ``has_block``: the step before was its packet's first
    is_tail, is_end : Out, the step is behind a packet's last control, for its last payload and for
        what follows
    shares_tail, shares_end : Out, the control of the step, or of the one before, is of the packet
        behind that one
    is_last, is_empty : Out, from phase 2 on of a step with a control to phase 1 of the next: the
        packet has no other block; it has no words
    words : Out, with ``is_last``: words of the packet in the block
    """

    i_command: stream.Interface
    can_start: Signal
    proceed: Signal
    phase: Signal
    starts: Signal
    has_control: Signal
    is_first: Signal
    is_second: Signal
    has_block: Signal
    is_tail: Signal
    is_end: Signal
    shares_tail: Signal
    shares_end: Signal
    is_last: Signal
    is_empty: Signal
    words: Signal

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "i_command": In(stream.Signature(DecompressorCommand())),
                "can_start": In(1),
                "proceed": In(1),
                "phase": Out(PHASES, init=1),
                "starts": Out(1),
                "has_control": Out(1),
                "is_first": Out(1),
                "is_second": Out(1),
                "has_block": Out(1),
                "is_tail": Out(1),
                "is_end": Out(1),
                "shares_tail": Out(1),
                "shares_end": Out(1),
                "is_last": Out(1),
                "is_empty": Out(1),
                "words": Out(range(config.word.block_words + 1)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.left = left = Countdown(COUNT_BITS, self.config.word.block_words)
        phase, ends = self.phase, self.phase[-1]
        is_over = Signal()  # no control is left of the packet
        # The bits of repeats of the last payload are read in the tail.
        waits = self.is_tail if self.config.has_repeats else 0
        is_early = self.has_control if self.config.has_repeats else 0
        m.d.comb += [
            self.i_command.ready.eq(phase[1] & self.is_first),
            left.load.eq(self.i_command.ready),
            left.load_words.eq(self.i_command.payload.words),
            left.step.eq(phase[1]),
            is_over.eq(~self.has_control | left.is_last),
            self.starts.eq(
                self.can_start
                & self.i_command.valid
                & Mux(phase[0], ~self.has_control & ~waits, ends & is_over & ~is_early)
            ),
            self.has_block.eq(self.is_tail | (self.has_control & ~self.is_first)),
            self.shares_tail.eq(self.is_tail & self.has_control),
            self.is_last.eq(left.is_last),
            self.is_empty.eq(left.is_zero),
            self.words.eq(left.words),
        ]
        with m.If(~phase[0] | (self.proceed & ~self.starts)):
            m.d.sync += phase.eq(phase.rotate_left(1))
        with m.If(ends):
            m.d.sync += [
                self.is_tail.eq(self.has_control & left.is_last),
                self.is_end.eq(self.is_tail),
                self.has_control.eq(self.starts | ~is_over),
                self.is_first.eq(self.starts),
                self.is_second.eq(self.is_first),
                self.shares_end.eq(self.shares_tail | (self.starts & self.is_tail)),
            ]
        with m.Elif(self.starts):
            m.d.sync += [
                self.has_control.eq(1),
                self.is_first.eq(1),
                self.shares_end.eq(self.shares_end | self.is_end),
            ]
        return m
