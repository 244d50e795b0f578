"""Wide sums and comparisons in parts, whose carries are in registers.

Each function adds registers in the domain ``sync`` that follow their operands in every cycle,
without reset. In the first cycle each part is added alone; in the second one the carries pass the
parts, not their bits.
"""

from amaranth.hdl import Cat, Module, Signal, Value

#: Bits of a part: as long as a carry that passes them is short next to a clock of the library.
PART_BITS = 6


def exceeds_later(
    m: Module, a: Value, b: Value | None, bound: Value, name: str, *, first=0, part: int = PART_BITS
) -> Value:
    """``a + b + first > bound``, a cycle later, from registers through the carries of the parts.

    Parameters
    ----------
    m : Module
    a, b, bound : Value
        Unsigned numbers. ``b`` may be ``None`` for zero.
    name : str
        Prefix of the registers.
    first : Value
        One bit.
    part : int
        Bits of a part.
    """
    bits = max(len(each) for each in (a, bound) if each is not None)
    if b is not None:
        bits = max(bits, len(b))
    left, right = Signal(bits, name=f"{name}_left"), Signal(bits, name=f"{name}_right")
    # a + b + first > bound: the sum of a, b, first and the complement of bound has a carry.
    rest = Signal(bits, name=f"{name}_rest")
    m.d.comb += rest.eq(bound)
    top = Signal(name=f"{name}_top", reset_less=True)
    if b is None:
        m.d.comb += [left.eq(a), right.eq(~rest)]
        m.d.sync += top.eq(0)
    else:
        one, other = Signal(bits, name=f"{name}_a"), Signal(bits, name=f"{name}_b")
        majority = Signal(bits, name=f"{name}_majority")
        m.d.comb += [
            one.eq(a),
            other.eq(b),
            majority.eq((one & other) | ((one | other) & ~rest)),
            left.eq(one ^ other ^ ~rest),
            right.eq(Cat(0, majority)),
        ]
        m.d.sync += top.eq(majority[-1])
    carry = Signal(name=f"{name}_first", reset_less=True)
    m.d.sync += carry.eq(first)
    for k, low in enumerate(range(0, bits, part)):
        high = min(low + part, bits)
        gives = Signal(name=f"{name}_gives{k}", reset_less=True)
        passes = Signal(name=f"{name}_passes{k}", reset_less=True)
        m.d.sync += [
            gives.eq((left[low:high] + right[low:high])[-1]),
            passes.eq((left[low:high] ^ right[low:high]).all()),
        ]
        carry = gives | (passes & carry)
    return carry | top


def sum_in_parts(m: Module, a: Value, b: Value, name: str, *, part: int = PART_BITS) -> Value:
    """``a + b`` in as many bits as ``a`` has, a cycle later.

    Where ``b`` has no bits, ``a`` has no registers: it must be the same in the next cycle.
    """
    width, carry, total = len(b), 0, []
    for k, low in enumerate(range(0, width, part)):
        high = min(low + part, width)
        piece = Signal(high - low, name=f"{name}_sum{k}", reset_less=True)
        gives = Signal(name=f"{name}_gives{k}", reset_less=True)
        m.d.sync += Cat(piece, gives).eq(a[low:high] + b[low:high])
        total.append((piece + carry)[: len(piece)])
        carry = gives | (piece.all() & carry)
    total.append(incremented(a[width:], carry, part=part))
    return Cat(total)[: len(a)]


def incremented(value: Value, carry: Value, *, part: int = PART_BITS) -> Value:
    """``value + carry`` of one bit, modulo its size. The carry passes parts that are all ones."""
    total = []
    for low in range(0, len(value), part):
        piece = value[low : low + part]
        total.append((piece + carry)[: len(piece)])
        carry = piece.all() & carry
    return Cat(total)
