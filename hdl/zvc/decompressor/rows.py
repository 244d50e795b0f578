"""Indices of the ring's rows."""

from dataclasses import dataclass

from amaranth.hdl import Cat, Module, Mux, Signal, Value, unsigned

from cdma.hdl.lib.signals import one_of
from cdma.hdl.zvc.config import Config


@dataclass(frozen=True)
class RowIndex:
    """How the index of a row is coded: a number, or a bit per row.

    A memory is addressed with numbers. Rows in flip-flops are selected with a bit per row: no
    decoder stands between the index and the words, and a step is a rotation.

    Parameters
    ----------
    rows : int
        Rows of the ring.
    one_hot : bool
        A bit per row.
    """

    rows: int
    one_hot: bool = False

    @classmethod
    def of(cls, config: Config, rows: int) -> "RowIndex":
        """The index of a unit's rows. A jump table is a memory, and addressed with numbers."""
        return cls(rows, config.is_asic and config.counts_masks)

    @property
    def shape(self):
        """Shape of an index."""
        return unsigned(self.rows) if self.one_hot else range(self.rows)

    def at(self, row: int) -> int:
        """Index of the row that is ``row`` rows behind the first."""
        return 1 << row % self.rows if self.one_hot else row % self.rows

    def further(self, m: Module, index: Value, step: Value | int, most: int | None = None) -> Value:
        """Index of the row that is ``step`` rows further, at most ``most``."""
        if not self.one_hot:
            return add_row(m, index, step, self.rows)
        if isinstance(step, int):
            return index.rotate_left(step % self.rows)
        steps = range((1 << len(step)) if most is None else most + 1)
        moved = Signal(self.rows, name="moved")
        chosen = Cat(step == k for k in steps)
        m.d.comb += moved.eq(one_of(chosen, [index.rotate_left(k % self.rows) for k in steps]))
        return moved

    def is_at(self, index: Value, row: int) -> Value:
        """The index is that of ``row``."""
        return index[row] if self.one_hot else index == row


def add_row(m: Module, row: Value, step: Value | int, rows: int) -> Value:
    """Index of the row that is ``step`` rows further in a ring. A value is added bit by bit."""
    if not isinstance(step, int):
        for bit, is_set in enumerate(step):
            further = add_row(m, row, (1 << bit) % rows, rows)
            moved = Signal(range(rows), name=f"moved{bit}")
            m.d.comb += moved.eq(Mux(is_set, further, row))
            row = moved
        return row
    moved = Signal(range(rows), name="moved")
    m.d.comb += moved.eq(Mux(row >= rows - step, row - (rows - step), row + step) if step else row)
    return moved
