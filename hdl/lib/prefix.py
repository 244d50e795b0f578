"""Counting the ones of a mask: the prefix sum and its total."""

from amaranth.hdl import Cat, Const, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

#: Bits of a mask that are counted in one cycle; of a longer one the halves are counted first.
MOST_COMBINATIONAL = 16


class PrefixSum(wiring.Component):
    """Count, for each bit of a mask, the ones below it.

    Sklansky's parallel prefix (1960): ``log2(width)`` adders deep. Synthesis keeps a written-out
    sum as a chain, so the tree is built here. Throughput one mask a cycle while ``enable``, latency
    :meth:`latency` cycles: combinational up to ``most`` bits, one register for more.

    Parameters
    ----------
    width : int
        Bits of the mask, at least 2.
    most : int
        Bits that are counted in one cycle.

    Members
    -------
    enable : In, the register loads, where there is one
    mask : In, ``width`` bits
    ranks : Out, array of ``width`` numbers: ``ranks[i]`` is the number of ones in ``mask[:i]``
    total : Out, number of ones in the mask
    """

    enable: Signal
    mask: Signal
    ranks: data.View
    total: Signal

    def __init__(self, width: int, most: int = MOST_COMBINATIONAL):
        if width < 2:
            raise ValueError(f"Width of a prefix sum must be at least 2, not {width!r}")
        self.width = width
        self.most = most
        super().__init__(
            {
                "enable": In(1),
                "mask": In(width),
                "ranks": Out(data.ArrayLayout((width - 1).bit_length(), width)),
                "total": Out(width.bit_length()),
            }
        )

    @staticmethod
    def latency(width: int, most: int = MOST_COMBINATIONAL) -> int:
        """Cycles from the mask to its counts."""
        return 1 if width > most else 0

    def elaborate(self, platform):
        m = Module()
        sums = [Value.cast(bit) for bit in self.mask]  # inclusive
        span = 1
        while span < self.width:
            if span == self.most // 2 and self.latency(self.width, self.most):
                sums = [self._registered(m, value, i) for i, value in enumerate(sums)]
            # Lanes in the upper half of each group of 2 * span add the total of the lower half.
            sums = [
                add(m, sums[i], sums[i // span * span - 1]) if i // span % 2 else sums[i]
                for i in range(self.width)
            ]
            span *= 2
        m.d.comb += self.ranks[0].eq(0)
        for i in range(1, self.width):
            m.d.comb += self.ranks[i].eq(sums[i - 1])
        # The last sum is fast enough behind a register; else a tree of its own is shallower.
        is_pipelined = self.latency(self.width, self.most)
        m.d.comb += self.total.eq(sums[-1] if is_pipelined else popcount(m, self.mask))
        return m

    def _registered(self, m, value, i):
        register = Signal(len(value), name=f"sum{i}", reset_less=True)
        with m.If(self.enable):
            m.d.sync += register.eq(value)
        return register


def prefix_sums(m: Module, terms: list, span: int = 1) -> list:
    """Sum of each of short unsigned numbers and of all before it, combinational (Sklansky, 1960).

    Their number must be a power of two. In groups of ``span``, they are such sums already.
    """
    while span < len(terms):
        terms = [
            add(m, term, terms[i // span * span - 1]) if i // span % 2 else term
            for i, term in enumerate(terms)
        ]
        span *= 2
    return terms


def popcount(m: Module, mask: Value) -> Value:
    """Number of ones in ``mask``, as a balanced tree of adders."""
    return tree(m, [Value.cast(bit) for bit in mask])


def tree(m: Module, terms: list) -> Value:
    """Sum of short unsigned numbers, as a balanced tree of adders."""
    while len(terms) > 1:
        pairs = zip(terms[::2], terms[1::2], strict=False)
        odd = terms[-1:] if len(terms) % 2 else []
        terms = [add(m, a, b) for a, b in pairs] + odd
    return terms[0]


def carry_of(a: Value, b: Value) -> Value:
    """Carry of the sum of two unsigned numbers of the same length, ``log2(length)`` gates deep."""
    pairs = [(x & y, x | y) for x, y in zip(a, b, strict=True)]  # generates, propagates
    while len(pairs) > 1:
        joined = [
            (high[0] | (high[1] & low[0]), high[1] & low[1])
            for low, high in zip(pairs[::2], pairs[1::2], strict=False)
        ]
        pairs = joined + pairs[len(joined) * 2 :]
    return pairs[0][0]


def add(m: Module, a: Value, b: Value) -> Value:
    """Sum of two short unsigned numbers, one bit longer than the longer of them.

    Written in gates: a carry chain costs two LUTs and its entry delay for each two bits, which for
    sums of a few bits is more than the gates themselves.
    """
    width = max(len(a), len(b))
    total = Signal(width + 1)
    carry = Const(0, 1)
    for i in range(width):
        x = a[i] if i < len(a) else Const(0, 1)
        y = b[i] if i < len(b) else Const(0, 1)
        next_carry = Signal(name=f"carry{i}")
        m.d.comb += [total[i].eq(x ^ y ^ carry), next_carry.eq((x & y) | (carry & (x | y)))]
        carry = next_carry
    m.d.comb += total[width].eq(carry)
    return total


def carry_save(m: Module, terms: list, width: int) -> list:
    """Two numbers with the sum of at least two unsigned numbers, modulo ``2**width``.

    A tree of full adders (Wallace, 1964): no carry runs through it.
    """
    terms = [_padded(term, width) for term in terms]
    while len(terms) > 2:
        whole = len(terms) // 3 * 3
        added = []
        for a, b, c in zip(terms[:whole:3], terms[1:whole:3], terms[2:whole:3], strict=True):
            ones, twos = Signal(width, name="ones"), Signal(width, name="twos")
            m.d.comb += [
                ones.eq(a ^ b ^ c),
                twos.eq(((a & b) | (a & c) | (b & c)) << 1),
            ]
            added += [ones, twos]
        terms = [*terms[whole:], *added]
    return terms


def _padded(term: Value, width: int) -> Value:
    term = Value.cast(term)[:width]
    return Cat(term, Const(0, width - len(term)))
