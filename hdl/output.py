"""The way out of a unit."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.beat import Beat, Row, thermometer
from cdma.hdl.config import Config
from cdma.hdl.queue import Queue


class PacketOutput(wiring.Component):
    """The way out: rows become beats, and a status follows each packet's last beat.

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
    i_status : In stream of ``status``, in the order of the packets; a packet's status may come long
        before its last beat, and after it when no other packet's last beat comes in between
    o : Out stream of :class:`Beat`
    o_status : Out stream of ``status``
    """

    def __init__(self, config: Config, status: data.Layout, statuses: int):
        if statuses < 4 or statuses & (statuses - 1):
            raise ValueError(
                f"Room for statuses must be a power of two of at least 4, not {statuses!r}"
            )
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
