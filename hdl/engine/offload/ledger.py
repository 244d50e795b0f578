"""Accounts of a stream on its way out: offsets, the limit, index entries, errors."""

from amaranth.hdl import Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import LINK, Op, Status
from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.errors import ErrorSlot
from cdma.hdl.engine.common.records import (
    JOB_BITS,
    NUMBER_BITS,
    OFFSET_BITS,
    ErrorReport,
    Row,
    Tag,
)
from cdma.hdl.engine.common.words import Words
from cdma.hdl.engine.job import Job
from cdma.hdl.engine.offload.gather import GatheredRow
from cdma.hdl.lib.adder import advance_in_two
from cdma.hdl.lib.signals import select

SIZE_BITS = 24  # of a stripe's bytes in the index
_LOW = 16  # bits of a sum that are added at once, more than those of a row's words


class IndexEntry(data.StructLayout):
    """``bytes`` and ``raw`` of a stripe, and its ``tag``; the CRC comes by itself."""

    def __init__(self):
        super().__init__({"bytes": unsigned(SIZE_BITS), "raw": unsigned(1), "tag": Tag()})


class Ledger(wiring.Component):
    """Keep the accounts of a job's stream.

    Rows pass on to the packer as far as the job's limit goes; MEASURE lets none pass. Throughput
    one row a cycle; rows pass combinationally, each when all of its receivers are ready. Only the
    CRC is given its row as soon as it comes, because it may take some cycles.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    start : In, a new job begins
    job, number : In, :class:`~cdma.hdl.engine.job.Job` and its number
    where : In, address of each channel's first error, array
    i : In stream of :class:`~cdma.hdl.engine.offload.gather.GatheredRow`
    o : Out stream of :class:`~cdma.hdl.engine.common.words.Words`
    o_start : Out stream of :class:`~cdma.hdl.engine.common.records.Tag`, one for each stripe that
        begins within the limit
    o_crc : Out stream of :class:`~cdma.hdl.engine.common.records.Row`, when the job wants CRCs
    o_entry : Out stream of :class:`IndexEntry`, when the job wants an index
    o_error : Out stream of :class:`~cdma.hdl.engine.common.records.ErrorReport`
    known, exceeds : Out, of a stripe that ended: see ``RawDecision``
    offset : Out, bytes of the stream so far, without regard to the limit
    stripes, raw_stripes : Out, stripes that have ended, and those that were raw
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "start": In(1),
                "job": In(Job(config.address_bits)),
                "number": In(JOB_BITS),
                "where": In(config.address_bits).array(config.channels),
                "i": In(stream.Signature(GatheredRow(config))),
                "o": Out(stream.Signature(Words(config.word_bits, config.lanes))),
                "o_start": Out(stream.Signature(Tag())),
                "o_crc": Out(stream.Signature(Row(config))),
                "o_entry": Out(stream.Signature(IndexEntry())),
                "o_error": Out(stream.Signature(ErrorReport())),
                "known": Out(1),
                "exceeds": Out(1),
                "offset": Out(OFFSET_BITS),
                "stripes": Out(NUMBER_BITS),
                "raw_stripes": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        shift = self.config.word_bytes.bit_length() - 1
        row, status = self.i.payload.row, self.i.payload.status
        number, offset = self.stripes, Signal(OFFSET_BITS - shift)
        room = Signal(len(self.job.limit) - shift)  # words that may still be written
        # Room for less than four rows, at the latest when it is less than three: the comparison of
        # a row with its room then needs the low bits only.
        is_near, low = Signal(), (4 * self.config.lanes).bit_length() - 1
        is_first, cut = Signal(init=1), Signal()
        # Bytes of the stripe, this row included. Masks have no more bits than words have.
        size = Signal(self.config.stripe_bytes.bit_length() + 1)
        before = Signal.like(size)
        nbytes = row.count << shift
        if self.config.has_padding:
            nbytes = nbytes - row.missing
        tag, first_tag = Signal(Tag()), Signal(Tag())
        wants_start, wants_entry, moves = Signal(), Signal(), Signal()
        has_crc = Signal()  # the CRC has taken the row
        settles = Signal()  # a carry is on its way in the sums that tags are made of
        m.d.comb += [
            cut.eq(is_near & (room[:low] < row.count)),
            size.eq(before + nbytes),
            self.offset.eq(offset << shift),
            first_tag.job.eq(self.number),
            first_tag.number.eq(number),
            first_tag.offset.eq(self.offset),
            wants_start.eq(is_first & (~is_near | room[:low].any())),
            wants_entry.eq(row.last & self.job.index),
            moves.eq(
                self.i.valid
                & self.o.ready
                & ~settles
                & (~wants_start | self.o_start.ready)
                & (~self.job.crc | has_crc | self.o_crc.ready)
                & (~wants_entry | self.o_entry.ready)
            ),
            self.i.ready.eq(moves),
            self.o.valid.eq(moves),
            self.o.payload.count.eq(Mux(cut, room, row.count)),
            self.o_start.valid.eq(moves & wants_start),
            self.o_start.payload.eq(first_tag),
            self.o_crc.valid.eq(self.i.valid & self.job.crc & ~has_crc),
            self.o_crc.payload.eq(row),
            self.o_entry.valid.eq(moves & wants_entry),
            self.o_entry.payload.bytes.eq(size),
            self.o_entry.payload.raw.eq(status.raw),
            self.o_entry.payload.tag.eq(Mux(is_first, first_tag, tag)),
            self.known.eq(moves & row.last),
            self.exceeds.eq(status.exceeds),
        ]
        for k in range(self.config.lanes):
            is_cut = is_near & (room[:low] <= k)
            m.d.comb += self.o.payload.words[k].eq(Mux(is_cut, 0, row.words[k]))
        m.d.sync += has_crc.eq(~moves & (has_crc | (self.o_crc.valid & self.o_crc.ready)))
        most, is_measure = self.job.limit >> shift, self.job.op == Op.MEASURE
        # Carries within these sums follow a cycle later. When room is near, there is none.
        ends, given = moves & row.last, Mux(moves, row.count, 0)
        carries = [
            advance_in_two(m, offset, given, _LOW, "offset"),
            advance_in_two(m, number, ends, _LOW, "number"),
            advance_in_two(m, self.raw_stripes, ends & status.raw, _LOW, "raw_stripes"),
            advance_in_two(m, room, given, _LOW, "room", down=True),
        ]
        m.d.comb += settles.eq(carries[0] | carries[1])
        with m.If(moves):
            m.d.sync += [
                is_first.eq(row.last),
                before.eq(Mux(row.last, 0, size)),
                is_near.eq(~room[low:].any()),
            ]
            with m.If(cut):
                m.d.sync += [room.eq(0), carries[3].eq(0)]
            with m.If(is_first):
                m.d.sync += tag.eq(first_tag)
        with m.If(self.start):
            m.d.sync += [
                number.eq(0),
                offset.eq(0),
                self.raw_stripes.eq(0),
                is_first.eq(1),
                room.eq(Mux(is_measure, 0, most)),
                is_near.eq(is_measure | ~most[low:].any()),
                *(carry.eq(0) for carry in carries),
            ]
        self._report(m, moves, cut, Mux(is_first, first_tag, tag))
        return m

    def _report(self, m, moves, cut, tag):
        """Report a stripe's bus error when it ends, and the first that does not fit."""
        row, status = self.i.payload.row, self.i.payload.status
        m.submodules.slot = slot = ErrorSlot()
        wiring.connect(m, slot.o, wiring.flipped(self.o_error))
        overflows, overflowed = Signal(), Signal()
        m.d.comb += overflows.eq(overflowed | (cut & (self.job.op != Op.MEASURE)))
        channel = self.i.payload.channel
        with m.If(status.error != 0):
            m.d.comb += [
                slot.report.status.eq(status.error),
                slot.report.where.eq(select(m, channel, list(self.where), "where")),
                slot.report.channel.eq(channel),
            ]
        with m.Else():
            m.d.comb += [
                slot.report.status.eq(Status.OVERFLOW),
                slot.report.where.eq(self.job.limit),
                slot.report.channel.eq(LINK),
            ]
        m.d.comb += [
            slot.report.tag.eq(tag),
            slot.report.halts.eq(status.error != 0),
            slot.valid.eq(moves & row.last & ((status.error != 0) | overflows)),
        ]
        with m.If(self.start):
            m.d.sync += overflowed.eq(0)
        with m.Elif(moves):
            m.d.sync += overflowed.eq(overflows)
