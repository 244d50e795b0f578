"""The port to the host, shared by data, index and rings."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import BURST_BYTES, EngineConfig
from cdma.hdl.axi.full import Manager
from cdma.hdl.engine.job import ReadClient, Timeout, WriteClient
from cdma.hdl.engine.ports.watchdog import Watchdog
from cdma.hdl.lib.queue import Queue
from cdma.hdl.lib.signals import any_of, assert_ready
from cdma.hdl.lib.tally import Tally

CLIENTS = 3  # 0 data, 1 index, 2 rings: also their AXI IDs
ID_BITS = 2
_OWED_BITS = 16  # of bursts without an answer, of all clients
_WRITES = 4  # bursts whose address is issued and whose data is not complete


class LinkArbiter(wiring.Component):
    """Merge the clients of the link into one AXI4 port, each with an ID of its own.

    Clients of high number go first: they ask seldom. The data of writes goes in the order of their
    addresses, and does not wait for them. Answers go to the client of their ID; no client may
    stall them. One cycle from a client's address to the port's; data passes combinationally.

    A timeout of the port is for good: ``failed`` stays until reset.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    writes, reads : In, arrays of :class:`~cdma.hdl.engine.job.WriteClient` and ``ReadClient``
    timeout : In, :class:`~cdma.hdl.engine.job.Timeout`
    port : Out, :class:`~cdma.hdl.axi.full.Manager`
    failed : Out, the port has timed out
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        bits, link = config.address_bits, config.link_bytes
        super().__init__(
            {
                "writes": In(WriteClient(bits, link)).array(CLIENTS),
                "reads": In(ReadClient(bits, link)).array(CLIENTS),
                "timeout": In(Timeout()),
                "port": Out(Manager(bits, link, ID_BITS)),
                "failed": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.order = order = Queue(ID_BITS, _WRITES)
        port = self.port
        reads, _ = self._address(m, port.ar, [client.ar for client in self.reads], 1, "ar")
        aws = [client.aw for client in self.writes]
        writes, number = self._address(m, port.aw, aws, order.i.ready, "aw")
        m.d.comb += [order.i.valid.eq(writes), order.i.payload.eq(number)]

        # Data of the oldest write; answers to their clients.
        m.d.comb += [
            order.o.ready.eq(port.w.valid & port.w.ready & port.w.payload.last),
            port.b.ready.eq(1),
            port.r.ready.eq(1),
        ]
        for number, (write, read) in enumerate(zip(self.writes, self.reads, strict=True)):
            with m.If(order.o.valid & (order.o.payload == number)):
                m.d.comb += [
                    port.w.valid.eq(write.w.valid),
                    port.w.payload.eq(write.w.payload),
                    write.w.ready.eq(port.w.ready),
                ]
            m.d.comb += [
                write.b.valid.eq(port.b.valid & (port.b.payload.id == number)),
                write.b.payload.eq(port.b.payload.resp),
                read.r.valid.eq(port.r.valid & (port.r.payload.id == number)),
                read.r.payload.data.eq(port.r.payload.data),
                read.r.payload.resp.eq(port.r.payload.resp),
                read.r.payload.last.eq(port.r.payload.last),
            ]
            assert_ready(m, platform, write.b)
            assert_ready(m, platform, read.r)
        self._watch(m, reads, writes)
        return m

    def _address(self, m, out, clients, has_room, name):
        """Take the address of one client into the port's register; gives whether it does."""
        can, loads = Signal(name=f"{name}_can"), Signal(name=f"{name}_loads")
        asks = [client.valid for client in clients]
        beats_bits = (BURST_BYTES // self.config.link_bytes).bit_length()
        kept = Signal(out.payload.shape(), name=f"{name}_kept", reset_less=True)
        m.d.comb += [
            can.eq((~out.valid | out.ready) & has_room),
            loads.eq(can & any_of(asks)),
            out.payload.eq(kept),
        ]
        with m.If(loads):
            m.d.sync += out.valid.eq(1)
        with m.Elif(out.ready):
            m.d.sync += out.valid.eq(0)
        number = Signal(ID_BITS, name=f"{name}_number")
        request = Signal(clients[0].payload.shape(), name=f"{name}_request")
        for k, client in enumerate(clients):
            m.d.comb += client.ready.eq(can & ~any_of(asks[k + 1 :]))
            with m.If(client.valid):
                m.d.comb += [number.eq(k), request.eq(client.payload)]
        # Without an address the register takes anything: nobody looks.
        with m.If(can):
            m.d.sync += [
                kept.id.eq(number),
                kept.address.eq(request.address),
                kept.length.eq(request.beats[:beats_bits] - 1),
                kept.attr.eq(request.attr),
                kept.qos.eq(0),
            ]
        return loads, number

    def _watch(self, m, reads, writes):
        """Time out the reads and the writes of the port, each by itself."""
        port = self.port
        for name, load, address, answer, ends in (
            ("read", reads, port.ar, port.r, port.r.payload.last),
            ("write", writes, port.aw, port.b, 1),
        ):
            m.submodules[f"{name}_watchdog"] = watchdog = Watchdog()
            m.submodules[f"{name}s_owed"] = owed = Tally(_OWED_BITS)
            moves = (address.valid & address.ready) | answer.valid
            if name == "write":
                moves = moves | (port.w.valid & port.w.ready)
            m.d.comb += [
                watchdog.limit.eq(self.timeout),
                owed.up.eq(load),
                owed.down.eq(answer.valid & ends),
                watchdog.waits.eq(owed.any),
                watchdog.moves.eq(moves),
            ]
            with m.If(watchdog.expired):
                m.d.sync += self.failed.eq(1)
