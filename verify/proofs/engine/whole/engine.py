"""A whole engine at its ports, for some cycles from reset: AXI, windows, and a job's writes."""

from amaranth.asserts import AnyConst
from amaranth.hdl import (
    Assert,
    Assume,
    Cat,
    ClockSignal,
    Cover,
    Elaboratable,
    Module,
    ResetSignal,
    Signal,
)

from cdma.engine_codes import OFFLOAD_RING, PREFETCH_RING, Op
from cdma.engine_config import COMPLETION_BYTES, DESCRIPTOR_BYTES, INDEX_BYTES
from cdma.engine_limits import DATA, INDEX, RINGS
from cdma.hdl.engine.engine import LINK, AxiEngine, channel_prefix
from cdma.hdl.engine.front.records import Descriptor
from cdma.hdl.engine.ports import channel, link
from cdma.hdl.engine.registers import register_map
from cdma.verify.formal.fault import stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.proofs.engine.small import tiny
from cdma.verify.proofs.engine.whole.ports import Freedom, Port, asks_inside, stays_inside
from cdma.verify.proofs.engine.whole.software import write_anything, write_program
from cdma.verify.proofs.proof import BOUNDED, Proof, faults

#: Where a job has its memory: ends of the windows, completion ring, stream and index.
_DEVICE_END, _HOST_END = 64, 256
_COMPLETIONS, _STREAM, _ENTRIES = 64, 128, 192
#: Most bytes of the tensor: two stripes.
_MOST = 32


class _Engine(Elaboratable):
    """An engine with memories at its ports."""

    def __init__(self, freedom):
        # The link reads a descriptor in two beats.
        self.config = tiny(link_bytes=32, link_beats=8, address_bits=32)
        self.freedom = freedom
        self.dut = AxiEngine(self.config)

    def _connect(self, m, data_of=None):
        """Clock, reset and memories; gives the ports of link and channel."""
        dut, config = self.dut, self.config
        m.submodules.dut = dut
        m.d.comb += [dut.aclk.eq(ClockSignal()), dut.aresetn.eq(~ResetSignal())]
        link_bytes, beat_bytes = config.link_bytes, config.beat_bytes
        host = Port(m, dut, LINK, link_bytes, link.ID_BITS, link.CLIENTS, self.freedom, data_of)
        m.d.comb += Assert(host.axi.r.ready)
        prefix = channel_prefix(0)
        return host, Port(m, dut, prefix, beat_bytes, channel.ID_BITS, 1, self.freedom)


class ObeysAxi(_Engine):
    """Software does anything at any time. All ports obey AXI, and no burst leaves the windows.

    A burst of the link lies in the window of one ring, one that reads the device in that of ring 0,
    one that writes it in that of ring 1.
    """

    def elaborate(self, platform):
        m = Module()
        host, device = self._connect(m)
        write_anything(m, self.dut)
        for port, name, rings in (
            (host, "host", ((0, 1), (0, 1))),
            (device, "dev", ((0,), (1,))),
        ):
            for direction, allowed in zip((port.axi.ar, port.axi.aw), rings, strict=True):
                windows = [self._window(m, ring, name) for ring in allowed]
                asks_inside(m, direction, port.data_bytes, windows)
        m.d.comb += Cover(host.axi.ar.valid)
        return m

    def _window(self, m, ring, name):
        """Base and end of a window, from the registers."""
        path = f"dut.front.registers.ring{ring}__{name}"
        limit = [
            probe(m, f"{path}_limit_{part}", bits)
            for part, bits in (("lo_low", 32), ("hi_high", 1))
        ]
        return probe(m, f"{path}_base_lo_low", 32), Cat(limit)


class _FirstJob(_Engine):
    """Software programs a ring and submits one job with an index. All ports obey AXI.

    Size, device address and limit of the job are any.
    """

    ring: int
    op: Op

    def elaborate(self, platform):
        m = Module()
        self.descriptor = self._describe(m)
        host, device = self._connect(m, self._data_of)
        block = register_map(self.config).block("RING")
        program = {
            "HOST_LIMIT_LO": _HOST_END,
            "DEV_LIMIT_LO": _DEVICE_END,
            "CQ_BASE_LO": _COMPLETIONS,
            "CTRL": 1,
            "SQ_TAIL": 1,
        }
        is_rung = write_program(
            m,
            self.dut,
            [(block.address(name, self.ring), value) for name, value in program.items()],
        )
        for port, end in ((host, _HOST_END), (device, _DEVICE_END)):
            for direction in (port.axi.ar, port.axi.aw):
                asks_inside(m, direction, port.data_bytes, [(0, end)])
        # How far the job comes.
        reached = [is_rung, _asks(host, RINGS), *self._check(m, host, device)]
        # TIMEOUT is long.
        failed, lost = probe(m, "dut.link.failed", 1), probe(m, "dut.data.memory0.lost", 1)
        m.d.comb += Assert(~failed & ~lost)
        m.d.comb += [Cover(each) for each in reached]
        return m

    def _describe(self, m):
        d = Signal(Descriptor(), name="descriptor")
        device, size, limit = (Signal(6, name=name) for name in ("device", "size", "limit"))
        for value in (device, size, limit):
            m.d.comb += value.eq(AnyConst(len(value)))
        m.d.comb += [
            d.op.eq(self.op),
            d.phase.eq(1),
            d.index.eq(1),
            d.word.eq(self.config.word_bytes.bit_length() - 1),
            d.device.eq(device),
            d.row_bytes.eq(size),
            d.host.eq(_STREAM),
            d.index_address.eq(_ENTRIES),
            d.limit.eq(limit),
            Assume(size <= _MOST),
        ]
        return d

    def _data_of(self, number, beat):
        """Descriptors come from the ring; all else is any."""
        if number != RINGS:
            return None
        link_bytes = self.config.link_bytes
        parts = DESCRIPTOR_BYTES // link_bytes
        place = beat[: (parts - 1).bit_length()]
        return self.descriptor.as_value().word_select(place, 8 * link_bytes)

    @property
    def _index_bytes(self) -> int:
        """Bytes of the longest index."""
        return INDEX_BYTES * -(-_MOST // self.config.stripe_bytes)


class Offloads(_FirstJob):
    """A first offload. Only its own bytes are written: those of the stream up to its limit, of the
    index and of the completion, and none of the device.
    """

    ring, op = OFFLOAD_RING, Op.OFFLOAD

    def _check(self, m, host, device):
        """Own bytes; gives how far the job comes."""
        number, w = host.writes.head.id, host.axi.w
        stays_inside(m, host, lambda at: self._is_own(number, at))
        m.d.comb += Assert(~device.axi.aw.valid & ~device.axi.w.valid)
        reached = [device.axi.ar.valid]
        if not self.freedom.stalls:
            reached += [w.valid & (number == client) for client in (DATA, INDEX)]
        return reached

    def _is_own(self, number, at):
        """A byte belongs to the job's part that the ID stands for."""
        return (
            ((number == RINGS) & _lies(at, _COMPLETIONS, COMPLETION_BYTES))
            | ((number == DATA) & _lies(at, _STREAM, self.descriptor.limit))
            | ((number == INDEX) & _lies(at, _ENTRIES, self._index_bytes))
        )


class Prefetches(_FirstJob):
    """A first prefetch, of any stream and any index. Of the device only the job's rows are written,
    of the host only the completion; only beats of stream and index are read, none of the device.

    The index is asked for from the 34th cycle on, and the device is written some thirty later: too
    late for this check. See the one of the prefetch unit alone.
    """

    ring, op = PREFETCH_RING, Op.PREFETCH

    def _check(self, m, host, device):
        """Own bytes; gives how far the job comes."""
        d, ar = self.descriptor, host.axi.ar
        stays_inside(m, device, lambda at: _lies(at, d.device, d.row_bytes))
        stays_inside(
            m,
            host,
            lambda at: (host.writes.head.id == RINGS) & _lies(at, _COMPLETIONS, COMPLETION_BYTES),
        )
        for number, base, size in (
            (DATA, _STREAM, d.limit),
            (INDEX, _ENTRIES, self._index_bytes),
        ):
            with m.If(ar.payload.id == number):
                asks_inside(m, ar, host.data_bytes, [(base, base + size)])
        m.d.comb += Assert(~device.axi.ar.valid)
        return [_asks(host, INDEX)]


def _asks(port, number):
    """A client of the link offers an address."""
    return port.axi.ar.valid & (port.axi.ar.payload.id == number)


def _lies(at, base, size):
    """An address is one of ``size`` bytes from ``base`` on."""
    return (at >= base) & (at < base + size)


#: Memories that never stall and never fail.
_EAGER = Freedom(stalls=False, errors=False)
_SIZE = "1x2x8, link of 32 bytes"

PROOFS = (
    Proof(
        name="engine_ports",
        promise="From reset, whatever software writes, all ports of an engine obey AXI, and no "
        "burst leaves the windows",
        components=(AxiEngine,),
        design=ObeysAxi,
        sizes={_SIZE: Freedom()},
        slow=(_SIZE,),
        mode=BOUNDED,
        depth=16,
        broken=faults(Freedom(), 4, stuck_at(1, "dut.front.rings.fetcher.link__ar__valid")),
    ),
    Proof(
        name="engine_offload",
        promise="A first offload of an engine writes only its own bytes, and all ports obey AXI",
        components=(AxiEngine,),
        design=Offloads,
        sizes={_SIZE: Freedom()},
        slow=(_SIZE,),
        mode=BOUNDED,
        depth=32,
        broken=faults(Freedom(), 28, stuck_at(0, "dut.front.has_changed")),
    ),
    Proof(
        name="engine_prefetch",
        promise="A first prefetch of an engine reads and writes only its own bytes, and all ports "
        "obey AXI, until its index comes",
        components=(AxiEngine,),
        design=Prefetches,
        sizes={_SIZE: Freedom()},
        slow=(_SIZE,),
        mode=BOUNDED,
        depth=35,
        broken=faults(Freedom(), 4, stuck_at(1, "dut.data.prefetch.index__ar__valid")),
    ),
    Proof(
        name="engine_offload_no_stalls",
        promise="The same for more cycles, with memories that neither stall nor fail",
        components=(AxiEngine,),
        design=Offloads,
        sizes={_SIZE: _EAGER},
        slow=(_SIZE,),
        mode=BOUNDED,
        depth=48,
        broken=(
            *faults(_EAGER, 22, stuck_at(1, "dut.front.rings.fetcher.address", 9)),
            # The stream is written beside its buffer.
            *faults(
                _EAGER,
                47,
                stuck_at(0, "dut.data.offload.host.data_writer.sender.client__aw__payload", 7),
            ),
        ),
    ),
)
