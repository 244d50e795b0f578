"""The index on its way to host memory."""

from amaranth.hdl import Cat, Const, Module, Mux
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import INDEX_BYTES, EngineConfig
from cdma.hdl.engine.common.words import Words
from cdma.hdl.engine.offload.ledger import IndexEntry
from cdma.hdl.lib.queue import Queue
from cdma.hdl.lib.signals import assert_ready

ENTRY_BITS = 8 * INDEX_BYTES
_ON_THE_WAY = 2  # entries that come after ``is_tight`` is set
_WAITING = 4


class IndexEntries(wiring.Component):
    """Put the entries of consecutive stripes together with their CRCs.

    Throughput an entry a cycle; latency one cycle. There is no back-pressure in front: at most
    three entries come from the cycle before ``is_tight`` on.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    has_crc : In, entries wait for their CRC and carry it
    valid, i : In, :class:`~cdma.hdl.engine.offload.ledger.IndexEntry`
    is_tight : Out, send no further entry; a register
    i_crc : In stream of CRCs, one for each entry if ``has_crc``
    hold : In, give nothing in this cycle
    o_valid, o : Out, an entry as it is in memory: :class:`~cdma.hdl.engine.common.words.Words` of
        one word
    idle : Out, no entry waits
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "has_crc": In(1),
                "valid": In(1),
                "i": In(IndexEntry(config)),
                "is_tight": Out(1),
                "i_crc": In(stream.Signature(32)),
                "hold": In(1),
                "o_valid": Out(1),
                "o": Out(Words(ENTRY_BITS, 1)),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.waiting = waiting = Queue(IndexEntry(self.config), _WAITING)
        entry = waiting.o.payload
        m.d.comb += [
            waiting.i.valid.eq(self.valid),
            waiting.i.payload.eq(self.i),
            self.is_tight.eq(waiting.valid[_WAITING - 1 - _ON_THE_WAY]),
            self.idle.eq(~waiting.o.valid),
            self.o_valid.eq(waiting.o.valid & ~self.hold & (self.i_crc.valid | ~self.has_crc)),
            waiting.o.ready.eq(self.o_valid),
            self.i_crc.ready.eq(self.o_valid & self.has_crc),
            self.o.count.eq(1),
            self.o.words[0].eq(
                Cat(
                    Const(0, 24) | entry.bytes,
                    entry.raw,
                    self.has_crc,
                    Const(0, 6),
                    Mux(self.has_crc, self.i_crc.payload, 0),
                )
            ),
        ]
        assert_ready(m, platform, waiting.i)
        return m
