"""The index on its way from host memory."""

from amaranth.hdl import Module, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import BURST_BYTES, INDEX_BYTES, EngineConfig
from cdma.hdl.axi.full import Response
from cdma.hdl.engine.common.bursts import RangeReader
from cdma.hdl.engine.job import Job, ReadClient
from cdma.hdl.lib.adder import advance_in_two, sum_later
from cdma.hdl.lib.signals import select


class Entry(data.StructLayout):
    """An entry of the index, and the response that it was read with.

    Members
    -------
    bytes, raw, has_crc, reserved, crc : as in memory
    resp : of its beat
    where : address of its beat
    """

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "bytes": unsigned(24),
                "raw": unsigned(1),
                "has_crc": unsigned(1),
                "reserved": unsigned(6),
                "crc": unsigned(32),
                "resp": Response,
                "where": unsigned(config.address_bits),
            }
        )


class EntryReader(wiring.Component):
    """Read the entries of the stripes of jobs, ahead of their use.

    Throughput one entry a cycle. Reads one entry for each stripe and no byte behind the last beat.
    The entries of one job are asked for while those of earlier ones wait.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    start : In, ask for the entries of ``job``, only when ``asked``
    job : In, :class:`~cdma.hdl.engine.job.Job`, must stay until ``asked``
    asked : Out, all entries are asked for
    begun : Out, there is a job that ``next`` has not come to
    next : In, give the entries of the next job, whose first one is at ``address``
    address : In
    last : In, the entry that is taken is the job's last
    stop : In, level: read no more, and drop all that comes
    client : Out, :class:`~cdma.hdl.engine.job.ReadClient`
    o : Out stream of :class:`Entry`
    idle : Out, nothing is outstanding
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "start": In(1),
                "job": In(Job(config.address_bits)),
                "asked": Out(1),
                "begun": Out(1),
                "next": In(1),
                "address": In(config.address_bits),
                "last": In(1),
                "stop": In(1),
                "client": Out(ReadClient(config.address_bits, config.link_bytes)),
                "o": Out(stream.Signature(Entry(config))),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, job = self.config, self.job
        link, bits = config.link_bytes, config.address_bits
        low = config.stripe_bytes.bit_length() - 1
        m.submodules.reader = reader = RangeReader(bits, link, 2 * BURST_BYTES // link)
        wiring.connect(m, reader.client, wiring.flipped(self.client))
        asks = Signal()
        entry_bits = INDEX_BYTES.bit_length() - 1
        is_partial = job.row_bytes[:low].any()
        end = sum_later(
            m,
            job.index_address[entry_bits:],
            job.stripes,
            bits + 1 - entry_bits,
            "end",
            first=is_partial,
        )
        m.d.comb += [
            reader.start.eq(self.start),
            reader.address.eq(job.index_address),
            reader.end.eq(end << entry_bits),
            reader.final.eq(1),
            reader.last.eq(1),
            reader.enable.eq(asks & ~self.stop),
            reader.attr.eq(job.attr),
            reader.next.eq(self.next),
            self.begun.eq(reader.begun),
            self.asked.eq(~asks),
            self.idle.eq(reader.idle),
        ]
        with m.If(self.start):
            m.d.sync += asks.eq(1)
        with m.Elif(reader.asked | self.stop):
            m.d.sync += asks.eq(0)
        place = Signal(bits)
        beat, moves = reader.o.payload, Signal()
        slots = link // INDEX_BYTES
        words = [beat.data[64 * k : 64 * (k + 1)] for k in range(slots)]
        slot = place[3 : link.bit_length() - 1] if slots > 1 else Signal()
        entry, is_last = Signal(64), Signal()
        carry = advance_in_two(m, place[3:], moves, bits // 2, "place")
        m.d.comb += [
            entry.eq(select(m, slot, words, "entry_word")),
            is_last.eq(slot == slots - 1),
            self.o.valid.eq(reader.o.valid & ~reader.is_next & ~self.stop & ~carry),
            moves.eq(self.o.valid & self.o.ready),
            reader.o.ready.eq(self.stop | (moves & (is_last | self.last))),
            self.o.payload.bytes.eq(entry[:24]),
            self.o.payload.raw.eq(entry[24]),
            self.o.payload.has_crc.eq(entry[25]),
            self.o.payload.reserved.eq(entry[26:32]),
            self.o.payload.crc.eq(entry[32:]),
            self.o.payload.resp.eq(beat.resp),
            self.o.payload.where.eq(place & -link),
        ]
        with m.If(self.next):
            m.d.sync += [place.eq(self.address), carry.eq(0)]
        return m
