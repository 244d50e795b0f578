"""Words packed without a gap."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.common.words import Words
from cdma.hdl.lib.shifter import rotate_up
from cdma.hdl.lib.signals import select
from cdma.hdl.zvc.beat import thermometer

#: Frames that may be begun after ``is_tight`` is decided and before it is seen.
_ON_THE_WAY = 3


class WordRing(wiring.Component):
    """Pack rows of words into frames, and keep the frames until they are read.

    Words are written to their place in the ring as they come: those that complete a frame into one
    memory, those behind them into another one, for frames alternate between two. So no word waits
    in a register. Throughput a row a cycle in, a frame a cycle out; a frame can be loaded from the
    cycle on in which ``completes`` has fallen. ``o`` comes from the memories' output registers.

    There is no back-pressure: who sends rows sends none in the cycle after one with ``is_tight``,
    and who loads a frame knows that it is complete, or that its stream has ended.

    Parameters
    ----------
    word_bits : int
    row_words, frame_words : int
        Most words of a row, and words of a frame: powers of two, a row is no longer than a frame.
    frames : int
        Room, a power of two from 8 on.

    Members
    -------
    clear : In, drop all
    align : In, the next row begins with a new frame, at word ``first`` of it; no row comes
    first : In, a place in a frame
    valid : In, a row comes
    i : In, :class:`~cdma.hdl.engine.common.words.Words`; ``count`` may be 0
    level : Out, place in its frame of the next word
    completes : Out, with the row that comes its frame is complete
    load : In, read the next frame; it is at ``o`` in the next cycle and until the next load
    o : Out, array of ``frame_words`` words
    is_tight : Out, send no further row; a register
    """

    def __init__(self, word_bits: int, row_words: int, frame_words: int, frames: int):
        self.word_bits = word_bits
        self.row_words = row_words
        self.frame_words = frame_words
        self.frames = frames
        super().__init__(
            {
                "clear": In(1),
                "align": In(1),
                "first": In(range(frame_words)),
                "valid": In(1),
                "i": In(Words(word_bits, row_words)),
                "level": Out(range(frame_words)),
                "completes": Out(1),
                "load": In(1),
                "o": Out(data.ArrayLayout(word_bits, frame_words)),
                "is_tight": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        bits = self.frames.bit_length() - 1
        row, after, first = Signal(bits), Signal(bits, init=1), Signal(bits)  # first that is kept
        total, moves = Signal(range(2 * self.frame_words)), Signal()
        has_words, rest = Signal(), Signal.like(self.level)  # of the open frame
        m.d.comb += [
            total.eq(self.level + self.i.count),
            self.completes.eq(self.valid & total[len(self.level)]),
            rest.eq(total),
            # An aligned stream begins with the next frame, unless the last one is empty.
            moves.eq(self.completes | (self.align & has_words)),
        ]
        with m.If(self.valid):
            is_open = Mux(self.completes, rest != 0, has_words | (self.i.count != 0))
            m.d.sync += [self.level.eq(rest), has_words.eq(is_open)]
        with m.Elif(self.align):
            m.d.sync += [self.level.eq(self.first), has_words.eq(0)]
        with m.If(moves):
            m.d.sync += [row.eq(after), after.eq(after + 1)]
        with m.If(self.load):
            m.d.sync += first.eq(first + 1)
        with m.If(self.clear):
            m.d.sync += [row.eq(0), after.eq(1), first.eq(0), self.level.eq(0), has_words.eq(0)]
        self._store(m, row, after, first)
        self._count(m, moves)
        return m

    def _store(self, m, row, after, first):
        """Two memories, of even and of odd frames."""
        count, words = self.i.count, [self.i.words[k] for k in range(self.row_words)]
        shape = data.ArrayLayout(self.word_bits, self.frame_words)
        # A word goes to its place in the frame: the words of a row are turned, and so are the bits
        # that tell which places get one.
        turn = self.level[: self.row_words.bit_length() - 1]
        turned = rotate_up(m, words, turn, "turned")
        kept = [*thermometer(count, self.row_words)]
        kept += [Const(0, 1)] * (self.frame_words - self.row_words)
        kept = Cat(rotate_up(m, kept, self.level, "kept"))
        below = Cat(self.level > place for place in range(self.frame_words))
        outputs, is_odd = [], Signal()
        for odd in range(2):
            memory = Memory(shape=shape, depth=self.frames // 2, init=[])
            m.submodules[f"{'odd' if odd else 'even'}_frames"] = memory
            write, read = memory.write_port(granularity=1), memory.read_port()
            is_row = row[0] == odd
            m.d.comb += [
                write.addr.eq(Mux(is_row, row[1:], after[1:])),
                write.en.eq(kept & Mux(is_row, ~below, below) & self.valid.replicate(len(kept))),
                *(
                    write.data[place].eq(turned[place % self.row_words])
                    for place in range(self.frame_words)
                ),
                read.addr.eq(first[1:]),
                read.en.eq(self.load & (first[0] == odd)),
            ]
            outputs.append(read.data.as_value())
        with m.If(self.load):
            m.d.sync += is_odd.eq(first[0])
        m.d.comb += self.o.eq(select(m, is_odd, outputs, "frame"))

    def _count(self, m, moves):
        """Frames in use, and whether there is room for all that may be on its way."""
        used, moved, loaded = Signal(range(self.frames + 1)), Signal(), Signal()
        m.d.sync += [
            moved.eq(moves),
            loaded.eq(self.load),
            used.eq(used + moved - loaded),
            # The frame that a row begins must not be one that is kept.
            self.is_tight.eq(used >= self.frames - 1 - _ON_THE_WAY),
        ]
        with m.If(self.clear):
            m.d.sync += [moved.eq(0), loaded.eq(0), used.eq(0), self.is_tight.eq(0)]
