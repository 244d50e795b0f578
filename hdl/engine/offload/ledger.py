"""Accounts of a stream on its way out: offsets, index entries, errors."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import LINK, Op, Status
from cdma.engine_config import INDEX_BYTES, EngineConfig
from cdma.hdl.engine.common.errors import ReadError, status_of_read
from cdma.hdl.engine.common.records import (
    JOB_BITS,
    NUMBER_BITS,
    OFFSET_BITS,
    ErrorReport,
    Tag,
)
from cdma.hdl.engine.job import Job
from cdma.hdl.engine.offload.gather import GatheredRow
from cdma.hdl.lib.counter import PART_BITS, Counter, LateCounter
from cdma.hdl.lib.signals import select

INDEX_BURST_BYTES = 128  # most of a burst of the index
_SETTLE = 7  # cycles in which all sums and registers follow
_BEGIN = 2  # cycles after ``start`` without a row: the limit is compared


class IndexEntry(data.StructLayout):
    """``bytes`` and ``raw`` of a stripe; the CRC comes by itself."""

    def __init__(self, config: EngineConfig):
        super().__init__({"bytes": unsigned(config.stripe_bound.bit_length()), "raw": unsigned(1)})


class Ledger(wiring.Component):
    """Keep the accounts of a job's stream.

    Throughput one row a cycle. Nothing stalls here, but for a stripe with an error: then ``hold``
    is set from the cycle of its last row on, until the report is taken and what follows from it is
    known. Tags have the latency :attr:`tag_latency`: sums are made in parts.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    start : In, a new job begins; its first row comes three cycles later or after that
    job, number : In, :class:`~cdma.hdl.engine.job.Job` and its number
    where : In, address of each channel's first error, array
    valid, i : In, a row: :class:`~cdma.hdl.engine.offload.gather.GatheredRow`
    opens : In, with the row: a burst of the stream begins in it
    hold : Out, take no row in this cycle
    tag : Out, :class:`~cdma.hdl.engine.common.records.Tag` of the stripe of a row some cycles ago
    tags, index_tags : Out, one cycle: that is the tag of the stream's next burst, of the index's
    entry_valid, entry : Out, one cycle: :class:`IndexEntry` of a stripe, when the job has an index
    o_error : Out stream of :class:`~cdma.hdl.engine.common.records.ErrorReport`
    known, exceeds : Out, of a stripe that ended: see ``RawDecision``
    offset : Out, bytes of the stream, without regard to the limit, when ``idle``
    stripes, raw_stripes : Out, stripes that have ended, and those that were raw, when ``idle``
    idle : Out, all sums are up to date, and no report waits
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        self._shift = config.word_bytes.bit_length() - 1
        #: Most words of a stripe in the stream.
        self.most = config.stripe_bound >> self._shift
        self._bits = (self.most).bit_length()
        self._offset = LateCounter(OFFSET_BITS - self._shift, self._bits)
        #: Cycles from a row to the tag of its stripe.
        self.tag_latency = self._offset.latency + 1
        super().__init__(
            {
                "start": In(1),
                "job": In(Job(config.address_bits)),
                "number": In(JOB_BITS),
                "where": In(config.address_bits).array(config.channels),
                "valid": In(1),
                "i": In(GatheredRow(config)),
                "opens": In(1),
                "hold": Out(1),
                "tag": Out(Tag()),
                "tags": Out(1),
                "index_tags": Out(1),
                "entry_valid": Out(1),
                "entry": Out(IndexEntry(config)),
                "o_error": Out(stream.Signature(ErrorReport())),
                "known": Out(1),
                "exceeds": Out(1),
                "offset": Out(OFFSET_BITS),
                "stripes": Out(NUMBER_BITS),
                "raw_stripes": Out(32),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        row = self.i
        ends, ended = Signal(), Signal()  # a stripe's accounts are closed
        reports, again, waits = self._report(m, row)
        is_live, raw = Signal(), Signal()  # of the last row
        m.d.comb += [
            ends.eq((self.valid & row.last & ~reports) | again),
            self.known.eq(self.valid & row.last),
            self.exceeds.eq(row.status.exceeds),
        ]
        with m.If(self.valid):
            m.d.sync += [is_live.eq(row.live), raw.eq(row.status.raw)]
        m.d.sync += ended.eq(ends)
        size = self._measure(m, row)
        opens_index = self._place(m, ends, Mux(self.valid, row.live, is_live))
        m.d.comb += [
            self.entry_valid.eq(ended & self.job.index & is_live),
            self.entry.raw.eq(raw),
        ]
        busy = self._sum(m, ended, raw, size, opens_index)
        # Without a row, ``hold`` is that a report waits.
        m.d.comb += self.idle.eq(~busy & ~waits & ~self.valid)
        return m

    def _measure(self, m, row):
        """Words and bytes of the stripe, in the cycle after its last row; gives the words."""
        # The carry into the upper part is added with the next row.
        is_first = Signal(init=1)
        low_bits = min(PART_BITS, self._bits - 1)
        low, high, carry = Signal(low_bits), Signal(self._bits - low_bits), Signal()
        size, missing = Signal(self._bits), Signal(self._shift + 1)
        m.d.comb += size.eq(Cat(low, high + carry))
        with m.If(self.valid):
            m.d.sync += [
                is_first.eq(row.last),
                Cat(low, carry).eq(Mux(is_first, 0, low) + row.count),
                high.eq(Mux(is_first, 0, high + carry)),
            ]
            if self.config.has_padding:
                m.d.sync += missing.eq(row.missing)
        with m.If(self.start):
            m.d.sync += is_first.eq(1)
        m.d.comb += self.entry.bytes.eq((size << self._shift) - missing)
        return size

    def _place(self, m, ends, is_live):
        """Whether a burst of the index begins with the entry of the stripe that ends."""
        low, high = INDEX_BYTES.bit_length() - 1, INDEX_BURST_BYTES.bit_length() - 1
        place, has_none, opens = Signal(high - low), Signal(), Signal()
        m.d.comb += opens.eq(ends & self.job.index & is_live & (has_none | (place == 0)))
        with m.If(ends):
            m.d.sync += [place.eq(place + 1), has_none.eq(0)]
        with m.If(self.start):
            m.d.sync += [place.eq(self.job.index_address[low:high]), has_none.eq(1)]
        return opens

    def _sum(self, m, ended, raw, size, opens_index):
        """Add the stripes, and give tags; gives whether a sum is not up to date."""
        m.submodules.offset_sum = offset = self._offset
        m.submodules.number_sum = number = Counter(NUMBER_BITS, 1)
        m.submodules.raw_sum = raws = Counter(32, 1)
        # A tag is read before the stripe itself is added.
        latency = self.tag_latency
        adds, starts, index_starts = (
            Signal(latency - 1, name="adds"),
            Signal(latency, name="starts"),
            Signal(latency, name="index_starts"),
        )
        words = Signal.like(size)
        m.d.sync += [
            words.eq(size),
            adds.eq(Cat(ended, adds)),
            starts.eq(Cat(self.opens, starts)),
            index_starts.eq(Cat(opens_index, index_starts)),
        ]
        m.d.comb += [
            offset.clear.eq(self.start),
            offset.enable.eq(adds[0]),
            offset.step.eq(words),
            number.enable.eq(adds[-1] | self.start),
            number.restart.eq(self.start),
            number.step.eq(~self.start),
            raws.enable.eq((ended & raw) | self.start),
            raws.restart.eq(self.start),
            raws.step.eq(~self.start),
            self.tag.job.eq(self.number),
            self.tag.number.eq(number.value),
            self.tag.offset.eq(offset.value << self._shift),
            self.tags.eq(starts[-1]),
            self.index_tags.eq(index_starts[-1]),
            self.offset.eq(self.tag.offset),
            self.stripes.eq(number.value),
            self.raw_stripes.eq(raws.value),
        ]
        return ended | Cat(adds, starts, index_starts).any()

    def _report(self, m, row):
        """Report a stripe's error when it ends: of the device, or that it is the first too many.

        Gives whether the row ends such a stripe, a pulse when the report is done with, until which
        the stripe is not added, so that number and offset are its own, and whether one waits.
        """
        report, status = self.o_error.payload, self.i.status
        overflowed, was_told, is_cut = Signal(), Signal(), Signal()
        reports, is_known = Signal(), Signal()
        wait = Signal(range(_SETTLE + 1))
        error, channel = Signal.like(status.error), Signal.like(row.channel)
        is_over = Signal()
        m.d.comb += [
            is_cut.eq(row.cut & (self.job.op != Op.MEASURE)),
            is_over.eq((overflowed | is_cut) & ~was_told),
            reports.eq(
                self.valid & row.last & row.live & ((status.error != ReadError.NONE) | is_over)
            ),
            self.hold.eq(reports | (wait != 0)),
            report.tag.eq(self.tag),
            report.halts.eq(error != ReadError.NONE),
        ]
        with m.If(error != ReadError.NONE):
            m.d.comb += [
                report.status.eq(status_of_read(error)),
                report.where.eq(select(m, channel, list(self.where), "where")),
                report.channel.eq(channel),
            ]
        with m.Else():
            m.d.comb += [
                report.status.eq(Status.OVERFLOW),
                report.where.eq(self.job.limit),
                report.channel.eq(LINK),
            ]
        # Sums follow, then the report waits, then the halt follows.
        is_due = Signal()
        m.d.comb += [
            self.o_error.valid.eq(is_due & (wait == 1)),
            is_known.eq(self.o_error.valid & self.o_error.ready),
        ]
        with m.If(self.start):
            m.d.sync += wait.eq(_BEGIN)
        with m.Elif(reports | is_known):
            m.d.sync += wait.eq(_SETTLE)
        with m.Elif((wait != 0) & ~self.o_error.valid):
            m.d.sync += wait.eq(wait - 1)
        with m.If(reports):
            m.d.sync += [is_due.eq(1), error.eq(status.error), channel.eq(row.channel)]
        with m.Elif(is_known):
            m.d.sync += is_due.eq(0)
        with m.If(self.start):
            m.d.sync += [overflowed.eq(0), was_told.eq(0)]
        with m.Elif(self.valid):
            m.d.sync += [overflowed.eq(overflowed | is_cut)]
        with m.If(is_known & (error == ReadError.NONE)):
            m.d.sync += was_told.eq(1)
        return reports, is_known, wait != 0
