"""The index on its way to host memory."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import INDEX_BYTES, EngineConfig
from cdma.hdl.engine.common.writer import PlacedBeat
from cdma.hdl.engine.offload.ledger import IndexEntry
from cdma.hdl.lib.adder import advance_in_two

_ENTRY_BITS = 8 * INDEX_BYTES


class IndexPacker(wiring.Component):
    """Put the entries of consecutive stripes into beats of the link.

    Throughput an entry a cycle, less one cycle a beat; latency one cycle.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    start : In, a new index begins at ``address``
    address : In, a multiple of 8
    has_crc : In, entries wait for their CRC and carry it
    flush : In, no entry will come: give the last, partial beat
    i : In stream of :class:`~cdma.hdl.engine.offload.ledger.IndexEntry`
    i_crc : In stream of CRCs, one for each entry if ``has_crc``
    o : Out stream of :class:`~cdma.hdl.engine.common.writer.PlacedBeat`
    idle : Out, no entry waits
    """

    start: Signal
    address: Signal
    has_crc: Signal
    flush: Signal
    i: stream.Interface
    i_crc: stream.Interface
    o: stream.Interface
    idle: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "start": In(1),
                "address": In(config.address_bits),
                "has_crc": In(1),
                "flush": In(1),
                "i": In(stream.Signature(IndexEntry())),
                "i_crc": In(stream.Signature(32)),
                "o": Out(stream.Signature(PlacedBeat(config.address_bits, config.link_bytes))),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        link = self.config.link_bytes
        slots, low = link // INDEX_BYTES, link.bit_length() - 1
        place = Signal(self.config.address_bits)  # of the next entry
        is_full, is_empty = Signal(), Signal(init=1)
        beat, entry, moves = self.o.payload, Signal(_ENTRY_BITS), Signal()
        carry = advance_in_two(m, place[3:], moves, len(place) // 2, "place")
        m.d.comb += [
            moves.eq(self.i.valid & ~is_full & ~carry & (self.i_crc.valid | ~self.has_crc)),
            self.i.ready.eq(moves),
            self.i_crc.ready.eq(moves & self.has_crc),
            entry.eq(
                Cat(
                    self.i.payload.bytes,
                    self.i.payload.raw,
                    self.has_crc,
                    Const(0, 6),
                    Mux(self.has_crc, self.i_crc.payload, 0),
                )
            ),
            self.o.valid.eq(is_full | (self.flush & ~is_empty)),
            beat.last.eq(~is_full),
            self.idle.eq(is_empty),
        ]
        with m.If(self.start):
            m.d.sync += [place.eq(self.address), carry.eq(0)]
        with m.If(moves):
            slot = Signal(range(max(slots, 2)))
            m.d.comb += slot.eq(place[3:low] if slots > 1 else 0)
            for k in range(slots):
                bits = slice(_ENTRY_BITS * k, _ENTRY_BITS * (k + 1))
                with m.If(slot == k):
                    m.d.sync += beat.data[bits].eq(entry)
                with m.If((slot == k) | is_empty):
                    strobes = (slot == k).replicate(INDEX_BYTES)
                    m.d.sync += beat.strobe[INDEX_BYTES * k : INDEX_BYTES * (k + 1)].eq(strobes)
            with m.If(is_empty):
                m.d.sync += [beat.address.eq(place & -link), beat.tag.eq(self.i.payload.tag)]
            m.d.sync += [
                is_empty.eq(0),
                is_full.eq(slot == slots - 1),
            ]
        with m.Elif(self.o.valid & self.o.ready):
            m.d.sync += [is_full.eq(0), is_empty.eq(1)]
        return m
