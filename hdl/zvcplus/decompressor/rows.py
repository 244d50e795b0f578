"""The rows of the stream that have come and are not given back yet."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import one_of
from cdma.hdl.zvc.beat import Beat, count_thermometer
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import StreamEnd, row_bits


class RowRing(wiring.Component):
    """Ring of rows of the stream, of up to two packets. A row keeps its slot until given back.

    Packets are told apart by a bit, their parity: each has another than the packet before. Bytes
    behind a packet's end are anything.

    Throughput one row a cycle, latency :attr:`LATENCY`. A slot takes a row in the second cycle
    after it was given back. All outputs come from registers, but for ``i.ready``, which is a few
    gates behind them, and ``arrives`` and ``end``, which belong to the row that comes in.

    Parameters
    ----------
    config : Config
        Size of a row.
    depth : int
        Slots of the ring, a power of two of at least 4. The number of a row gives its slot.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.zvc.beat.Beat`, ``keep`` by bytes
    accept : In, a row may come in the next cycle
    free : In, a bit per slot: rows to give back, of the packet with parity ``free_parity``
    drain : In, all rows of the packet with parity ``parity`` are given back, and those of it that
        come are dropped
    rows : Out, array of rows
    pairs : Out, per parity a bit per slot: its row and the one behind it, both of a packet with
        this parity, have come, a cycle ago or before
    row : Out, number of rows that have come, modulo ``2**row_bits``
    arrives : Out, a packet's last row comes
    end : Out, with ``arrives``: :class:`~cdma.hdl.zvcplus.decompressor.layouts.StreamEnd`
    """

    #: Cycles from a beat to its row.
    LATENCY = 1

    i: stream.Interface
    accept: Signal
    free: Signal
    free_parity: Signal
    drain: Signal
    parity: Signal
    rows: data.View
    pairs: data.View
    row: Signal
    arrives: Signal
    end: data.View

    def __init__(self, config: Config, depth: int):
        if depth < 4 or depth & (depth - 1):
            raise ValueError(f"Depth of a ring must be a power of two of at least 4, not {depth!r}")
        self.config = config
        self.depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(Beat(config))),
                "accept": In(1),
                "free": In(depth),
                "free_parity": In(1),
                "drain": In(1),
                "parity": In(1),
                "rows": Out(data.ArrayLayout(config.beat_bits, depth)),
                "pairs": Out(data.ArrayLayout(depth, 2)),
                "row": Out(row_bits(depth)),
                "arrives": Out(1),
                "end": Out(StreamEnd(config, depth)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        depth, beat = self.depth, self.i.payload
        valid = Signal(depth)
        parities = Signal(depth)
        slot = Signal(depth, init=1)  # of the next row
        opened = Signal(depth)  # the same, when a row may come
        passed = Signal(depth)  # from the cycle before, and whether a row may come
        accepts = Signal()
        coming = Signal()  # parity of the packet that comes
        enters = Signal()
        is_drained = self.drain & (coming == self.parity)
        left = valid & ~passed
        m.d.comb += [
            opened.eq(slot & ~left & accepts.replicate(depth)),
            self.i.ready.eq(opened.any()),
            enters.eq(self.i.valid & self.i.ready),
        ]
        is_own = ~(parities ^ self.free_parity.replicate(depth))
        drained = self.drain.replicate(depth) & ~(parities ^ self.parity.replicate(depth))
        m.d.sync += [
            # A beat behind a packet's end gives back rows that never came: a row of the next packet
            # can come into their slot.
            passed.eq(self.free & is_own & left),
            accepts.eq(self.accept),
            valid.eq((left & ~drained) | (opened & (enters & ~is_drained).replicate(depth))),
            self.row.eq(self.row + enters),
        ]
        for pairs, here in zip(self.pairs, (valid & ~parities, valid & parities), strict=True):
            m.d.sync += pairs.eq(here & here.rotate_right(1))
        with m.If(enters):
            m.d.sync += slot.eq(slot.rotate_left(1))
        # A free slot takes what is offered; it counts when it is valid.
        for k in range(depth):
            row = Signal(self.config.beat_bits, name=f"row{k}", reset_less=True)
            with m.If(opened[k]):
                m.d.sync += [row.eq(beat.words.as_value()), parities[k].eq(coming)]
            m.d.comb += self.rows[k].eq(row)
        self._end(m, enters, coming, is_drained)
        return m

    def _end(self, m, enters, coming, is_dropped):
        """Where a packet ends, with its last row."""
        beat, end = self.i.payload, self.end
        size = self.config.beat_bytes
        was_dropped = Signal()  # a row of the packet
        length = count_thermometer(beat.keep)
        # The last byte that is kept: its neighbour is not.
        is_last = beat.keep & ~(beat.keep >> 1)
        content = beat.words.as_value()
        m.d.comb += [
            self.arrives.eq(enters & beat.last),
            # An end with a full row is the start of the next.
            end.row.eq(self.row + length[-1]),
            end.byte.eq(length),
            end.rest.eq(one_of(is_last, [content.word_select(k, 8) for k in range(size)])),
            end.dropped.eq(was_dropped | is_dropped),
            end.start.eq(self.row + 1),
        ]
        with m.If(enters):
            m.d.sync += was_dropped.eq((was_dropped | is_dropped) & ~beat.last)
            m.d.sync += coming.eq(coming ^ beat.last)


def slot_of(row: Value, depth: int) -> Value:
    """The slot of a row, a bit per slot."""
    number = row[: depth.bit_length() - 1]
    return Cat(number == k for k in range(depth))
