"""From the rows of all channels to host memory."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Op
from cdma.engine_config import EngineConfig
from cdma.hdl.axi.full import Attributes
from cdma.hdl.engine.common.crc import UnitCrc, excess_bits, unit_of, unit_words
from cdma.hdl.engine.common.records import JOB_BITS, ErrorReport, Row
from cdma.hdl.engine.job import Job, WriteClient
from cdma.hdl.engine.offload.codec import StripeStatus
from cdma.hdl.engine.offload.gather import Gather, row_words
from cdma.hdl.engine.offload.index import ENTRY_BITS, IndexEntries
from cdma.hdl.engine.offload.ledger import INDEX_BURST_BYTES, Ledger
from cdma.hdl.engine.offload.limit import Limit
from cdma.hdl.engine.offload.write.writer import StreamWriter

_INDEX_WRITES = 32  # bursts of the index that are not answered: the memories of their log are RAM


class Turn(data.StructLayout):
    """Whose rows are gathered next: a ``channel``, or the job's ``end``."""

    def __init__(self):
        super().__init__({"channel": unsigned(3), "end": unsigned(1)})


class HostWriter(wiring.Component):
    """Gather the rows of the channels, and write stream and index, job after job.

    A row is taken when all behind has room for it. From there on nothing stalls: limit, accounts,
    CRC and packing follow in a pipeline. Throughput one row of at most 64 bytes a cycle, with CRCs
    as much as a beat of the link; what is written leaves at a beat a cycle.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    start : In, a job begins: ``running`` from the next cycle on
    running : In, a job's rows are gathered
    job, number : In, the job and its number, from ``start`` on while ``running``
    ends : Out, one cycle: all of the job's bursts have been collected; a register
    order : In stream of :class:`Turn`
    i, i_status : In streams of the channels, arrays
    where : In, address of each channel's first error, array
    drops : In, rows are dropped: no word of them, no entry and no error counts
    discard : In, no further address is issued
    clear : In, all is idle: forget what was dropped
    attr : In, attributes of the addresses
    data, index : Out, :class:`~cdma.hdl.engine.job.WriteClient` of the link
    o_error : Out streams of :class:`~cdma.hdl.engine.common.records.ErrorReport`: of the stripes,
        of the writes of stream and index
    known, exceeds : Out, of a stripe that ended: see ``RawDecision``
    offset, stripes, raw_stripes : Out, of the job that ``ends``
    collects, answers : Out, bursts of stream and index that were collected, or were answered, in
        this cycle: a bit each
    idle : Out, nothing is on its way
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        self._ledger = ledger = Ledger(config)
        bits, link = config.address_bits, config.link_bytes
        channels = config.channels
        self.writers = [
            StreamWriter(bits, link, config.word_bits, row_words(config), config.link_writes),
            StreamWriter(bits, link, ENTRY_BITS, 1, _INDEX_WRITES, INDEX_BURST_BYTES),
        ]
        super().__init__(
            {
                "start": In(1),
                "running": In(1),
                "job": In(Job(bits)),
                "number": In(JOB_BITS),
                "ends": Out(1),
                "order": In(stream.Signature(Turn())),
                "i": In(stream.Signature(Row(config))).array(channels),
                "i_status": In(stream.Signature(StripeStatus())).array(channels),
                "where": In(bits).array(channels),
                "drops": In(1),
                "discard": In(1),
                "clear": In(1),
                "attr": In(Attributes()),
                "data": Out(WriteClient(bits, link)),
                "index": Out(WriteClient(bits, link)),
                "o_error": Out(stream.Signature(ErrorReport())).array(3),
                "known": Out(1),
                "exceeds": Out(1),
                "offset": Out(ledger.offset.shape()),
                "stripes": Out(ledger.stripes.shape()),
                "raw_stripes": Out(ledger.raw_stripes.shape()),
                "collects": Out(2),
                "answers": Out(2),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.ledger = ledger = self._ledger
        m.submodules.gather = gather = Gather(config)
        m.submodules.data_writer, m.submodules.index_writer = writers = self.writers
        m.submodules.entries = entries = IndexEntries(config)
        m.submodules.crc = crc = UnitCrc(unit_words(config) * config.word_bits, excess_bits(config))
        is_end = self.running & self.order.valid & self.order.payload.end
        is_gathered, has_index, is_closed = Signal(), Signal(), Signal()
        m.d.comb += [
            is_gathered.eq(is_end & ledger.idle & ~gather.valid),
            has_index.eq(is_gathered & entries.idle & crc.idle),
            is_closed.eq(has_index & ~writers[0].is_open & ~writers[1].is_open),
        ]
        # All stays as it is until the job's end is taken, in the cycle with ``ends``.
        m.d.sync += self.ends.eq(is_closed & ~self.ends)
        self._take(m, gather, crc, entries)
        self._account(m, gather, ledger)
        self._write_index(m, gather, entries, crc)
        for number, (writer, client, flush, error) in enumerate(
            zip(
                writers,
                (self.data, self.index),
                (is_gathered, has_index),
                (self.o_error[1], self.o_error[2]),
                strict=True,
            )
        ):
            wiring.connect(m, writer.client, wiring.flipped(client))
            wiring.connect(m, writer.o_error, wiring.flipped(error))
            m.d.comb += [
                writer.clear.eq(self.clear),
                writer.start.eq(self.start),
                writer.flush.eq(flush),
                writer.discard.eq(self.discard),
                writer.attr.eq(self.attr),
                writer.tag.eq(ledger.tag),
                self.collects[number].eq(writer.collects),
                self.answers[number].eq(writer.answers),
            ]
        m.d.comb += [
            writers[0].address.eq(self.job.host),
            writers[0].valid.eq(gather.valid),
            writers[0].i.words.eq(gather.o.words),
            writers[0].i.count.eq(gather.o.kept),
            writers[0].tags.eq(ledger.tags),
            writers[1].address.eq(self.job.index_address),
            writers[1].tags.eq(ledger.index_tags),
            self.idle.eq(writers[0].idle & writers[1].idle & ledger.idle & ~gather.valid),
        ]
        return m

    def _take(self, m, gather, crc, entries):
        """Take the rows of a job's stripes when there is room for them."""
        order, job = self.order, self.job
        m.submodules.stream_limit = limit = Limit(
            len(job.limit) - self._shift, row_words(self.config)
        )
        is_stripe = self.running & ~order.payload.end
        # A stripe's CRC waits until the one before is taken. A register says so: whether a row is
        # taken depends on it, and all behind that row.
        crc_waits = Signal()
        with m.If(gather.order.ready & gather.slow):
            m.d.sync += crc_waits.eq(1)
        with m.Elif(crc.o.valid & crc.o.ready):
            m.d.sync += crc_waits.eq(0)
        most, is_measure = job.limit >> self._shift, job.op == Op.MEASURE
        m.d.comb += [
            gather.order.payload.eq(order.payload.channel),
            gather.order.valid.eq(order.valid & is_stripe),
            order.ready.eq((gather.order.ready & is_stripe) | self.ends),
            gather.drops.eq(self.drops),
            gather.slow.eq(job.crc & job.index & ~self.drops),
            gather.hold.eq(self._ledger.hold | (self.writers[0].is_tight & ~self.drops)),
            gather.hold_last.eq(entries.is_tight | (gather.slow & crc_waits)),
            limit.start.eq(self.start),
            limit.limit.eq(Mux(is_measure, 0, most)),
            limit.takes.eq(gather.takes),
            limit.count.eq(gather.count),
            gather.kept.eq(limit.kept),
            gather.cut.eq(limit.cut),
        ]
        for k in range(self.config.channels):
            wiring.connect(m, wiring.flipped(self.i[k]), gather.i[k])
            wiring.connect(m, wiring.flipped(self.i_status[k]), gather.i_status[k])

    @property
    def _shift(self) -> int:
        return self.config.word_bytes.bit_length() - 1

    def _account(self, m, gather, ledger):
        """Keep the accounts of what was taken."""
        wiring.connect(m, ledger.o_error, wiring.flipped(self.o_error[0]))
        m.d.comb += [
            ledger.start.eq(self.start),
            ledger.job.eq(self.job),
            ledger.number.eq(self.number),
            *(ledger.where[k].eq(where) for k, where in enumerate(self.where)),
            ledger.valid.eq(gather.valid),
            ledger.i.eq(gather.o),
            ledger.opens.eq(self.writers[0].opens),
            self.known.eq(ledger.known),
            self.exceeds.eq(ledger.exceeds),
            self.offset.eq(ledger.offset),
            self.stripes.eq(ledger.stripes),
            self.raw_stripes.eq(ledger.raw_stripes),
        ]

    def _write_index(self, m, gather, entries, crc):
        """Write an entry for each stripe, with its CRC."""
        ledger, writer = self._ledger, self.writers[1]
        wiring.connect(m, crc.o, entries.i_crc)
        unit, past = unit_of(m, self.config, gather.o, gather.unit)
        m.d.comb += [
            crc.clear.eq(self.clear),
            crc.valid.eq(gather.works),
            crc.unit.eq(unit),
            crc.last.eq(gather.ends),
            crc.excess.eq(past),
            entries.has_crc.eq(self.job.crc),
            entries.valid.eq(ledger.entry_valid),
            entries.i.eq(ledger.entry),
            # What is in the writer when nothing more is issued stays until `clear`: entries go on.
            entries.hold.eq(writer.is_tight & ~self.discard),
            writer.valid.eq(entries.o_valid & ~self.discard),
            writer.i.eq(entries.o),
        ]
