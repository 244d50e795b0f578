"""How far the packets in the ring reach."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.buffer import RowBuffer
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.ring import RowInfo
from cdma.hdl.zvc.decompressor.rows import RowIndex


class End(data.StructLayout):
    """How far a packet reaches.

    Members
    -------
    row : number of the first row that is not, or not yet, the packet's
    known : the packet's last row is in the ring; the fields below are meaningful only then
    count : whole words of that last row
    next_index : where in the ring the next packet begins
    """

    def __init__(self, config: Config, rows: int, number_bits: int):
        super().__init__(
            {
                "row": number_bits,
                "known": 1,
                "count": config.lanes.bit_length(),
                "next_index": RowIndex.of(config, rows).shape,
            }
        )


class PacketEnds(wiring.Component):
    """Follow the end of the packet whose masks are being fetched; the ends of others wait.

    Latency one cycle from a row to its end; ``end`` comes from registers.

    Parameters
    ----------
    config : Config
        Lanes and word width.
    rows : int
        Rows of the ring.
    number_bits : int
        Bits of a row number.

    Members
    -------
    accept, tail, info : In, a row of the ring as it comes in
    switch : In, proceed to the next packet; only when ``end.known``
    rows_in : Out, number of the next row to come in
    end : Out, :class:`End` of the packet
    has_next : Out, the end of the packet behind it is known too
    next_row : Out, ``end.row`` of that packet
    """

    accept: Signal
    tail: Signal
    info: data.View
    switch: Signal
    rows_in: Signal
    end: data.View
    has_next: Signal
    next_row: Signal

    def __init__(self, config: Config, rows: int, number_bits: int):
        self.rows = rows
        self.index = RowIndex.of(config, rows)
        end = End(config, rows, number_bits)
        super().__init__(
            {
                "accept": In(1),
                "tail": In(RowIndex.of(config, rows).shape),
                "info": In(RowInfo(config)),
                "switch": In(1),
                "rows_in": Out(number_bits),
                "end": Out(end),
                "has_next": Out(1),
                "next_row": Out(number_bits),
            }
        )

    def elaborate(self, platform):
        m = Module()
        end, arriving = self.end, Signal.like(self.end)
        closes = Signal()
        # The rows may all be packets, while those of a packet that was cut short are free already.
        m.submodules.queue = queue = RowBuffer(
            end.shape(), self.rows, pipe=False, in_flip_flops=self.index.one_hot
        )
        m.d.comb += [
            closes.eq(self.accept & self.info.last),
            arriving.row.eq(Mux(self.accept, self.rows_in + 1, self.rows_in)),
            arriving.known.eq(closes),
            arriving.count.eq(self.info.count),
            arriving.next_index.eq(self.index.further(m, self.tail, 1)),
            queue.i.payload.eq(arriving),
            queue.i.valid.eq(closes & Mux(self.switch, queue.o.valid, end.known)),
            queue.o.ready.eq(self.switch),
            self.has_next.eq(queue.o.valid),
            self.next_row.eq(queue.o.payload.row),
        ]
        with m.If(self.accept):
            m.d.sync += self.rows_in.eq(self.rows_in + 1)
        following = Signal.like(end)
        m.d.comb += following.eq(Mux(queue.o.valid, queue.o.payload, arriving))
        with m.If(self.switch):
            m.d.sync += end.eq(following)
        with m.Elif(~end.known):
            m.d.sync += end.eq(arriving)
        return m
