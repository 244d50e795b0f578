"""Stripes joined with their index entries."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import LINK, Op, Status
from cdma.engine_config import EngineConfig
from cdma.hdl.axi.full import Response
from cdma.hdl.engine.common.errors import is_error, status_of
from cdma.hdl.engine.common.records import OFFSET_BITS, ErrorReport, Stripe, Tag
from cdma.hdl.engine.job import Job
from cdma.hdl.engine.prefetch.entries import Entry
from cdma.hdl.lib.adder import advance_in_two
from cdma.hdl.lib.queue import Queue
from cdma.zvcplus import RAW_BITS, ZERO_BITS


class Task(data.StructLayout):
    """A stripe to be prefetched.

    Members
    -------
    address, bytes : in device memory
    tag : its number, and its offset in the stream
    size : bytes in the stream, without padding
    raw : it is not compressed
    has_crc, crc : CRC-32 of its bytes in the stream
    """

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "address": unsigned(config.address_bits),
                "bytes": unsigned(config.stripe_bytes.bit_length()),
                "tag": Tag(),
                "size": unsigned(24),
                "raw": unsigned(1),
                "has_crc": unsigned(1),
                "crc": unsigned(32),
            }
        )


class _Joined(data.StructLayout):
    """A stripe with its entry.

    Members
    -------
    task : :class:`Task`, its offset is not yet known
    last : the job's last stripe
    is_possible : the entry can be that of the stripe
    resp, where : of the entry
    """

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "task": Task(config),
                "last": unsigned(1),
                "is_possible": unsigned(1),
                "resp": Response,
                "where": unsigned(config.address_bits),
            }
        )


class TaskMaker(wiring.Component):
    """Join each stripe with its entry of the index, and check that the entry is possible.

    A raw stripe has its bytes of memory; a coded one what its codec can give: of zero-value
    compression at least its masks, at most masks and words, and whole words. The sum must not
    exceed the job's limit, and must reach it with the last stripe. Copies have no index: their
    stripes are raw. After an error no task follows.

    Throughput one task in two cycles, latency one cycle: an entry is compared with its stripe in
    one cycle, and with the bytes that are left of the limit in the next.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    start : In, a new job begins
    job : In, :class:`~cdma.hdl.engine.job.Job`
    stop : In, give no more tasks
    i : In stream of :class:`~cdma.hdl.engine.common.records.Stripe`
    i_last : In, the stripe is the job's last
    i_entry : In stream of :class:`~cdma.hdl.engine.prefetch.entries.Entry`
    o : Out stream of :class:`Task`
    o_error : Out stream of :class:`~cdma.hdl.engine.common.records.ErrorReport`
    end : Out, bytes of the stream that tasks cover
    settles : Out, ``end`` is not valid in this cycle
    ended : Out, no more tasks
    idle : Out, ended, and nothing waits
    count, raw_stripes : Out, tasks given, and those that are raw
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "start": In(1),
                "job": In(Job(config.address_bits)),
                "stop": In(1),
                "i": In(stream.Signature(Stripe(config))),
                "i_last": In(1),
                "i_entry": In(stream.Signature(Entry(config))),
                "o": Out(stream.Signature(Task(config))),
                "o_error": Out(stream.Signature(ErrorReport())),
                "end": Out(OFFSET_BITS),
                "settles": Out(1),
                "ended": Out(1, init=1),
                "idle": Out(1),
                "count": Out(32),
                "raw_stripes": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.joined = joined = Queue(_Joined(self.config), 1)
        self._settles, self._fails = Signal(name="counted"), Signal(2, name="fails")
        is_copy = Signal()
        m.d.comb += is_copy.eq(self.job.op == Op.COPY_IN)
        self._join(m, joined.i, is_copy)
        self._check(m, joined.o, is_copy)
        m.d.comb += self.idle.eq(self.ended & ~joined.o.valid & ~self._settles & ~self._fails.any())
        return m

    def _join(self, m, joined, is_copy):
        """Join stripe and entry, and compare the two."""
        stripe, entry = self.i.payload, self.i_entry.payload
        found, task = joined.payload, joined.payload.task
        has_both = self.i.valid & (is_copy | self.i_entry.valid)
        m.d.comb += [
            joined.valid.eq(has_both & ~self.ended),
            self.i.ready.eq((has_both & joined.ready) | self.ended),
            self.i_entry.ready.eq(self.i.valid & joined.ready & ~self.ended & ~is_copy),
            task.address.eq(stripe.address),
            task.bytes.eq(stripe.bytes),
            task.tag.job.eq(stripe.job),
            task.tag.number.eq(stripe.number),
            task.size.eq(Mux(is_copy, stripe.bytes, entry.bytes)),
            task.raw.eq(is_copy | entry.raw),
            task.has_crc.eq(~is_copy & self.job.crc & entry.has_crc),
            task.crc.eq(entry.crc),
            found.last.eq(self.i_last),
            found.is_possible.eq(is_copy | self._is_possible(m)),
            found.resp.eq(Mux(is_copy, Response.OKAY, entry.resp)),
            found.where.eq(entry.where),
        ]

    def _check(self, m, joined, is_copy):
        """Compare the sum with the limit, and give the task."""
        found, size = joined.payload, joined.payload.task.size
        if self.config.has_padding:
            size = self._padded(m, size)
        left = Signal.like(self.job.limit)  # bytes up to the limit
        fits, is_good, moves = Signal(), Signal(), Signal()
        m.d.comb += [
            fits.eq(left[len(size) :].any() | (size <= left[: len(size)])),
            is_good.eq(found.is_possible & (fits | is_copy)),
            self.o.payload.eq(found.task),
            self.o.payload.tag.offset.eq(self.end),
            self.o.valid.eq(joined.valid & ~self.ended & is_good),
            moves.eq(joined.valid & ~self.ended & (self.o.ready | ~is_good)),
            joined.ready.eq(moves | self.ended),
        ]
        # The carries within these sums follow a cycle later: the next task comes after that.
        counts, low = moves & is_good, len(size)
        is_raw = ~is_copy & found.task.raw
        carries = [
            advance_in_two(m, self.end, Mux(counts, size, 0), low, "end"),
            advance_in_two(m, left, Mux(counts, size, 0), low, "left", down=True),
            advance_in_two(m, self.count, counts, low, "count"),
            advance_in_two(m, self.raw_stripes, counts & is_raw, low, "raw_stripes"),
        ]
        with m.If(self.start):
            m.d.sync += [
                self.end.eq(0),
                left.eq(self.job.limit),
                self.ended.eq(0),
                self.count.eq(0),
                self.raw_stripes.eq(0),
                *(carry.eq(0) for carry in carries),
            ]
        with m.Elif((moves & (~is_good | found.last)) | (self.stop & (moves | ~self.o.valid))):
            m.d.sync += self.ended.eq(1)
        m.d.comb += self.settles.eq(carries[0])
        # Also of the sums that a report looks at.
        m.d.sync += self._settles.eq(counts)
        is_short = is_good & found.last & (left != size)
        self._report(m, found, moves & ~is_copy & (~is_good | is_short))

    def _padded(self, m, size):
        """Bytes that a stripe takes in the stream: whole words."""
        shift = self.config.word_bytes.bit_length() - 1
        whole = Signal.like(size)
        m.d.comb += whole.eq(((size + (self.config.word_bytes - 1)) >> shift) << shift)
        return whole

    def _is_possible(self, m):
        """The entry can be that of the stripe."""
        config, stripe, entry = self.config, self.i.payload, self.i_entry.payload
        if config.is_plus:
            return self._is_possible_plus(m, stripe, entry)
        low = config.block_bytes.bit_length() - 1
        least = Signal(24)  # masks
        m.d.comb += least.eq(
            ((stripe.bytes + (config.block_bytes - 1)) >> low) * config.format.mask_bytes
        )
        is_whole = (
            entry.bytes[: config.word_bytes.bit_length() - 1] == 0 if config.word_bytes > 1 else 1
        )
        is_coded = (entry.bytes >= least) & (entry.bytes <= least + stripe.bytes) & is_whole
        is_raw = entry.bytes == stripe.bytes
        return (entry.reserved == 0) & ~is_error(entry.resp) & Mux(entry.raw, is_raw, is_coded)

    def _is_possible_plus(self, m, stripe, entry):
        """As ``_is_possible``: the bits of the blocks, rounded up to bytes."""
        config = self.config
        blocks = Signal(range(config.stripe_bytes // config.block_bytes + 1))
        low = config.block_bytes.bit_length() - 1
        m.d.comb += blocks.eq((stripe.bytes + (config.block_bytes - 1)) >> low)
        least, most = Signal(24), Signal(24)
        m.d.comb += [
            least.eq((blocks * ZERO_BITS + 7) >> 3),
            most.eq((blocks * RAW_BITS + 7) >> 3),
        ]
        is_coded = (entry.bytes >= least) & (entry.bytes <= most)
        is_raw = entry.bytes == stripe.bytes
        return (entry.reserved == 0) & ~is_error(entry.resp) & Mux(entry.raw, is_raw, is_coded)

    def _report(self, m, found, fails):
        """Report a bad entry, a failed read of it, or a sum below the limit.

        The sums are those behind the last good task: two cycles later they are valid.
        """
        report, is_read = self.o_error.payload, Signal()
        m.d.sync += self._fails.eq(Cat(fails, self._fails[0]))
        m.d.comb += is_read.eq(is_error(found.resp))
        with m.If(fails):
            m.d.sync += [
                report.status.eq(
                    Mux(is_read, status_of(found.resp, Status.HOST_SLVERR), Status.INDEX)
                ),
                report.where.eq(found.where),
                report.tag.job.eq(found.task.tag.job),
            ]
        with m.If(self.o_error.ready):
            m.d.sync += self.o_error.valid.eq(0)
        with m.If(self._fails[1]):
            m.d.sync += [
                self.o_error.valid.eq(1),
                report.tag.number.eq(self.count),
                report.tag.offset.eq(self.end),
            ]
            with m.If(report.status == Status.INDEX):
                m.d.sync += report.where.eq(self.end)
        m.d.sync += report.channel.eq(LINK)
