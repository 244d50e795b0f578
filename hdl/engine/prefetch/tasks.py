"""Stripes joined with their index entries."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import LINK, Op, Status
from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.errors import ErrorSlot, is_error, status_of
from cdma.hdl.engine.common.records import OFFSET_BITS, ErrorReport, Stripe, Tag
from cdma.hdl.engine.job import Job
from cdma.hdl.engine.prefetch.entries import Entry


class Task(data.StructLayout):
    """A stripe to be prefetched.

    Members
    -------
    address, bytes : in device memory
    tag : its number, and its offset in the stream
    size : bytes in the stream
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


class TaskMaker(wiring.Component):
    """Join each stripe with its entry of the index, and check that the entry is possible.

    A raw stripe has its bytes of memory; a coded one at least its masks, at most masks and words,
    and whole words. The sum must not exceed the job's limit, and must reach it with the last
    stripe. Copies have no index: their stripes are raw. After an error no task follows.

    Throughput one task a cycle; stripes and entries pass combinationally.

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
    ended : Out, no more tasks
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
                "ended": Out(1, init=1),
                "count": Out(32),
                "raw_stripes": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        stripe, entry, task, job = self.i.payload, self.i_entry.payload, self.o.payload, self.job
        is_copy, is_good, total = Signal(), Signal(), Signal(OFFSET_BITS)
        has_both, moves = Signal(), Signal()
        m.d.comb += [
            is_copy.eq(job.op == Op.COPY_IN),
            has_both.eq(~self.ended & self.i.valid & (is_copy | self.i_entry.valid)),
            is_good.eq(is_copy | (self._is_possible(m) & (total <= job.limit))),
            task.address.eq(stripe.address),
            task.bytes.eq(stripe.bytes),
            task.tag.number.eq(stripe.number),
            task.tag.offset.eq(self.end),
            task.size.eq(Mux(is_copy, stripe.bytes, entry.bytes)),
            task.raw.eq(is_copy | entry.raw),
            task.has_crc.eq(~is_copy & job.crc & entry.has_crc),
            task.crc.eq(entry.crc),
            total.eq(self.end + task.size),
            self.o.valid.eq(has_both & is_good),
            moves.eq(has_both & (self.o.ready | ~is_good)),
            self.i.ready.eq(moves | self.ended),
            self.i_entry.ready.eq(moves & ~is_copy),
        ]
        with m.If(self.start):
            m.d.sync += [self.end.eq(0), self.ended.eq(0), self.count.eq(0), self.raw_stripes.eq(0)]
        with m.Else():
            with m.If(moves & is_good):
                m.d.sync += [self.end.eq(total), self.count.eq(self.count + 1)]
                with m.If(~is_copy & entry.raw):
                    m.d.sync += self.raw_stripes.eq(self.raw_stripes + 1)
            with m.If((moves & (~is_good | self.i_last)) | (self.stop & (moves | ~self.o.valid))):
                m.d.sync += self.ended.eq(1)
        self._report(m, moves, is_good, is_copy, total)
        return m

    def _is_possible(self, m):
        """The entry can be that of the stripe."""
        config, stripe, entry = self.config, self.i.payload, self.i_entry.payload
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

    def _report(self, m, moves, is_good, is_copy, total):
        """Report a bad entry, a failed read of it, or a sum below the limit."""
        stripe, entry = self.i.payload, self.i_entry.payload
        m.submodules.slot = slot = ErrorSlot()
        wiring.connect(m, slot.o, wiring.flipped(self.o_error))
        report = slot.report
        is_short = is_good & self.i_last & (total != self.job.limit)
        m.d.comb += [
            slot.valid.eq(moves & ~is_copy & (~is_good | is_short)),
            report.channel.eq(LINK),
            report.status.eq(Status.INDEX),
            report.tag.number.eq(stripe.number + is_good),
            report.tag.offset.eq(Mux(is_good, total, self.end)),
            report.where.eq(Mux(is_good, total, self.end)),
        ]
        with m.If(is_error(entry.resp)):
            m.d.comb += [
                report.status.eq(status_of(entry.resp, Status.HOST_SLVERR)),
                report.where.eq(entry.where),
            ]
