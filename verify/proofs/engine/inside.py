"""What invariants say about the inside of components that many have."""

from amaranth.hdl import Array, Assert, Const, Mux

from cdma.verify.formal.prover import probe


class InsideFifo:
    """Inside of a :class:`~cdma.hdl.lib.fifo.Fifo`, with the invariants of its indices.

    Parameters
    ----------
    m : Module
    path : str
        Of the FIFO, below the bench.
    depth, width : int
        Entries, and bits of one.

    Attributes
    ----------
    stored, is_valid : entries in the RAM, and whether one is at the output
    level : both
    """

    def __init__(self, m, path: str, depth: int, width: int):
        bits = depth.bit_length()
        self.stored = probe(m, f"{path}.stored", bits)
        self.is_valid = probe(m, f"{path}.o__valid", 1)
        self.level = self.stored + self.is_valid
        self._head = probe(m, f"{path}.read__addr", bits - 1)
        tail = probe(m, f"{path}.tail", bits - 1)
        self._depth = depth
        self._first = probe(m, f"{path}.o__payload", width)
        self._rows = Array(probe(m, f"{path}.memory[{row}]", width) for row in range(depth))
        m.d.comb += [
            Assert(self.stored <= depth),
            Assert(tail == (self._head + self.stored)[: bits - 1]),
        ]

    def at(self, place):
        """The entry behind so many others."""
        row = (self._head + place - self.is_valid)[: self._depth.bit_length() - 1]
        return Mux(self.is_valid & (place == 0), self._first, self._rows[row])


def total(values):
    """Sum of values, of which there may be none."""
    return sum(values, Const(0))
