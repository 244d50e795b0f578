"""The bits of a control, cut out of the rows at any bit."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import one_of
from cdma.hdl.zvcplus.decompressor.rows import ROW_BITS

CHUNK = 64  # bits that the first stage selects by


class ControlWindow(wiring.Component):
    """Cut bits out of rows, from any bit on. Rows that are not there are zero.

    Two stages: the first selects a row and a chunk in it, in every cycle; the second shifts.
    Throughput one window a cycle; latency two cycles, the second when ``load`` is set; ``bits``
    comes from registers.

    Parameters
    ----------
    row_bits : int
        Bits of a row, a multiple of 64.
    depth : int
        Rows.
    width : int
        Bits of the window, at most those of a row.

    Members
    -------
    rows : In, array of rows
    valid : In, a bit per row
    row, bit : In, place of the window
    load : In, load the registers of the second stage, with the place of the cycle before
    bits : Out, the window
    """

    rows: data.View
    valid: Signal
    row: Signal
    bit: Signal
    load: Signal
    bits: Signal

    def __init__(self, row_bits: int, depth: int, width: int):
        if row_bits < CHUNK or row_bits % CHUNK:
            raise ValueError(f"Bits of a row must be a multiple of {CHUNK}, not {row_bits!r}")
        if not 0 < width <= row_bits:
            raise ValueError(
                f"Bits of a window must be positive and at most {row_bits}, not {width!r}"
            )
        self.row_bits = row_bits
        self.depth = depth
        self.width = width
        super().__init__(
            {
                "rows": In(data.ArrayLayout(row_bits, depth)),
                "valid": In(depth),
                "row": In(ROW_BITS),
                "bit": In(range(row_bits)),
                "load": In(1),
                "bits": Out(width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        depth, size = self.depth, self.row_bits
        chosen = Signal(depth)
        m.d.comb += chosen.eq(Cat((self.row == k) & self.valid[k] for k in range(depth)))
        first = Signal(size)
        following = Signal(self.width - 1)  # the start of the next row
        m.d.comb += [
            first.eq(one_of(chosen, list(self.rows))),
            following.eq(
                one_of(
                    chosen[:-1] & self.valid[1:],
                    [self.rows[k][: self.width - 1] for k in range(1, depth)],
                )
            ),
        ]
        chunk_bits = (CHUNK - 1).bit_length()
        chunk = Signal(self.width - 1 + CHUNK, reset_less=True)
        shift = Signal(chunk_bits, reset_less=True)
        both = Cat(first, following)
        starts = range(0, size, CHUNK)
        m.d.sync += [
            chunk.eq(
                one_of(
                    Cat(self.bit[chunk_bits:] == k for k in range(len(starts))),
                    [both[start:][: len(chunk)] for start in starts],
                )
            ),
            shift.eq(self.bit),
        ]
        with m.If(self.load):
            m.d.sync += self.bits.eq(chunk >> shift)
        return m
