"""The index on its way from host memory."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import BURST_BYTES, INDEX_BYTES, EngineConfig
from cdma.hdl.axi.full import Attributes, Response
from cdma.hdl.engine.common.bursts import RangeReader
from cdma.hdl.engine.common.records import JOB_BITS
from cdma.hdl.engine.job import Job, ReadClient
from cdma.hdl.lib.parts import advance_in_parts
from cdma.hdl.lib.signals import select

#: Entries of a burst, at most.
_BURST_ENTRIES = BURST_BYTES // INDEX_BYTES
#: Longest bursts that the buffer has room for. With fewer, part of the index of a tensor of 1 MiB
#: comes between beats of the stream, and not while the first of them is waited for.
_BURSTS = 4


class Entry(data.StructLayout):
    """An entry of the index, and the response that it was read with.

    Members
    -------
    bytes, raw, has_crc, reserved, crc : as in memory
    resp : of its beat
    """

    def __init__(self):
        super().__init__(
            {
                "bytes": unsigned(24),
                "raw": unsigned(1),
                "has_crc": unsigned(1),
                "reserved": unsigned(6),
                "crc": unsigned(32),
                "resp": Response,
            }
        )


class EntryReader(wiring.Component):
    """Read the entries of the stripes of jobs, ahead of their use.

    Throughput one entry a cycle; with nothing of earlier jobs in the buffer, the first address is
    valid two cycles after ``start``. Reads one entry for each stripe and no byte behind the last
    beat. The entries of one job are asked for while those of earlier ones wait.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    start : In, ask for the entries of ``job``, only when ``asked``
    job : In, :class:`~cdma.hdl.engine.job.Job`, with ``start``
    attr : In, :class:`~cdma.hdl.axi.full.Attributes` of the addresses, from the next cycle on
    asked : Out, all entries are asked for
    begun : Out, there is a job that ``next`` has not come to
    next : In, give the entries of the next job, whose first one is at ``address``
    address : In
    last : In, the entry that is taken is the job's last
    stop : In, level: ask for nothing more, and drop all that comes
    clear : In, all was dropped: forget the jobs
    client : Out, :class:`~cdma.hdl.engine.job.ReadClient`
    o : Out stream of :class:`Entry`
    idle : Out, nothing is asked for or outstanding
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "start": In(1),
                "job": In(Job(config.address_bits)),
                "attr": In(Attributes()),
                "asked": Out(1),
                "begun": Out(1),
                "next": In(1),
                "address": In(config.address_bits),
                "last": In(1),
                "stop": In(1),
                "clear": In(1),
                "client": Out(ReadClient(config.address_bits, config.link_bytes)),
                "o": Out(stream.Signature(Entry())),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        link, bits = self.config.link_bytes, self.config.address_bits
        depth, size_bits = _BURSTS * BURST_BYTES // link, BURST_BYTES.bit_length()
        m.submodules.reader = reader = RangeReader(bits, link, depth, size_bits, at_once=True)
        wiring.connect(m, reader.client, wiring.flipped(self.client))
        self._ask(m, reader)
        waiting = Signal(range((1 << JOB_BITS) + 1))  # jobs that were begun and are not taken
        m.d.sync += waiting.eq(waiting + self.start - self.next)
        with m.If(self.clear):
            m.d.sync += waiting.eq(0)
        m.d.comb += self.begun.eq(waiting != 0)
        beat, moves = reader.o.payload, Signal()
        slots = link // INDEX_BYTES
        words = [beat.data[64 * k : 64 * (k + 1)] for k in range(slots)]
        slot, entry, is_open = Signal(range(max(slots, 2))), Signal(64), Signal()
        m.d.comb += [
            entry.eq(select(m, slot, words, "entry_word")),
            self.o.valid.eq(reader.o.valid & is_open & ~self.stop),
            moves.eq(self.o.valid & self.o.ready),
            reader.o.ready.eq(self.stop | (moves & ((slot == slots - 1) | self.last))),
            self.o.payload.bytes.eq(entry[:24]),
            self.o.payload.raw.eq(entry[24]),
            self.o.payload.has_crc.eq(entry[25]),
            self.o.payload.reserved.eq(entry[26:32]),
            self.o.payload.crc.eq(entry[32:]),
            self.o.payload.resp.eq(beat.resp),
        ]
        with m.If(self.next):
            m.d.sync += is_open.eq(1)
        with m.Elif((moves & self.last) | self.clear):
            m.d.sync += is_open.eq(0)
        if slots > 1:
            with m.If(self.next):
                m.d.sync += slot.eq(self.address[3:])
            with m.Elif(moves):
                m.d.sync += slot.eq(slot + 1)
        return m

    def _ask(self, m, reader):
        """Ask for the entries of a job: as many bursts as they fill, and the rest."""
        job, low = self.job, self.config.stripe_bytes.bit_length() - 1
        entry_bits, burst_bits = INDEX_BYTES.bit_length() - 1, _BURST_ENTRIES.bit_length() - 1
        bursts, rest = Signal(len(job.stripes) - burst_bits), Signal(range(_BURST_ENTRIES + 1))
        asks, is_rest, takes = Signal(), Signal(), Signal()
        advance_in_parts(m, bursts, takes & ~is_rest, "bursts", parts=3, down=True)
        m.d.comb += [
            reader.start.eq(self.start),
            reader.address.eq(job.index_address),
            reader.i.valid.eq(asks),
            reader.i.payload.size.eq(Mux(is_rest, rest << entry_bits, BURST_BYTES)),
            reader.i.payload.last.eq(is_rest),
            takes.eq(reader.i.valid & reader.i.ready),
            reader.final.eq(1),
            reader.abandon.eq(self.stop),
            reader.attr.eq(self.attr),
            self.asked.eq(reader.asked),
            self.idle.eq(reader.idle),
        ]
        # Two cycles follow a piece, before the next is taken. A carry in ``bursts`` cannot hide the
        # last of them.
        m.d.sync += is_rest.eq(bursts == 0)
        with m.If(self.start):
            m.d.sync += [
                asks.eq(1),
                bursts.eq(job.stripes >> burst_bits),
                is_rest.eq((job.stripes >> burst_bits) == 0),
                # Only a single row has a partial stripe.
                rest.eq(job.stripes[:burst_bits] + job.row_bytes[:low].any()),
            ]
        with m.Elif((takes & is_rest) | self.stop):
            m.d.sync += asks.eq(0)
