"""Storage between the stages: a queue, the banked ring of a block's rows, the packet's way out."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.beat import Beat, Row, thermometer
from cdma.hdl.config import Config


class Queue(wiring.Component):
    """First-in first-out buffer in a small memory (LUT RAM on an FPGA).

    Throughput one transfer a cycle; latency one cycle. ``i.ready`` and ``o.valid`` come from
    registered pointers, so no path runs through from one side to the other; ``o.payload`` is read
    combinationally from the memory.

    Parameters
    ----------
    shape : ShapeLike
        What is queued.
    depth : int
        Entries, a power of two of at least 2.

    Members
    -------
    i, o : In, Out streams of ``shape``
    """

    def __init__(self, shape, depth: int):
        if depth < 2 or depth & (depth - 1):
            raise ValueError(
                f"Depth of a queue must be a power of two of at least 2, not {depth!r}"
            )
        self.shape = shape
        self.depth = depth
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = memory = Memory(shape=self.shape, depth=self.depth, init=[])
        write, read = memory.write_port(), memory.read_port(domain="comb")
        head, tail = Signal(range(2 * self.depth)), Signal(range(2 * self.depth))
        m.d.comb += [
            self.i.ready.eq(tail != head ^ self.depth),
            self.o.valid.eq(tail != head),
            write.en.eq(self.i.valid & self.i.ready),
            write.addr.eq(tail),
            write.data.eq(self.i.payload),
            read.addr.eq(head),
            self.o.payload.eq(read.data),
        ]
        with m.If(self.i.valid & self.i.ready):
            m.d.sync += tail.eq(tail + 1)
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += head.eq(head + 1)
        return m


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
    take : In, the row is taken: its flags are cleared
    words : Out, the words of that row
    """

    def __init__(self, config: Config, rows: int):
        if rows < 2 or rows & (rows - 1):
            raise ValueError(f"Number of rows must be a power of two of at least 2, not {rows!r}")
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
                with m.If(self.mask.enable[bank] & (bank_row(self.mask, bank) == row)):
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
            port.addr.eq(bank_row(write, bank)),
            port.data.eq(write.words[bank]),
            read.addr.eq(self.row),
        ]
        return read.data


def bank_row(run, bank: int):
    """Row of ``bank`` in a run of consecutive words that begins at ``run.row``, ``run.start``."""
    return (run.row + (bank < run.start))[: len(run.row)]


class PacketOutput(wiring.Component):
    """The way out of a unit: rows become beats, and a status follows each packet's last beat.

    Throughput one beat a cycle; latency one cycle. The beat is registered, which cuts valid and
    payload; ``i.ready`` depends combinationally on ``o.ready``. Statuses wait in a queue until the
    last beat of their packet was taken. Words of a last beat that are not kept leave as zero.

    Parameters
    ----------
    config : Config
        Lanes and word width.
    status : Layout
        What is reported of a packet.
    statuses : int
        Room for statuses of packets on their way, a power of two of at least 4 so that packets of
        one beat lose no cycle.

    Members
    -------
    i : In stream of :class:`Row`
    i_status : In stream of ``status``, in the order of the packets, any time
    o : Out stream of :class:`Beat`
    o_status : Out stream of ``status``
    """

    def __init__(self, config: Config, status: data.Layout, statuses: int):
        self.config = config
        self.status = status
        self.statuses = statuses
        super().__init__(
            {
                "i": In(stream.Signature(Row(config))),
                "i_status": In(stream.Signature(status)),
                "o": Out(stream.Signature(Beat(config))),
                "o_status": Out(stream.Signature(status)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        row, beat = self.i.payload, self.o.payload
        lanes, size = self.config.lanes, self.config.format.word_bytes

        keep = thermometer(Mux(row.last, row.count, lanes), lanes)
        m.d.comb += self.i.ready.eq(~self.o.valid | self.o.ready)
        with m.If(self.i.ready):
            m.d.sync += [
                self.o.valid.eq(self.i.valid),
                beat.keep.eq(Cat(kept.replicate(size) for kept in keep)),
                beat.last.eq(row.last),
            ]
            m.d.sync += [
                beat.words[lane].eq(Mux(keep[lane], row.words[lane], 0)) for lane in range(lanes)
            ]

        m.submodules.queue = queue = Queue(self.status, self.statuses)
        wiring.connect(m, wiring.flipped(self.i_status), queue.i)
        finished = Signal(range(self.statuses + 1))  # packets whose status is due
        m.d.comb += [
            self.o_status.payload.eq(queue.o.payload),
            self.o_status.valid.eq(queue.o.valid & (finished != 0)),
            queue.o.ready.eq(self.o_status.ready & (finished != 0)),
        ]
        m.d.sync += finished.eq(
            finished
            + (self.o.valid & self.o.ready & beat.last)
            - (self.o_status.valid & self.o_status.ready)
        )
        return m
