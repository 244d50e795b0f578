"""Where the bursts of a stream begin and end."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out


class Piece(data.StructLayout):
    """A burst of a stream, as places of words in a block: in the longest burst, from its start.

    Members
    -------
    begins : the stream begins with it
    first, last : place of its first and of its last word
    """

    def __init__(self, block_words: int):
        bits = block_words.bit_length() - 1
        super().__init__({"begins": unsigned(1), "first": unsigned(bits), "last": unsigned(bits)})


class BurstCutter(wiring.Component):
    """Cut a stream of words into bursts, by the counts of its rows.

    A burst ends with a block. While ``is_early``, it ends with each part of a block, too: then
    words do not wait for others while the port has nothing to do. Throughput a row a cycle; ``o``
    follows the row combinationally, and whoever takes it must be ready.

    Parameters
    ----------
    row_words : int
        Most words of a row.
    block_words, part_words : int
        Words of a block and of its parts, powers of two. A part has two rows or more.

    Members
    -------
    start : In, a stream begins; no row comes, and no burst is open
    place : In, with ``start``: place of its first word in a block
    valid : In, a row comes
    count : In, its words, may be 0
    is_early : In, see above
    flush : In, the stream ends: end its burst; no row comes
    o : Out stream of :class:`Piece`
    opens : Out, a burst begins in this cycle, with a word of the row. A row that ends a burst and
        has words left must not have begun that burst.
    is_open : Out, a burst has begun and has not ended
    """

    def __init__(self, row_words: int, block_words: int, part_words: int):
        if part_words < 2 * row_words and part_words < block_words:
            raise ValueError(
                f"Part of a block must have two rows of {row_words} words or more, "
                f"not {part_words!r} words"
            )
        self.row_words = row_words
        self.block_words = block_words
        self.part_words = part_words
        super().__init__(
            {
                "start": In(1),
                "place": In(range(block_words)),
                "valid": In(1),
                "count": In(range(row_words + 1)),
                "is_early": In(1),
                "flush": In(1),
                "o": Out(stream.Signature(Piece(block_words))),
                "opens": Out(1),
                "is_open": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        low = self.part_words.bit_length() - 1
        piece = self.o.payload
        place, first, begins = Signal.like(self.place), Signal.like(self.place), Signal()
        total, part, border = Signal(low + 1), Signal(len(place) - low), Signal.like(place)
        closes, has_rest = Signal(), Signal()
        is_end = place[low:].all() if low < len(place) else 1
        has_words = self.valid & (self.count != 0)
        m.d.comb += [
            total.eq(place[:low] + Mux(self.valid, self.count, 0)),
            part.eq(place[low:] + total[low]),
            border.eq(Cat(Const(0, low), part)),  # where the part ends
            closes.eq(total[low] & (is_end | self.is_early)),
            has_rest.eq(total[:low] != 0),
            self.o.valid.eq(closes | (self.flush & self.is_open)),
            piece.begins.eq(begins),
            piece.first.eq(first),
            piece.last.eq(Mux(closes, place | (self.part_words - 1), place - 1)),
            self.opens.eq(Mux(self.is_open, closes & has_rest, has_words)),
        ]
        m.d.sync += [
            place.eq(Cat(total[:low], part)),
            self.is_open.eq(Mux(self.o.valid, closes & has_rest, self.is_open | has_words)),
        ]
        with m.If(self.o.valid):
            m.d.sync += [first.eq(border), begins.eq(0)]
        with m.If(self.start):
            m.d.sync += [place.eq(self.place), first.eq(self.place), begins.eq(1)]
        return m
