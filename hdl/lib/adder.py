"""Wide sums in two steps, because the carry of one adder is the longest path of many designs."""

from amaranth.hdl import Cat, Module, Mux, Signal


def sum_later(m: Module, a, b, bits: int, name: str) -> Signal:
    """``a + b`` modulo ``2**bits``, two cycles later.

    The halves are added in the first cycle, and the carry between them in the second.
    """
    a, b = _sized(m, a, bits, f"{name}_left"), _sized(m, b, bits, f"{name}_right")
    half = bits // 2
    low, high, carry = Signal(half), Signal(bits - half), Signal()
    total = Signal(bits, name=name)
    m.d.sync += [
        Cat(low, carry).eq(a[:half] + b[:half]),
        high.eq(a[half:] + b[half:]),
        total.eq(Cat(low, (high + carry)[: bits - half])),
    ]
    return total


def _sized(m, value, bits, name):
    """A number in so many bits: of a signed one with its sign."""
    sized = Signal(bits, name=name)
    m.d.comb += sized.eq(value)
    return sized


def advance_in_two(m: Module, value: Signal, step, low: int, name: str, *, down=False) -> Signal:
    """Add ``step``, or with ``down`` subtract, in the domain ``sync``.

    The carry out of the ``low`` lowest bits follows a cycle later. ``step`` is below ``2**low``.
    Gives the register of the carry, which is 1 in the cycle in which ``value`` is not yet valid:
    statements that set ``value`` later clear the carry, too.
    """
    carry = Signal(name=f"{name}_carry")
    rest = value[low:] - carry if down else value[low:] + carry
    sums = value[:low] - step if down else value[:low] + step
    m.d.sync += [Cat(value[:low], carry).eq(sums), value[low:].eq(rest)]
    return carry


def difference(a, b):
    """``a - b`` of unsigned numbers of the same length, modulo its range, in a cycle.

    Both upper halves, with and without a borrow, are there before the borrow.
    """
    half = len(a) // 2
    low, high, borrowed = a[:half] - b[:half], a[half:] - b[half:], a[half:] - b[half:] - 1
    rest = len(a) - half
    return Cat(low[:half], Mux(exceeds(b[:half], a[:half]), borrowed[:rest], high[:rest]))


def sum_in_halves(a, b, first=0):
    """``a + b + first`` of numbers of the same length and a bit, with its carry, in a cycle.

    Both upper halves, with and without a carry, are there before the carry.
    """
    half, bits = len(a) // 2, len(a) - len(a) // 2 + 1
    low, high, carried = a[:half] + b[:half] + first, a[half:] + b[half:], a[half:] + b[half:] + 1
    return Cat(low[:half], Mux(low[half], carried[:bits], high[:bits]))


def adds_up_to_zero(a, b, first):
    """``a + b`` and the bit ``first`` is 0 modulo the range of ``a`` and ``b``, without a sum.

    If all bits of the sum are 0, each carry is the OR of the bits below; and each carry has to
    equal the XOR of the bits that it is added to.
    """
    carries = Cat(first, a | b)[: len(a)]
    return (a ^ b) == carries


def exceeds(first, second):
    """``first > second``, as a tree: synthesis makes a chain of the operator."""
    pairs = [(a & ~b, a | ~b) for a, b in zip(first, second, strict=True)]  # above, not below
    while len(pairs) > 1:
        joined = [
            (high[0] | (high[1] & low[0]), high[1] & low[1])
            for low, high in zip(pairs[::2], pairs[1::2], strict=False)
        ]
        pairs = joined + pairs[len(pairs) - len(pairs) % 2 :]
    return pairs[0][0]
