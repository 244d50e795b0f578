"""The bits of a control, cut out of the rows at any bit."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import any_of, one_of, registered, registered_if, wire

CHUNK = 64  # bits that the first stage selects by, at least; less of a window beyond a row
MOST_TURN_BITS = 3  # of a place, in one selection of the second stage


def chunk_bits(row_bits: int, width: int) -> int:
    """Bits of a chunk, for a window of ``width`` bits. The last bit of a chunk may be the window's
    first."""
    if width > row_bits:
        return row_bits // 2
    return min(max(CHUNK, 1 << max(width - 2, 0).bit_length()), row_bits)


class ControlWindow(wiring.Component):
    """Cut bits out of a ring of rows, from any bit on.

    Two stages: the first selects two neighbouring chunks of the ring, in every cycle; the second
    turns them. A chunk has about as many bits as the window. One of two neighbours has an even
    number, so each chunk is a choice of half of all. A window of more bits than a row has four
    neighbouring chunks of half a row.

    Throughput one window a cycle; latency two cycles, the second when ``load`` is set; ``bits``
    comes from registers.

    Parameters
    ----------
    row_bits : int
        Bits of a row, a power of two of at least 64.
    depth : int
        Rows of the ring, at least 2; an even number for a window of more bits than a row.
    width : int
        Bits of the window, at most one more than those of three halves of a row.

    Members
    -------
    rows : In, array of rows
    slot : In, a bit per row: of the window's first bit
    bit : In, place of that bit in the row
    chunk : In, a bit per chunk of a row: the same of its upper bits
    load : In, load the registers of the second stage, with the place of the cycle before
    bits : Out, the window
    """

    rows: data.View
    slot: Signal
    bit: Signal
    chunk: Signal
    load: Signal
    bits: Signal

    def __init__(self, row_bits: int, depth: int, width: int):
        if row_bits < CHUNK or row_bits & (row_bits - 1):
            raise ValueError(
                f"Bits of a row must be a power of two of at least {CHUNK}, not {row_bits!r}"
            )
        if depth < 2:
            raise ValueError(f"Rows of a window must be at least 2, not {depth!r}")
        most = row_bits // 2 * 3 + 1
        if not 0 < width <= most:
            raise ValueError(f"Bits of a window must be positive and at most {most}, not {width!r}")
        if width > row_bits and depth % 2:
            raise ValueError(f"Rows of a window beyond a row must be even, not {depth!r}")
        self.row_bits = row_bits
        self.depth = depth
        self.width = width
        size = chunk_bits(row_bits, width)
        super().__init__(
            {
                "rows": In(data.ArrayLayout(row_bits, depth)),
                "slot": In(depth),
                "bit": In(range(row_bits)),
                "chunk": In(row_bits // size),
                "load": In(1),
                "bits": Out(width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        is_wide = self.width > self.row_bits
        chunk = chunk_bits(self.row_bits, self.width)
        place_bits = chunk.bit_length() - 1
        per_row = self.row_bits // chunk
        chunks = [
            row.word_select(k, chunk) for row in map(Value.cast, self.rows) for k in range(per_row)
        ]
        at = Signal(len(chunks))  # the chunk of the first bit
        m.d.comb += at.eq(Cat(slot & chunk for slot in self.slot for chunk in self.chunk))
        is_odd = self.slot[1::2].any()
        if is_wide:
            chosen = self._four(m, at, chunks)
            place = Cat(self.bit, is_odd)
        else:
            # Of two neighbours, the one with an even number and the one with an odd number.
            chosen = [
                registered(m, one_of(wire(m, is_chosen, f"at_{name}"), chunks[parity::2]), name)
                for parity, is_chosen, name in (
                    (0, at[::2] | at[1::2].rotate_left(1), "even"),
                    (1, at[1::2] | at[::2], "odd"),
                )
            ]
            place = Cat(self.bit[:place_bits], self.bit[place_bits] if per_row > 1 else is_odd)
        turned = Cat(chosen)
        left = len(place)
        while left:
            # Large turns first: each needs fewer bits than the one before.
            size = -(-left // -(-left // MOST_TURN_BITS))
            left -= size
            turned = self._turn(m, turned, left, place[left:][:size])
        m.d.comb += self.bits.eq(registered_if(m, self.load, turned[: self.width], "turned"))
        return m

    def _four(self, m, at, chunks):
        """Four neighbours, by their numbers modulo 4."""
        count, four = len(chunks), []
        for number in range(4):
            is_chosen = Cat(
                any_of(at[(k - before) % count] for before in range(4))
                for k in range(number, count, 4)
            )
            is_chosen = wire(m, is_chosen, f"is_chosen{number}")
            four.append(registered(m, one_of(is_chosen, chunks[number::4]), f"chunk{number}"))
        return four

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
