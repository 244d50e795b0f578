"""The output of a unit: beats and statuses."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.beat import Beat, Row
from cdma.hdl.zvc.config import Config


class PacketOutput(wiring.Component):
    """Turn rows into beats, and send a status after each packet's last beat.

    Throughput one beat a cycle; beats pass combinationally. The status of a packet is queued one
    cycle after its last beat left, and ``i_status`` must hold until another beat leaves. With two
    statuses unread and a third due, beats stall.

    Parameters
    ----------
    config : Config
        Lanes and word width.
    status : Layout
        Status of a packet.

    Members
    -------
    i : In stream of :class:`Row`
    i_status : In, status of the packet whose last row has left
    o : Out stream of :class:`Beat`
    o_status : Out stream of ``status``
    """

    i: stream.Interface
    i_status: data.View
    o: stream.Interface
    o_status: stream.Interface

    def __init__(self, config: Config, status: data.Layout):
        self.config = config
        self.status = status
        super().__init__(
            {
                "i": In(stream.Signature(Row(config))),
                "i_status": In(status),
                "o": Out(stream.Signature(Beat(config))),
                "o_status": Out(stream.Signature(status)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        row, beat = self.i.payload, self.o.payload
        size = self.config.format.word_bytes
        m.submodules.statuses = statuses = Queue(self.status, 2, for_cells=self.config.is_asic)
        due = Signal()  # a status is to be queued
        flows = Signal(init=1)  # none is due, or there is room for it
        m.d.comb += [
            self.o.valid.eq(self.i.valid & flows),
            self.i.ready.eq(self.o.ready & flows),
            beat.words.eq(row.words),
            beat.keep.eq(Cat(kept.replicate(size) for kept in row.keep)),
            beat.last.eq(row.last),
            statuses.i.valid.eq(due),
            statuses.i.payload.eq(self.i_status),
        ]
        next_due = ~flows | (self.i.valid & self.o.ready & row.last)
        taken = self.o_status.valid & self.o_status.ready
        next_full = ~taken & statuses.fills
        m.d.sync += [due.eq(next_due), flows.eq(~(next_due & next_full))]
        wiring.connect(m, statuses.o, wiring.flipped(self.o_status))
        return m
