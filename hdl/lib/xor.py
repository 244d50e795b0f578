"""Matrices of XORs with shared terms."""

from functools import cache
from itertools import combinations

from amaranth.hdl import Cat, Module, Signal, Value


@cache
def xor_plan(columns: tuple[int, ...], bits: int) -> tuple[list[tuple[int, int]], list[list[int]]]:
    """XORs of two terms each that all outputs together need, with the greedy method of Paar.

    The pair of terms that most outputs have in common becomes a term of its own, until no two
    outputs share a pair (C. Paar, *Optimized arithmetic for Reed-Solomon encoders*, 1997). Of
    equal pairs, the one with the shorter path is taken.

    Parameters
    ----------
    columns : tuple of int
        For each input the outputs that it is a term of, one bit each.
    bits : int
        Outputs.

    Returns
    -------
    pairs : list of (int, int)
        New terms, which follow the inputs in number.
    outputs : list of list of int
        Terms of each output.
    """
    columns = list(columns)
    depth = [0] * len(columns)
    pairs = []

    def weight(a, b):
        return (columns[a] & columns[b]).bit_count()

    shared = {pair: weight(*pair) for pair in combinations(range(len(columns)), 2)}
    while True:
        rate = lambda pair: (shared[pair], -max(depth[k] for k in pair))  # noqa: E731
        best = max(shared, key=rate, default=None)
        if best is None or shared[best] < 2:
            break
        a, b = best
        both, new = columns[a] & columns[b], len(columns)
        columns[a] ^= both
        columns[b] ^= both
        columns.append(both)
        depth.append(1 + max(depth[a], depth[b]))
        pairs.append(best)
        for k in range(new):
            shared[k, new] = weight(k, new)
            for changed in best:
                if k != changed:
                    pair = (k, changed) if k < changed else (changed, k)
                    shared[pair] = weight(*pair)
    outputs = [[k for k, column in enumerate(columns) if column >> bit & 1] for bit in range(bits)]
    return pairs, outputs


def xor_matrix(m: Module, inputs: Value, columns: list[int], bits: int, name: str) -> Signal:
    """Outputs that are each an XOR of some of the inputs.

    Synthesis finds few of the terms that outputs share: written out one by one, the XORs of a
    CRC-32 over 256 bits have twice the area.

    Parameters
    ----------
    m : Module
    inputs : Value
    columns : list of int
        For each input the outputs that it is a term of, one bit each.
    bits : int
        Outputs.
    name : str
    """
    pairs, outputs = xor_plan(tuple(columns), bits)
    value, shared = Signal(len(inputs), name=f"{name}_in"), Signal(len(pairs), name=f"{name}_terms")
    m.d.comb += value.eq(inputs)
    terms = [*value, *shared]
    for k, (a, b) in enumerate(pairs):
        m.d.comb += shared[k].eq(terms[a] ^ terms[b])
    result = Signal(bits, name=name)
    m.d.comb += result.eq(Cat(Cat(terms[k] for k in each).xor() for each in outputs))
    return result
