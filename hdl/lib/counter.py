"""A wide counter without a long carry."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import kept_apart

PART_BITS = 8  # a carry ripples through one part in a cycle, and skips all others


class Counter(wiring.Component):
    """Sum of small steps, modulo ``2**width``.

    The upper bits are counted in parts, each with a register that is 1 when the part is all ones. A
    carry passes a part through this register, not through its bits. So the path of a 32-bit sum is
    little longer than the adder of a step, and synthesis makes no long chain. Latency one cycle.

    Parameters
    ----------
    width : int
        Bits of the sum.
    step_bits : int
        Bits of a step, fewer than ``width``.

    Members
    -------
    enable : In, add
    restart : In, with ``enable``: the sum restarts with this step
    step : In, number to add
    value : Out, the sum
    """

    enable: Signal
    restart: Signal
    step: Signal
    value: Signal

    def __init__(self, width: int, step_bits: int):
        if not 0 < step_bits < width:
            raise ValueError(
                f"Bits of a step must be positive and fewer than the {width} of the sum, "
                f"not {step_bits!r}"
            )
        self.width = width
        self.step_bits = step_bits
        super().__init__(
            {
                "enable": In(1),
                "restart": In(1),
                "step": In(step_bits),
                "value": Out(width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        first_bits = self.step_bits
        first = Signal(first_bits)
        total = Signal(first_bits + 1)
        m.d.comb += total.eq(first + self.step)
        with m.If(self.enable):
            m.d.sync += first.eq(Mux(self.restart, self.step, total))
        carry = total[first_bits]
        parts = [first]
        for start in range(first_bits, self.width, PART_BITS):
            bits = min(PART_BITS, self.width - start)
            part = Signal(bits, name=f"part{start}")
            is_full = Signal(name=f"is_full{start}")
            # The carry comes late and only drives a mux.
            same, further = (kept_apart(f"{name}{start}", bits + 1) for name in ("same", "further"))
            m.d.comb += [
                same.eq(Mux(self.restart, 0, Cat(part, is_full))),
                further.eq(Mux(self.restart, 0, Cat((part + 1)[:bits], part == (1 << bits) - 2))),
            ]
            with m.If(self.enable):  # a step fits into the first part
                m.d.sync += Cat(part, is_full).eq(Mux(carry, further, same))
            carry = carry & is_full
            parts.append(part)
        m.d.comb += self.value.eq(Cat(parts))
        return m
