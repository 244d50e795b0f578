"""The port of one channel: quarantine, throttling, counters."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import BURST_BYTES, EngineConfig
from cdma.hdl.axi.full import Manager
from cdma.hdl.engine.job import ChannelPort, Events, ReadClient, Timeout, WriteClient
from cdma.hdl.engine.ports.latency import LatencySampler
from cdma.hdl.engine.ports.rate import RateLimiter
from cdma.hdl.engine.ports.watchdog import Watchdog

ID_BITS = 1


class MemoryPort(wiring.Component):
    """Put a channel's reads and writes on one AXI4 port, and watch it.

    A timeout of reads or writes quarantines the channel until software clears that, which works
    only when nothing is outstanding. All passes combinationally.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    read, write : In, :class:`~cdma.hdl.engine.job.ReadClient` and ``WriteClient``
    port : Out, :class:`~cdma.hdl.axi.full.Manager`
    control : In, :class:`~cdma.hdl.engine.job.ChannelPort`
    timeout : In, :class:`~cdma.hdl.engine.job.Timeout`
    reads, writes : In, bursts outstanding; software sees their sum a cycle later
    drained : In, no data waits to be written, and no burst that was read to be given
    read_beats, written_beats : In, beats whose address is issued in this cycle
    events : In, those of the data path
    hold : Out, issue no address in this cycle
    lost : Out, the channel is in quarantine
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        bits, size = config.address_bits, config.beat_bytes
        beats = BURST_BYTES // size
        super().__init__(
            {
                "read": In(ReadClient(bits, size)),
                "write": In(WriteClient(bits, size)),
                "port": Out(Manager(bits, size, ID_BITS)),
                "control": In(ChannelPort(config)),
                "timeout": In(Timeout()),
                "reads": In(range(config.channel_reads + 2)),
                "writes": In(range(config.channel_writes + 1)),
                "drained": In(1),
                "read_beats": In(range(beats + 1)),
                "written_beats": In(range(beats + 1)),
                "events": In(Events()),
                "hold": Out(1),
                "lost": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        self._connect(m)
        control, port = self.control, self.port
        m.submodules.limiter = rate = RateLimiter(2 * BURST_BYTES)
        m.submodules.latency = latency = LatencySampler(self.config.channel_reads + 1)
        size = self.config.beat_bytes.bit_length() - 1
        m.d.comb += [
            rate.rate.eq(control.rate),
            rate.issued.eq((self.read_beats + self.written_beats) << size),
            self.hold.eq(rate.hold | ~control.enable),
            latency.asked.eq(port.ar.valid & port.ar.ready),
            latency.outstanding.eq(self.reads),
            latency.given.eq(port.r.valid & port.r.ready),
            latency.last.eq(port.r.payload.last),
            control.events.eq(self.events),
            control.events.rate.eq(self.events.rate & rate.hold),
            control.events.latency_valid.eq(latency.valid),
            control.events.latency.eq(latency.cycles),
            control.quarantined.eq(self.lost),
        ]
        m.d.sync += control.outstanding.eq(self.reads + self.writes)
        is_quiet = (self.reads == 0) & (self.writes == 0) & self.drained
        expired = self._watch(m)
        with m.If(expired):
            m.d.sync += self.lost.eq(1)
        with m.Elif(control.clear & is_quiet):
            m.d.sync += self.lost.eq(0)
        return m

    def _connect(self, m):
        port, read, write = self.port, self.read, self.write
        for out, client in ((port.ar, read.ar), (port.aw, write.aw)):
            m.d.comb += [
                out.valid.eq(client.valid),
                client.ready.eq(out.ready),
                out.payload.address.eq(client.payload.address),
                out.payload.length.eq(client.payload.beats - 1),
                out.payload.attr.eq(client.payload.attr),
            ]
        # AxQOS must not change while an address waits.
        qos = Signal.like(self.control.qos)
        is_stalled = (port.ar.valid & ~port.ar.ready) | (port.aw.valid & ~port.aw.ready)
        with m.If(~is_stalled):
            m.d.sync += qos.eq(self.control.qos)
        m.d.comb += [
            port.ar.payload.qos.eq(qos),
            port.aw.payload.qos.eq(qos),
            read.r.valid.eq(port.r.valid),
            port.r.ready.eq(read.r.ready),
            read.r.payload.data.eq(port.r.payload.data),
            read.r.payload.resp.eq(port.r.payload.resp),
            read.r.payload.last.eq(port.r.payload.last),
            port.w.valid.eq(write.w.valid),
            port.w.payload.eq(write.w.payload),
            write.w.ready.eq(port.w.ready),
            write.b.valid.eq(port.b.valid),
            write.b.payload.eq(port.b.payload.resp),
            port.b.ready.eq(write.b.ready),
        ]

    def _watch(self, m):
        """Time out reads and writes, each by itself; gives whether either did."""
        port = self.port

        def moves(channel):
            return channel.valid & channel.ready

        m.submodules.reads_watchdog = reads = Watchdog()
        m.submodules.writes_watchdog = writes = Watchdog()
        m.d.comb += [
            reads.limit.eq(self.timeout),
            reads.waits.eq((self.reads != 0) & ~port.r.valid),
            reads.moves.eq(moves(port.ar) | moves(port.r)),
            writes.limit.eq(self.timeout),
            writes.waits.eq(self.writes != 0),
            writes.moves.eq(moves(port.aw) | moves(port.w) | moves(port.b)),
        ]
        return reads.expired | writes.expired
