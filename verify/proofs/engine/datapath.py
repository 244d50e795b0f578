"""The data path: both directions share the ports of the channels, and nothing else."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Mux, Value
from amaranth.lib.wiring import In

from cdma.hdl.engine import datapath
from cdma.hdl.engine.datapath import DataPath
from cdma.hdl.engine.job import BEATS, Events
from cdma.hdl.engine.offload.unit import OffloadUnit
from cdma.hdl.engine.ports.channel import MemoryPort
from cdma.hdl.engine.prefetch.unit import PrefetchUnit
from cdma.verify.formal.fault import stuck_at
from cdma.verify.formal.stream_rules import joined, leave_ports_open
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.parts import AnyOutputs, with_parts
from cdma.verify.proofs.proof import Proof, faults


class AnyOffload(AnyOutputs, OffloadUnit):
    """Offloads at any time."""

    def __init__(self, config):
        super().__init__(config)
        for channel in self.channels:
            channel._MustUse__silence = channel.reader._MustUse__silence = True


class AnyPrefetch(AnyOutputs, PrefetchUnit):
    """Prefetches at any time."""

    def __init__(self, config):
        super().__init__(config)
        for channel in self.channels:
            channel._MustUse__silence = channel.writer._MustUse__silence = True


class SharesPorts(Elaboratable):
    """Jobs and link of each direction are its own. A channel's port carries the reads of the
    offload and the writes of the prefetch, counts both, and tells both of a quarantine, which ends
    when nothing of either is left. An event of either is counted, and beats of both.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut, ports = self.dut, []

        class AnyPort(AnyOutputs, MemoryPort):
            """Any memory."""

            def __init__(self, *args):
                super().__init__(*args)
                ports.append(self)

        instead = {"OffloadUnit": AnyOffload, "PrefetchUnit": AnyPrefetch, "MemoryPort": AnyPort}
        m.submodules.dut, parts = with_parts(dut, platform, (datapath,), tuple(instead), instead)
        offload, prefetch = parts["OffloadUnit"], parts["PrefetchUnit"]
        leave_ports_open(m, dut, In)
        m.d.comb += [
            *joined(dut.port0, offload.port),
            *joined(dut.port1, prefetch.port),
            *joined(dut.data_write, offload.data),
            *joined(dut.index_write, offload.index),
            *joined(dut.data_read, prefetch.data),
            *joined(dut.index_read, prefetch.index),
        ]
        for c, port in enumerate(ports):
            read, written = offload.events[c], prefetch.events[c]
            m.d.comb += [
                *joined(port.read, offload.device[c]),
                *joined(port.write, prefetch.device[c]),
                *joined(port.port, getattr(dut, f"channel{c}")),
                *joined(port.control, getattr(dut, f"control{c}")),
                Assert(Value.cast(port.timeout) == Value.cast(dut.timeout)),
                Assert(port.reads == offload.outstanding[c]),
                Assert(port.writes == prefetch.outstanding[c]),
                Assert(port.read_beats == offload.issued[c]),
                Assert(port.written_beats == prefetch.issued[c]),
                Assert(port.drained == (offload.drained[c] & prefetch.drained[c])),
                *(
                    Assert(getattr(unit, name)[c] == getattr(port, name))
                    for unit in (offload, prefetch)
                    for name in ("lost", "hold")
                ),
                *(
                    Assert(port.events[name] == (read[name] | written[name]))
                    for name, _ in Events()
                    if name not in ("stripe", *BEATS)
                ),
                *(Assert(port.events[name] == (read[name] + written[name])[:2]) for name in BEATS),
                Assert(port.events.stripe == Mux(read.stripe_valid, read.stripe, written.stripe)),
                Cover(read.stripe_valid & written.stripe_valid),
            ]
        m.d.comb += Assert(len(ports) == dut.config.channels)
        return m


CONFIG = small(channels=2)
PROOFS = (
    Proof(
        name="data_path",
        promise="Each direction has its own jobs and link, and a channel's port has the reads of "
        "one and the writes of the other",
        components=(DataPath,),
        design=lambda config: SharesPorts(DataPath(config)),
        sizes={"2 channels": CONFIG},
        broken=faults(CONFIG, 3, stuck_at(1, "dut.drained")),
    ),
)
