"""The rows of all channels in the order of their stripes."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.records import Row
from cdma.hdl.engine.offload.codec import StripeStatus
from cdma.hdl.lib.signals import select


class GatheredRow(data.StructLayout):
    """A row, the ``channel`` it comes from, and with its last row the stripe's ``status``."""

    def __init__(self, config: EngineConfig):
        super().__init__({"row": Row(config), "channel": unsigned(3), "status": StripeStatus()})


class Gather(wiring.Component):
    """Take the rows of one stripe after the other, each from its channel.

    Throughput one row a cycle, also across stripes; rows pass combinationally.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    order : In stream of channel numbers, one for each stripe
    i, i_status : In streams of the channels, arrays
    o : Out stream of :class:`GatheredRow`
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        channels = config.channels
        super().__init__(
            {
                "order": In(stream.Signature(3)),
                "i": In(stream.Signature(Row(config))).array(channels),
                "i_status": In(stream.Signature(StripeStatus())).array(channels),
                "o": Out(stream.Signature(GatheredRow(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        channel, o = self.order.payload, self.o
        row, status = o.payload.row, o.payload.status
        has_row, has_status, moves = Signal(), Signal(), Signal()

        def head(values, name):
            return select(m, channel, values, name)

        statuses = [port.payload.as_value() for port in self.i_status]
        m.d.comb += [
            row.eq(head([port.payload.as_value() for port in self.i], "row")),
            status.eq(Mux(row.last, head(statuses, "status"), 0)),
            has_row.eq(head([port.valid for port in self.i], "row_valid")),
            has_status.eq(head([port.valid for port in self.i_status], "status_valid")),
            o.payload.channel.eq(channel),
            o.valid.eq(self.order.valid & has_row & (~row.last | has_status)),
            moves.eq(o.valid & o.ready),
            self.order.ready.eq(moves & row.last),
        ]
        for number, (rows, ends) in enumerate(zip(self.i, self.i_status, strict=True)):
            m.d.comb += [
                rows.ready.eq(moves & (channel == number)),
                ends.ready.eq(moves & row.last & (channel == number)),
            ]
        return m
