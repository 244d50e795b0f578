"""Values that accompany a pipeline."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out


class DelayLine(wiring.Component):
    """Delay a value and its valid bit by as many cycles as the pipeline that they accompany.

    Throughput one value a cycle while ``enable``; latency ``stages`` cycles. The outputs are
    registered; with no stage they are the inputs. Only the valid bits are reset.

    Parameters
    ----------
    shape : ShapeLike
        The value.
    stages : int
        Cycles, 0 or more.

    Members
    -------
    enable : In, all stages load
    i_valid, i : In, the value
    o_valid, o : Out, the value ``stages`` enabled cycles later
    """

    enable: Signal
    i_valid: Signal
    i: data.View
    o_valid: Signal
    o: data.View

    def __init__(self, shape, stages: int):
        if stages < 0:
            raise ValueError(f"Number of stages must be 0 or more, not {stages!r}")
        self.shape = shape
        self.stages = stages
        super().__init__(
            {
                "enable": In(1),
                "i_valid": In(1),
                "i": In(shape),
                "o_valid": Out(1),
                "o": Out(shape),
            }
        )

    def elaborate(self, platform):
        m = Module()
        valid, value = self.i_valid, self.i
        for stage in range(self.stages):
            next_valid = Signal(name=f"valid{stage}")
            next_value = Signal(self.shape, name=f"value{stage}", reset_less=True)
            with m.If(self.enable):
                m.d.sync += [next_valid.eq(valid), next_value.eq(value)]
            valid, value = next_valid, next_value
        m.d.comb += [self.o_valid.eq(valid), self.o.eq(value)]
        return m
