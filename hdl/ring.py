"""Rings of rows, a bank per lane: words stand in them one behind the other, whatever their row."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.beat import Beat, count_thermometer
from cdma.hdl.config import Config
from cdma.hdl.queue import Queue


class Place(data.StructLayout):
    """Place of a word in a ring; the row has one bit more than the ring needs, to tell laps apart.

    Members
    -------
    lane, row : bank and row
    """

    def __init__(self, config: Config, rows: int):
        super().__init__(
            {"lane": (config.lanes - 1).bit_length(), "row": (rows - 1).bit_length() + 1}
        )


class Ending(data.StructLayout):
    """Where a packet ends in the ring.

    Members
    -------
    place : behind its last whole word
    next_row : where the packet after it begins
    ragged : bytes follow the last whole word
    """

    def __init__(self, config: Config, rows: int):
        super().__init__(
            {
                "place": Place(config, rows),
                "next_row": (rows - 1).bit_length() + 1,
                "ragged": 1,
            }
        )


class BankWrite(data.StructLayout):
    """One write into each bank of a ring, every bank at its own row.

    Members
    -------
    enable : a bit per bank
    words : array of a word per bank
    row : row of the banks from ``start`` on; the banks below it write the next row
    start : bank in which the run of consecutive words begins
    """

    def __init__(self, config: Config, rows: int):
        super().__init__(
            {
                "enable": config.lanes,
                "words": data.ArrayLayout(config.format.word_bits, config.lanes),
                "row": (rows - 1).bit_length(),
                "start": (config.lanes - 1).bit_length(),
            }
        )


class BlockBuffer(wiring.Component):
    """Ring of rows of words in which a block's words wait for their mask.

    A bank per lane takes two words a cycle, one of data and one of a mask, into different rows, and
    gives one row a cycle combinationally. What keeps the two kinds apart is a flag per place that
    says "a mask's word is here": it is set with the mask's word and cleared when the row is taken.
    So each kind has a memory with one write port, which LUT RAM has, and no word is ever moved.

    Parameters
    ----------
    config : Config
        Lanes and word width.
    rows : int
        Rows of the ring, a power of two.

    Members
    -------
    data, mask : In, the two writes, each with the rows they go to
    row : In, number of the row to read
    take : In, the row is taken: its flags are cleared, but for those set in the same cycle
    words : Out, the words of that row
    """

    def __init__(self, config: Config, rows: int):
        _check_rows(rows)
        self.config = config
        self.rows = rows
        super().__init__(
            {
                "data": In(BankWrite(config, rows)),
                "mask": In(BankWrite(config, rows)),
                "row": In(range(rows)),
                "take": In(1),
                "words": Out(data.ArrayLayout(config.format.word_bits, config.lanes)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        for bank in range(self.config.lanes):
            data_word = self._memory(m, f"data{bank}", self.data, bank)
            mask_word = self._memory(m, f"mask{bank}", self.mask, bank)
            is_mask = Signal(self.rows, name=f"is_mask{bank}")
            m.d.comb += self.words[bank].eq(
                Mux(is_mask.bit_select(self.row, 1), mask_word, data_word)
            )
            for row in range(self.rows):
                with m.If(
                    self.mask.enable[bank] & (bank_row(self.mask.row, self.mask.start, bank) == row)
                ):
                    m.d.sync += is_mask[row].eq(1)
                with m.Elif(self.take & (self.row == row)):
                    m.d.sync += is_mask[row].eq(0)
        return m

    def _memory(self, m, name, write, bank):
        memory = Memory(shape=self.config.format.word_bits, depth=self.rows, init=[])
        m.submodules[name] = memory
        port, read = memory.write_port(), memory.read_port(domain="comb")
        m.d.comb += [
            port.en.eq(write.enable[bank]),
            port.addr.eq(bank_row(write.row, write.start, bank)),
            port.data.eq(write.words[bank]),
            read.addr.eq(self.row),
        ]
        return read.data


def bank_row(row: Value, start: Value, bank: int) -> Value:
    """Row of ``bank`` in a run of consecutive words that begins at ``row`` in bank ``start``."""
    if bank == (1 << len(start)) - 1:
        return row
    return (row + (bank < start))[: len(row)]


class StreamRing(wiring.Component):
    """Ring of rows that holds the stream's beats, read at any word.

    A bank per lane. Each of two readers sees ``lanes`` consecutive words from any place on, every
    bank giving its row combinationally. A packet begins in a row of its own.

    Parameters
    ----------
    config : Config
        Lanes and word width.
    rows : int
        Rows of the ring, a power of two.

    Members
    -------
    i : In stream of :class:`Beat`
    row : Out, the row that the next beat is written to
    ends_a, ends_b : Out streams of :class:`Ending`, in the order of the packets, one per reader
    free : In, rows before this one are free
    place_a, place_b : In, where the readers stand
    bank_words_a, bank_words_b : Out, a word per bank
    """

    def __init__(self, config: Config, rows: int):
        _check_rows(rows)
        self.config = config
        self.rows = rows
        place = Place(config, rows)
        words = data.ArrayLayout(config.format.word_bits, config.lanes)
        ending = stream.Signature(Ending(config, rows))
        super().__init__(
            {
                "i": In(stream.Signature(Beat(config))),
                "row": Out((rows - 1).bit_length() + 1),
                "free": In((rows - 1).bit_length() + 1),
                "ends_a": Out(ending),
                "ends_b": Out(ending),
                "place_a": In(place),
                "place_b": In(place),
                "bank_words_a": Out(words),
                "bank_words_b": Out(words),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes, size = self.config.lanes, self.config.format.word_bytes
        row_bits = (self.rows - 1).bit_length()
        accept = Signal()
        used = Signal(row_bits + 1)
        m.d.comb += [
            used.eq(self.row - self.free),
            # A row stays empty, so that the words before a reader are always fewer than the ring
            # holds and a place past the end of a packet can be told from them.
            self.i.ready.eq(used != self.rows - 1),
            accept.eq(self.i.valid & self.i.ready),
        ]
        with m.If(accept):
            m.d.sync += self.row.eq(self.row + 1)

        for bank in range(lanes):
            memory = Memory(shape=self.config.format.word_bits, depth=self.rows, init=[])
            m.submodules[f"bank{bank}"] = memory
            write = memory.write_port()
            m.d.comb += [
                write.en.eq(accept),
                write.addr.eq(self.row),
                write.data.eq(self.i.payload.words[bank]),
            ]
            for place, words in (
                (self.place_a, self.bank_words_a),
                (self.place_b, self.bank_words_b),
            ):
                read = memory.read_port(domain="comb")
                m.d.comb += [
                    read.addr.eq(bank_row(place.row, place.lane, bank)),
                    words[bank].eq(read.data),
                ]

        keep = self.i.payload.keep
        whole = Cat(keep[lane * size :][:size].all() for lane in range(lanes))
        next_row = Signal.like(self.row)
        ending = Signal(Ending(self.config, self.rows))
        m.d.comb += [
            next_row.eq(self.row + 1),
            ending.place.lane.eq(count_thermometer(whole)),
            ending.place.row.eq(Mux(whole[-1], next_row, self.row)),
            ending.next_row.eq(next_row),
            ending.ragged.eq((keep[::size] & ~whole).any()),
        ]
        for name, ends in (("ends_a", self.ends_a), ("ends_b", self.ends_b)):
            m.submodules[name] = queue = Queue(Ending(self.config, self.rows), self.rows)
            wiring.connect(m, queue.o, wiring.flipped(ends))
            m.d.comb += [
                queue.i.valid.eq(accept & self.i.payload.last),
                queue.i.payload.eq(ending),
            ]
        return m


def available_words(m, config, rows, row, ending, place):
    """Words from ``place`` on that are in the ring and of this packet; negative past its end."""
    limit = Signal(Place(config, rows))
    with m.If(ending.valid):
        m.d.comb += limit.eq(ending.payload.place)
    with m.Else():
        m.d.comb += limit.row.eq(row)
    available = Signal(signed(len(limit.as_value())))
    m.d.comb += available.eq(limit.as_value() - place.as_value())
    return available


def _check_rows(rows: int) -> None:
    if rows < 2 or rows & (rows - 1):
        raise ValueError(f"Number of rows must be a power of two of at least 2, not {rows!r}")
