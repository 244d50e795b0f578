"""The ring of rows that stores the stream's beats and is read from any word on."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import one_of
from cdma.hdl.zvc.beat import Beat, count_thermometer
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.rows import RowIndex


class RowInfo(data.StructLayout):
    """Content of a row.

    Members
    -------
    count : number of whole words; ``lanes`` except in a packet's last row
    last : the packet ends with it
    ragged : bytes follow the last whole word
    """

    def __init__(self, config: Config):
        super().__init__({"count": config.lanes.bit_length(), "last": 1, "ragged": 1})


class StreamRing(wiring.Component):
    """Ring of rows that stores the stream's beats, a bank per lane; a packet begins in a new row.

    Two readers read a word of each bank combinationally, each bank at its own row: ``lanes``
    consecutive words, from any word on.

    Throughput one beat a cycle, latency :attr:`LATENCY` cycle.

    Parameters
    ----------
    config : Config
        Lanes and word width.
    rows : int
        Rows of the ring, at least 2.

    Members
    -------
    i : In stream of :class:`Beat`
    has_room : In, the row at ``tail`` is free
    accept : Out, a beat is accepted, with ``tail`` and ``info``
    tail : Out, index of the row that the next beat is written to
    info : Out, :class:`RowInfo` of the beat at ``i``
    rows_a, rows_b : In, arrays of an index per bank
    words_a, words_b : Out, arrays of a word per bank
    """

    #: Cycles from a beat to its row.
    LATENCY = 1

    i: stream.Interface
    has_room: Signal
    accept: Signal
    tail: Signal
    info: data.View
    rows_a: data.View
    rows_b: data.View
    words_a: data.View
    words_b: data.View

    def __init__(self, config: Config, rows: int):
        if rows < 2:
            raise ValueError(f"Number of rows must be at least 2, not {rows!r}")
        self.config = config
        self.rows = rows
        self.index = RowIndex.of(config, rows)
        indices = data.ArrayLayout(self.index.shape, config.lanes)
        words = data.ArrayLayout(config.format.word_bits, config.lanes)
        super().__init__(
            {
                "i": In(stream.Signature(Beat(config))),
                "has_room": In(1),
                "accept": Out(1),
                "tail": Out(self.index.shape, init=self.index.at(0)),
                "info": Out(RowInfo(config)),
                "rows_a": In(indices),
                "rows_b": In(indices),
                "words_a": Out(words),
                "words_b": Out(words),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes, size = self.config.lanes, self.config.format.word_bytes
        beat = self.i.payload
        m.d.comb += [
            self.i.ready.eq(self.has_room),
            self.accept.eq(self.i.valid & self.i.ready),
        ]
        with m.If(self.accept):
            m.d.sync += self.tail.eq(self.index.further(m, self.tail, 1))

        whole = Cat(beat.keep[lane * size :][:size].all() for lane in range(lanes))
        m.d.comb += [
            self.info.last.eq(beat.last),
            self.info.count.eq(Mux(beat.last, count_thermometer(whole), lanes)),
            self.info.ragged.eq(beat.last & (beat.keep[::size] & ~whole).any()),
        ]
        store = self._flip_flops if self.config.is_asic else self._memories
        store(m)
        return m

    def _memories(self, m):
        """A small memory per bank."""
        for bank in range(self.config.lanes):
            memory = Memory(shape=self.config.format.word_bits, depth=self.rows, init=[])
            m.submodules[f"bank{bank}"] = memory
            write = memory.write_port()
            m.d.comb += [
                write.en.eq(self.accept),
                write.addr.eq(self.tail),
                write.data.eq(self.i.payload.words[bank]),
            ]
            for rows, words in ((self.rows_a, self.words_a), (self.rows_b, self.words_b)):
                read = memory.read_port(domain="comb")
                m.d.comb += [read.addr.eq(rows[bank]), words[bank].eq(read.data)]

    def _flip_flops(self, m):
        """A word of flip-flops per row and bank."""
        word_bits = self.config.format.word_bits
        for bank, word in enumerate(self.i.payload.words):
            stored = [
                Signal(word_bits, name=f"bank{bank}_row{row}", reset_less=True)
                for row in range(self.rows)
            ]
            for row, held in enumerate(stored):
                with m.If(self.accept & self.index.is_at(self.tail, row)):
                    m.d.sync += held.eq(word)
            for rows, words in ((self.rows_a, self.words_a), (self.rows_b, self.words_b)):
                chosen = [self.index.is_at(rows[bank], row) for row in range(self.rows)]
                m.d.comb += words[bank].eq(one_of(chosen, stored))
