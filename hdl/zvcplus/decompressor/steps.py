"""The sequence of a packet's controls."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import enum, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.countdown import Countdown
from cdma.hdl.zvc.beat import COUNT_BITS, DecompressorCommand
from cdma.hdl.zvcplus.config import Config

PHASES = 4  # cycles of a step, those of a block at the output


class Step(enum.Enum, shape=2):
    """What a step reads."""

    CONTROL = 0
    TAIL = 1  # nothing: the last payload stands behind the one before
    END = 2  # what follows the last payload


class ControlSteps(wiring.Component):
    """Sequence the steps of a packet: one for each control, one for the last payload, one behind
    it; without words only the last two.

    A step has four phases of a cycle. It waits in its first phase, 0, until it may ``proceed``.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    i_command : In stream of :class:`~cdma.hdl.zvc.beat.DecompressorCommand`
    proceed : In, a step may leave its first phase
    loaded : Out, there is a command
    phase : Out, one bit per phase; none while there is no command
    starts : Out, the step leaves its first phase
    is_control, is_end : Out, kind of the step; neither for the last payload
    is_first, is_second : Out, number of the step in its packet
    is_last : Out, with ``is_control``: of the packet's last block
    words : Out, with ``is_last``: words of the packet in it
    is_empty : Out, the packet has no words
    """

    i_command: stream.Interface
    proceed: Signal
    loaded: Signal
    phase: Signal
    starts: Signal
    is_control: Signal
    is_end: Signal
    is_first: Signal
    is_second: Signal
    is_last: Signal
    words: Signal
    is_empty: Signal

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "i_command": In(stream.Signature(DecompressorCommand())),
                "proceed": In(1),
                "loaded": Out(1),
                "phase": Out(PHASES),
                "starts": Out(1),
                "is_control": Out(1),
                "is_end": Out(1),
                "is_first": Out(1),
                "is_second": Out(1),
                "is_last": Out(1),
                "words": Out(range(config.word.block_words + 1)),
                "is_empty": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.left = left = Countdown(COUNT_BITS, self.config.word.block_words)
        phase = Signal(PHASES, init=1)
        step = Signal(Step)
        ends = Signal()
        m.d.comb += [
            self.i_command.ready.eq(~self.loaded),
            left.load.eq(self.i_command.valid & self.i_command.ready),
            left.load_words.eq(self.i_command.payload.words),
            left.step.eq(ends & self.is_control),
            # Without a command, a step is at most in its first phase.
            self.phase.eq(Cat(phase[0] & self.loaded, phase[1:])),
            self.starts.eq(self.phase[0] & self.proceed),
            ends.eq(phase[-1]),
            self.is_empty.eq(left.is_zero),
            self.is_control.eq((step == Step.CONTROL) & ~self.is_empty),
            self.is_end.eq(step == Step.END),
            self.is_last.eq(left.is_last),
            self.words.eq(left.words),
        ]
        with m.If(self.starts | ~phase[0]):
            m.d.sync += phase.eq(phase.rotate_left(1))
        with m.If(left.load):
            m.d.sync += [self.loaded.eq(1), self.is_first.eq(1), step.eq(Step.CONTROL)]
        with m.If(ends):
            m.d.sync += [self.is_first.eq(0), self.is_second.eq(self.is_first)]
            with m.If(self.is_end):
                m.d.sync += self.loaded.eq(0)
            with m.Elif((step == Step.TAIL) | self.is_empty):
                m.d.sync += step.eq(Step.END)
            with m.Elif(self.is_last):
                m.d.sync += step.eq(Step.TAIL)
        return m
