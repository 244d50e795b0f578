"""One channel of an offload: reader, compressor, buffer and credits."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.axi.full import Attributes
from cdma.hdl.engine.common.records import Halt, Row, Stripe
from cdma.hdl.engine.job import Events, ReadClient
from cdma.hdl.engine.offload.codec import StripeCompressor, StripeStatus
from cdma.hdl.engine.offload.reader import StripeReader
from cdma.hdl.engine.offload.stream_codec import StreamStripeCompressor
from cdma.hdl.lib.fifo import Fifo
from cdma.hdl.lib.signals import assert_ready, duplicates


class OffloadChannel(wiring.Component):
    """Read and compress stripes into the buffer STAGE.

    Credits are words of STAGE: free + charged and not yet stored + stored = all, and what comes
    back counts as free a cycle later. A row that leaves returns ``lanes`` words, a stripe's last
    row stored the words in it (the reader charged a row more), and a beat the words that turn out
    to be zero. A codec that counts late returns all that a stripe's rows did not need with its
    status. So STAGE has room for all that was asked for, and reads never wait for the host.

    Throughput one beat a cycle on the side that has more of them.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    i : In stream of :class:`~cdma.hdl.engine.common.records.Stripe`
    clear, halt, lost, hold, attr : In, see :class:`~cdma.hdl.engine.offload.reader.StripeReader`
    client : Out, :class:`~cdma.hdl.engine.job.ReadClient`
    o : Out stream of :class:`~cdma.hdl.engine.common.records.Row`
    o_status : Out stream of :class:`~cdma.hdl.engine.offload.codec.StripeStatus`, one a stripe
    where, outstanding, issued, drained : Out, see the reader
    events : Out, :class:`~cdma.hdl.engine.job.Events`
    idle : Out, nothing is read or stored
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        self.reader = StripeReader(config)
        per_stage = 2 * config.stage_bytes // config.stripe_bytes
        self.slots = max(16, 1 << (per_stage - 1).bit_length())
        reader = self.reader
        super().__init__(
            {
                "i": In(stream.Signature(Stripe(config))),
                "clear": In(1),
                "halt": In(Halt()),
                "lost": In(1),
                "hold": In(1),
                "attr": In(Attributes()),
                "client": Out(ReadClient(config.address_bits, config.beat_bytes)),
                "o": Out(stream.Signature(Row(config))),
                "o_status": Out(stream.Signature(StripeStatus())),
                "where": Out(config.address_bits),
                "outstanding": Out(reader.outstanding.shape()),
                "issued": Out(reader.issued.shape()),
                "drained": Out(1),
                "events": Out(Events()),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, lanes = self.config, self.config.lanes
        rows = config.stage_bytes // config.beat_bytes
        m.submodules.reader = reader = self.reader
        coder = StripeCompressor if config.counts_early else StreamStripeCompressor
        m.submodules.codec = codec = coder(config)
        m.submodules.stage = stage = Fifo(Row(config), rows)
        m.submodules.statuses = statuses = Fifo(StripeStatus(), self.slots)
        has_waiting = self._take(m, reader)
        wiring.connect(m, reader.client, wiring.flipped(self.client))
        wiring.connect(m, reader.o, codec.i)
        wiring.connect(m, stage.o, wiring.flipped(self.o))
        wiring.connect(m, statuses.o, wiring.flipped(self.o_status))
        m.d.comb += [
            reader.clear.eq(self.clear),
            reader.halt.eq(self.halt),
            reader.lost.eq(self.lost),
            reader.hold.eq(self.hold),
            reader.attr.eq(self.attr),
            stage.i.valid.eq(codec.o_valid),
            stage.i.payload.eq(codec.o),
            statuses.i.valid.eq(codec.status_valid),
            statuses.i.payload.eq(codec.status),
            self.where.eq(reader.where),
            self.outstanding.eq(reader.outstanding),
            self.issued.eq(reader.issued),
            self.drained.eq(reader.drained),
        ]
        assert_ready(m, platform, stage.i)
        assert_ready(m, platform, statuses.i)

        # Credits of STAGE and slots of statuses.
        free = Signal(range(rows * lanes + 1), init=rows * lanes)
        slots = Signal(range(self.slots + 1), init=self.slots)
        left = self.o.valid & self.o.ready
        ends = codec.o_valid & codec.o.last if config.counts_early else 0
        refund = codec.refund + Mux(ends, codec.o.count, 0)
        # What comes back is added a cycle later. Whether a row leaves is known late.
        refunded = Signal(range((1 << len(codec.refund)) + 2 * lanes))
        more = free + refunded
        m.d.sync += [
            refunded.eq(Mux(left, refund + lanes, refund)),
            # Whether a burst is issued is known late.
            free.eq(Mux(reader.charges, more - reader.charge, more)),
            slots.eq(slots + (self.o_status.valid & self.o_status.ready) - reader.opens),
        ]
        m.d.comb += [
            reader.free.eq(free),
            reader.has_slot.eq(slots != 0),
            self.idle.eq(~has_waiting & reader.idle & (slots == self.slots)),
            self.events.raw_beats.eq(reader.o.valid & reader.o.ready),
            self.events.stream_beats.eq(left),
            self.events.credit.eq(reader.waits_credit),
            self.events.rate.eq(self.hold & reader.is_ready),
            self.events.address.eq(reader.client.ar.valid & ~reader.client.ar.ready),
            self.events.stripe_valid.eq(reader.i.valid),
            self.events.stripe.eq(reader.i.payload.number),
        ]
        return m

    def _take(self, m, reader):
        """Keep a stripe that the reader has no room for; gives whether there is one.

        A stripe that comes while none waits goes to the reader in the same cycle.
        """
        waiting, has_waiting = Signal(Stripe(self.config)), Signal()
        was_left = reader.i.valid & ~reader.i.ready
        copies = duplicates(m, was_left, "has_waiting")
        m.d.comb += [
            self.i.ready.eq(~has_waiting),
            reader.i.valid.eq(has_waiting | self.i.valid),
        ]
        # Of the many bits, some follow one register, and the others another one.
        for number, (name, _) in enumerate(Stripe(self.config)):
            chosen = Mux(copies[2 * (number % 2)], waiting[name], self.i.payload[name])
            m.d.comb += reader.i.payload[name].eq(chosen)
        m.d.sync += has_waiting.eq(was_left)
        with m.If(~has_waiting):
            m.d.sync += waiting.eq(self.i.payload)
        return has_waiting
