"""The bits of a control, cut out of the rows at any bit."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import one_of, registered

CHUNK = 64  # bits that the first stage selects by, at least
MOST_TURN_BITS = 3  # of a place, in one selection of the second stage


class ControlWindow(wiring.Component):
    """Cut bits out of a ring of rows, from any bit on.

    Two stages: the first selects two neighbouring chunks of the ring, in every cycle; the second
    turns them. A chunk has about as many bits as the window. One of two neighbours has an even
    number, so each chunk is a choice of half of all.

    Throughput one window a cycle; latency two cycles, the second when ``load`` is set; ``bits``
    comes from registers.

    Parameters
    ----------
    row_bits : int
        Bits of a row, a power of two of at least 64.
    depth : int
        Rows of the ring, at least 2.
    width : int
        Bits of the window, at most those of a row.

    Members
    -------
    rows : In, array of rows
    slot : In, a bit per row: of the window's first bit
    bit : In, place of that bit in the row
    load : In, load the registers of the second stage, with the place of the cycle before
    bits : Out, the window
    """

    rows: data.View
    slot: Signal
    bit: Signal
    load: Signal
    bits: Signal

    def __init__(self, row_bits: int, depth: int, width: int):
        if row_bits < CHUNK or row_bits & (row_bits - 1):
            raise ValueError(
                f"Bits of a row must be a power of two of at least {CHUNK}, not {row_bits!r}"
            )
        if depth < 2:
            raise ValueError(f"Rows of a window must be at least 2, not {depth!r}")
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
                "slot": In(depth),
                "bit": In(range(row_bits)),
                "load": In(1),
                "bits": Out(width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        # The last bit of a chunk may be the first of the window.
        chunk = min(max(CHUNK, 1 << max(self.width - 2, 0).bit_length()), self.row_bits)
        chunk_bits = chunk.bit_length() - 1
        per_row = self.row_bits // chunk
        chunks = [
            row.word_select(k, chunk) for row in map(Value.cast, self.rows) for k in range(per_row)
        ]
        at = Signal(len(chunks))  # the chunk of the first bit
        m.d.comb += at.eq(
            Cat(
                slot & (self.bit[chunk_bits:] == k) if per_row > 1 else slot
                for slot in self.slot
                for k in range(per_row)
            )
        )
        # Of two neighbours, the one with an even number and the one with an odd number.
        pair = [
            registered(m, one_of(at[parity::2] | behind, chunks[parity::2]), name)
            for parity, behind, name in (
                (0, at[1::2].rotate_left(1), "even"),
                (1, at[::2], "odd"),
            )
        ]
        is_odd = self.bit[chunk_bits] if per_row > 1 else self.slot[1::2].any()
        turned, place = Cat(pair), Cat(self.bit[:chunk_bits], is_odd)
        left = len(place)
        while left:
            # Large turns first: each needs fewer bits than the one before.
            size = -(-left // -(-left // MOST_TURN_BITS))
            left -= size
            turned = self._turn(m, turned, left, place[left:][:size])
        with m.If(self.load):
            m.d.sync += self.bits.eq(turned)
        return m

    def _turn(self, m, bits, shift, number):
        """The bits from ``number << shift`` on, cyclically; as many as the next turns need."""
        width = min(self.width + (1 << shift) - 1, len(bits))
        turns = range(1 << len(number))
        chosen = registered(m, Cat(number == turn for turn in turns), f"turn{shift}")
        turned = Signal(width, name=f"turned{shift}")
        m.d.comb += turned.eq(
            one_of(chosen, [bits.rotate_right(turn << shift)[:width] for turn in turns])
        )
        return turned
