"""Controls at their places in a row."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvcplus.config import Config


class ControlRotator(wiring.Component):
    """Rotate a control, and the bits of repeats behind it, to their place in a row.

    Throughput one control a cycle, latency :attr:`LATENCY` cycles; the output is registered.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    enable : In, the registers load
    control : In, the bits of the control
    at : In, place of its first bit
    bits : Out, a row with the control from place ``at`` on, cyclically, and zeros
    """

    #: Cycles from a control to its row.
    LATENCY = 2

    enable: Signal
    control: Signal
    at: Signal
    bits: Signal

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "enable": In(1),
                "control": In(config.front_bits),
                "at": In(8),
                "bits": Out(config.beat_bits),
            }
        )

    def elaborate(self, platform):
        m = Module()
        half = len(self.at) // 2
        spread = len(self.control) + (1 << half) - 1
        near = Signal(spread, reset_less=True)
        upper = Signal(half, reset_less=True)
        row = Signal.like(self.bits, reset_less=True)
        control = self.control
        for level in range(half):
            control = Mux(self.at[level], Cat(Const(0, 1 << level), control), control)
        bits = Cat(near, Const(0, len(row) - spread))
        for level in range(half):
            bits = Mux(upper[level], bits.rotate_left(1 << half + level), bits)
        with m.If(self.enable):
            m.d.sync += [near.eq(control), upper.eq(self.at[half:]), row.eq(bits)]
        m.d.comb += self.bits.eq(row)
        return m
