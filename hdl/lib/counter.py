"""Wide counters without a long carry."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
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


class StepCounter(wiring.Component):
    """Count a wide number up or down by one, not in two cycles in a row.

    As in :class:`Counter`, each part has a register that is 1 when a carry passes it. Here these
    registers follow the parts by a cycle, so that no logic is in front of them, and neither a load
    nor a step has a long path. All outputs are registered.

    Parameters
    ----------
    width : int
        Bits of the number.
    down : bool
        Count down.

    Members
    -------
    load : In, become ``load_value``
    load_value : In, the number
    step : In, count; ignored with ``load``. Not in the cycle after a load or a step.
    value : Out, the number, modulo ``2**width``
    is_end : Out, two cycles after a load or step: the number is the last before the count wraps
    """

    load: Signal
    load_value: Signal
    step: Signal
    value: Signal
    is_end: Signal

    def __init__(self, width: int, *, down: bool = False):
        self.width = width
        self.down = down
        super().__init__(
            {
                "load": In(1),
                "load_value": In(width),
                "step": In(1),
                "value": Out(width),
                "is_end": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        passes = self.step  # the carry passes all lower parts
        ends = []
        for start in range(0, self.width, PART_BITS):
            part = self.value[start : start + PART_BITS]
            is_end = Signal(name=f"is_end{start}", init=self.down)
            m.d.sync += is_end.eq(~part.any() if self.down else part.all())
            with m.If(self.load):
                m.d.sync += part.eq(self.load_value[start : start + PART_BITS])
            with m.Elif(passes):
                m.d.sync += part.eq(part - 1 if self.down else part + 1)
            passes = passes & is_end
            ends.append(is_end)
        m.d.sync += self.is_end.eq(Cat(ends).all())
        return m


class LateCounter(wiring.Component):
    """Sum of wide steps, modulo ``2**width``, some cycles later.

    The parts of a step are added one after the other, each a cycle after the part below, and the
    parts of the sum are given at the same time. So no carry is longer than a part. Throughput one
    step a cycle; latency see :attr:`latency`.

    Parameters
    ----------
    width : int
        Bits of the sum.
    step_bits : int
        Bits of a step.

    Members
    -------
    clear : In, become 0; steps before are forgotten
    enable : In, add
    step : In, number to add
    value : Out, sum of the steps ``latency`` cycles ago and before; after ``clear``, 0 at once
    """

    clear: Signal
    enable: Signal
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
        self._low = -(-step_bits // PART_BITS)  # parts that a step has bits for
        super().__init__(
            {
                "clear": In(1),
                "enable": In(1),
                "step": In(step_bits),
                "value": Out(width),
            }
        )

    @property
    def latency(self) -> int:
        """Cycles from a step to the first ``value`` with it."""
        return self._low + (self.width > self._low * PART_BITS)

    def elaborate(self, platform):
        m = Module()
        enable, step, carry = self.enable, self.step, Const(0, 1)
        parts = []
        for number in range(self._low):
            start = number * PART_BITS
            bits = min(PART_BITS, self.width - start)
            part, total = Signal(bits, name=f"part{start}"), Signal(bits + 1, name=f"sum{start}")
            m.d.comb += total.eq(part + step[start : start + bits] + carry)
            carry, after = Signal(name=f"carry{start}"), Signal(name=f"enable{start}")
            m.d.sync += [after.eq(enable), carry.eq(total[-1] & enable)]
            with m.If(enable):
                m.d.sync += part.eq(total[:bits])
            with m.If(self.clear):
                m.d.sync += [part.eq(0), carry.eq(0), after.eq(0)]
            parts.append(self._delayed(m, part, self.latency - 1 - number))
            enable = after
            if number + 1 < self._low:
                later = Signal.like(step, name=f"step{start}")  # its upper bits are used
                m.d.sync += later.eq(step)
                step = later
        for start in range(self._low * PART_BITS, self.width, PART_BITS):
            part = Signal(min(PART_BITS, self.width - start), name=f"part{start}")
            is_full = Signal(name=f"is_full{start}")
            with m.If(self.clear):
                m.d.sync += [part.eq(0), is_full.eq(0)]
            with m.Elif(carry):
                m.d.sync += [part.eq(part + 1), is_full.eq(part == (1 << len(part)) - 2)]
            carry = carry & is_full
            parts.append(part)
        m.d.comb += self.value.eq(Cat(parts))
        return m

    def _delayed(self, m, part, cycles):
        name = part.name
        for cycle in range(cycles):
            later = Signal.like(part, name=f"{name}_{cycle}")
            m.d.sync += later.eq(part)
            with m.If(self.clear):
                m.d.sync += later.eq(0)
            part = later
        return part
