"""The data path: both directions, and the ports of the channels."""

from amaranth.hdl import Module, Mux
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.axi.full import Manager
from cdma.hdl.engine.job import (
    BEATS,
    ChannelPort,
    Events,
    JobPort,
    ReadClient,
    Timeout,
    WriteClient,
)
from cdma.hdl.engine.offload.unit import OffloadUnit
from cdma.hdl.engine.ports.channel import ID_BITS, MemoryPort
from cdma.hdl.engine.prefetch.unit import PrefetchUnit


class DataPath(wiring.Component):
    """Carry out jobs of both directions at once.

    Offloads only read the device and write the host, prefetches only the reverse: the directions
    share nothing but the ports' control.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    port0, port1 : In, :class:`~cdma.hdl.engine.job.JobPort` of offload and prefetch
    control0, ... : In, :class:`~cdma.hdl.engine.job.ChannelPort` of each channel
    timeout : In, :class:`~cdma.hdl.engine.job.Timeout`
    channel0, ... : Out, :class:`~cdma.hdl.axi.full.Manager` of each channel
    data_write, index_write, data_read, index_read : Out, clients of the link
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        bits, size, link = config.address_bits, config.beat_bytes, config.link_bytes
        channels = range(config.channels)
        super().__init__(
            {
                "port0": In(JobPort(bits)),
                "port1": In(JobPort(bits)),
                **{f"control{c}": In(ChannelPort(config)) for c in channels},
                "timeout": In(Timeout()),
                **{f"channel{c}": Out(Manager(bits, size, ID_BITS)) for c in channels},
                "data_write": Out(WriteClient(bits, link)),
                "index_write": Out(WriteClient(bits, link)),
                "data_read": Out(ReadClient(bits, link)),
                "index_read": Out(ReadClient(bits, link)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.offload = offload = OffloadUnit(config)
        m.submodules.prefetch = prefetch = PrefetchUnit(config)
        for unit, port in ((offload, self.port0), (prefetch, self.port1)):
            wiring.connect(m, unit.port, wiring.flipped(port))
        for client, out in (
            (offload.data, self.data_write),
            (offload.index, self.index_write),
            (prefetch.data, self.data_read),
            (prefetch.index, self.index_read),
        ):
            wiring.connect(m, client, wiring.flipped(out))
        for c in range(config.channels):
            m.submodules[f"memory{c}"] = memory = MemoryPort(config)
            wiring.connect(m, offload.device[c], memory.read)
            wiring.connect(m, prefetch.device[c], memory.write)
            wiring.connect(m, memory.port, wiring.flipped(getattr(self, f"channel{c}")))
            wiring.connect(m, memory.control, wiring.flipped(getattr(self, f"control{c}")))
            m.d.comb += [
                memory.timeout.eq(self.timeout),
                memory.reads.eq(offload.outstanding[c]),
                memory.writes.eq(prefetch.outstanding[c]),
                memory.drained.eq(prefetch.drained[c] & offload.drained[c]),
                memory.read_beats.eq(offload.issued[c]),
                memory.written_beats.eq(prefetch.issued[c]),
                offload.lost[c].eq(memory.lost),
                prefetch.lost[c].eq(memory.lost),
                offload.hold[c].eq(memory.hold),
                prefetch.hold[c].eq(memory.hold),
            ]
            # The directions share the counters: beats of both count, of all else one in a cycle.
            read, written = offload.events[c], prefetch.events[c]
            for name, _ in Events():
                both = read[name] + written[name] if name in BEATS else read[name] | written[name]
                m.d.comb += memory.events[name].eq(both)
            m.d.comb += memory.events.stripe.eq(Mux(read.stripe_valid, read.stripe, written.stripe))
        return m
