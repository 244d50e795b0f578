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
    for_cells : bool
        In standard cells the carry, which is late, only selects between two precomputed values. On
        an FPGA a carry chain adds it.

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

    def __init__(self, width: int, step_bits: int, *, for_cells: bool = False):
        if not 0 < step_bits < width:
            raise ValueError(
                f"Bits of a step must be positive and fewer than the {width} of the sum, "
                f"not {step_bits!r}"
            )
        self.width = width
        self.step_bits = step_bits
        self.for_cells = for_cells
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
        if self.for_cells:
            m.d.comb += total.eq(first + self.step)
            next_first = Mux(self.restart, self.step, total[:first_bits])
        else:
            m.d.comb += total.eq(Mux(self.restart, 0, first) + self.step)
            next_first = total
        with m.If(self.enable):
            m.d.sync += first.eq(next_first)
        carry = total[first_bits]
        parts = [first]
        for start in range(first_bits, self.width, PART_BITS):
            bits = min(PART_BITS, self.width - start)
            part = Signal(bits, name=f"part{start}")
            is_full = Signal(name=f"is_full{start}")
            count = self._count_late if self.for_cells else self._count
            count(m, part, is_full, carry)  # a step fits into the first part
            carry = carry & is_full
            parts.append(part)
        m.d.comb += self.value.eq(Cat(parts))
        return m

    def _count(self, m, part, is_full, carry):
        """Add the carry to a part."""
        top = (1 << len(part)) - 1
        with m.If(self.enable & self.restart):
            m.d.sync += [part.eq(0), is_full.eq(0)]
        with m.Elif(self.enable & carry):
            m.d.sync += [part.eq(part + 1), is_full.eq(part == top - 1)]

    def _count_late(self, m, part, is_full, carry):
        """The same, with the carry as the select of a mux and nothing else."""
        bits, top = len(part), (1 << len(part)) - 1
        same, further = (
            kept_apart(f"{part.name}_{name}", bits + 1) for name in ("same", "further")
        )
        m.d.comb += [
            same.eq(Mux(self.restart, 0, Cat(part, is_full))),
            further.eq(Mux(self.restart, 0, Cat((part + 1)[:bits], part == top - 1))),
        ]
        with m.If(self.enable):
            m.d.sync += Cat(part, is_full).eq(Mux(carry, further, same))
