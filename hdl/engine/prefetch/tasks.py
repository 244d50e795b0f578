"""Stripes joined with their index entries."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Op, Status
from cdma.engine_config import INDEX_BYTES, EngineConfig
from cdma.hdl.engine.common.errors import is_error, status_of
from cdma.hdl.engine.common.records import NUMBER_BITS, OFFSET_BITS, Stripe
from cdma.hdl.engine.job import Job
from cdma.hdl.engine.prefetch.entries import Entry
from cdma.hdl.engine.prefetch.rows import padded, size_bits
from cdma.hdl.lib.adder import sum_later
from cdma.hdl.lib.parts import advance_in_parts, is_below_next
from cdma.zvcplus import RAW_BITS, ZERO_BITS

#: Parts of the wide sums, and cycles until all of their carries have passed.
_PARTS = 5
_SETTLE = _PARTS
_ENTRY_BITS = INDEX_BYTES.bit_length() - 1


class Task(data.StructLayout):
    """A stripe to be prefetched, or the end of a job.

    Members
    -------
    end : the job has no further stripe; of all else only ``number`` and ``offset`` count
    address, bytes : in device memory
    number, offset : of the stripe in its job, and in the stream; of an end those that would follow
    size : bytes in the stream, without padding
    raw : it is not compressed
    has_crc, crc : CRC-32 of its bytes in the stream
    """

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "end": unsigned(1),
                "address": unsigned(config.address_bits),
                "bytes": unsigned(config.stripe_bytes.bit_length()),
                "number": unsigned(NUMBER_BITS),
                "offset": unsigned(OFFSET_BITS),
                "size": unsigned(size_bits(config)),
                "raw": unsigned(1),
                "has_crc": unsigned(1),
                "crc": unsigned(32),
            }
        )


class Failure(data.StructLayout):
    """Why a job has no further task: ``status``, and ``where``, an address or offset."""

    def __init__(self, config: EngineConfig):
        where = max(config.address_bits, OFFSET_BITS)
        super().__init__({"status": unsigned(8), "where": unsigned(where)})


class TaskMaker(wiring.Component):
    """Join each stripe with its entry of the index, and check that the entry is possible.

    A raw stripe has its bytes of memory; a coded one what its codec can give: of zero-value
    compression at least its masks, at most masks and words, and whole words. The sum must not
    exceed the job's limit, and must reach it with the last stripe. Copies have no index: their
    stripes are raw. After the job's last stripe, or its first bad one, an end follows instead of a
    task, and then the failure, if there is one.

    A task is valid three cycles after stripe and entry, five for a partial stripe: bounds and sums
    are compared in parts. Stripe and entry stay until it is taken. With a stripe two cycles after
    another, that is a task in five cycles. The end follows six cycles after the last task, and a
    failure at once or, when its address is computed, seven cycles later. ``o`` comes from registers
    and from the stripe and entry that are offered.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    start : In, a new job begins
    job : In, :class:`~cdma.hdl.engine.job.Job`, stays until ``idle``
    stop : In, give no more tasks
    i : In stream of :class:`~cdma.hdl.engine.common.records.Stripe`
    i_last : In, the stripe is the job's last
    i_entry : In stream of :class:`~cdma.hdl.engine.prefetch.entries.Entry`
    o : Out stream of :class:`Task`
    o_failure : Out stream of :class:`Failure`
    ended : Out, no more tasks
    idle : Out, the end and the failure were taken
    failing : Out, a failure comes, or waits to be taken
    end : Out, bytes of the stream that tasks cover, valid with an end
    count, raw_stripes : Out, tasks given, and those that are raw, valid with an end
    """

    def __init__(self, config: EngineConfig):
        self.config = config
        # It also holds the number of an entry in memory, for its address.
        end_bits = max(OFFSET_BITS, config.address_bits - _ENTRY_BITS)
        super().__init__(
            {
                "start": In(1),
                "job": In(Job(config.address_bits)),
                "stop": In(1),
                "i": In(stream.Signature(Stripe(config))),
                "i_last": In(1),
                "i_entry": In(stream.Signature(Entry())),
                "o": Out(stream.Signature(Task(config))),
                "o_failure": Out(stream.Signature(Failure(config))),
                "ended": Out(1, init=1),
                "idle": Out(1),
                "failing": Out(1),
                "end": Out(end_bits),
                "count": Out(NUMBER_BITS),
                "raw_stripes": Out(32),
            }
        )

    def elaborate(self, platform):
        m = Module()
        stripe, entry, task = self.i.payload, self.i_entry.payload, self.o.payload
        is_copy, has_both, moves = Signal(), Signal(), Signal()
        size, whole = Signal.like(task.size), Signal.like(task.size)
        steps, is_due = Signal(5), Signal()  # cycles since stripe and entry are there
        m.d.comb += [
            is_copy.eq(self.job.op == Op.COPY_IN),
            has_both.eq(self.i.valid & (is_copy | self.i_entry.valid) & ~self.ended),
            size.eq(Mux(is_copy, stripe.bytes, entry.bytes)),
            whole.eq(padded(self.config, size)),
            # Stripe and entry stay until the task is taken: what offers them is not asked again.
            is_due.eq(steps[2] & (steps[4] | self._is_whole(stripe)) & ~self.ended),
            self.i.ready.eq(moves | self.ended),
            self.i_entry.ready.eq(moves & ~is_copy),
        ]
        m.d.sync += steps.eq(Mux(moves | ~has_both, 0, Cat(Const(1, 1), steps)))
        is_good, is_short = self._check(m, is_copy, size, whole)
        ends, counts = Signal(), Signal()
        m.d.comb += [
            counts.eq(is_due & is_good & self.o.ready),
            moves.eq(is_due & (self.o.ready | ~is_good)),
            self.o.valid.eq((is_due & is_good) | ends),
            task.end.eq(ends),
            task.address.eq(stripe.address),
            task.bytes.eq(stripe.bytes),
            task.number.eq(self.count),
            task.offset.eq(self.end),
            task.size.eq(size),
            task.raw.eq(is_copy | entry.raw),
            task.has_crc.eq(~is_copy & self.job.crc & entry.has_crc),
            task.crc.eq(entry.crc),
        ]
        with m.If(self.start):
            m.d.sync += self.ended.eq(0)
        with m.Elif((moves & (~is_good | self.i_last)) | (self.stop & (moves | ~self.o.valid))):
            m.d.sync += self.ended.eq(1)
        fails = moves & ~is_copy & (~is_good | (self.i_last & is_short))
        # The same as long as the task is due: an entry is chosen from its beat, which takes time.
        kept = Signal.like(whole, name="kept")
        m.d.sync += kept.eq(whole)
        self._count(m, counts, kept, task.raw & ~is_copy, fails, ends)
        return m

    def _is_whole(self, stripe):
        """A stripe has no more bytes than a whole one, which is a power of two."""
        return stripe.bytes[-1]

    def _check(self, m, is_copy, size, whole):
        """Compare the entry with its stripe, and the sum with the limit.

        Gives whether the entry is good, and whether the stream would be longer behind its stripe:
        three cycles later, five of a partial stripe.
        """
        config, stripe, entry = self.config, self.i.payload, self.i_entry.payload
        width = len(size)
        self._left = left = Signal.like(self.job.limit, name="left")  # bytes up to the limit
        least, most = self._bounds(m)
        is_clean, is_far, is_same, is_end = (
            Signal(name=f"is_{name}") for name in ("clean", "far", "same", "end")
        )
        is_good, is_short = Signal(), Signal()
        is_word = ~entry.bytes[: config.word_bytes.bit_length() - 1].any()
        if config.is_plus:
            is_word = Const(1, 1)
        m.d.sync += [
            is_clean.eq((entry.reserved == 0) & ~is_error(entry.resp) & ~entry.bytes[width:].any()),
            is_same.eq(entry.bytes[:width] == stripe.bytes),
            # A carry that is still on its way in the upper bits changes nothing here: where a
            # stripe fits or ends the stream, there is none.
            is_far.eq(left[width:].any()),
            is_end.eq(left[:width] == whole),
        ]
        is_less = is_below_next(m, size, least, "is_less", parts=2)
        is_more = is_below_next(m, most, size, "is_more", parts=2)
        exceeds = is_below_next(m, left[:width], whole, "exceeds", parts=2)
        is_possible = Mux(entry.raw, is_same, is_word & ~is_less & ~is_more)
        m.d.sync += [
            is_good.eq(is_copy | (is_clean & is_possible & (is_far | ~exceeds))),
            is_short.eq(is_far | ~is_end),
        ]
        return is_good, is_short

    def _bounds(self, m):
        """Fewest and most bytes of a coded stripe; those of a partial one three cycles later."""
        config, stripe = self.config, self.i.payload
        low, width = config.block_bytes.bit_length() - 1, len(self.o.payload.size)
        blocks = Signal(range(config.stripe_bytes // config.block_bytes + 1))
        least, most = Signal(width), Signal(width)
        whole = config.stripe_bytes // config.block_bytes
        m.d.sync += blocks.eq((stripe.bytes >> low) + stripe.bytes[:low].any())
        if config.is_plus:
            m.d.sync += [
                least.eq((blocks * ZERO_BITS + 7) >> 3),
                most.eq((blocks * RAW_BITS + 7) >> 3),
            ]
            bounds = ((whole * ZERO_BITS + 7) >> 3, (whole * RAW_BITS + 7) >> 3)
        else:
            masks = blocks * config.format.mask_bytes
            m.d.sync += least.eq(masks)
            m.d.comb += most.eq(sum_later(m, masks, stripe.bytes, width, "most"))
            bounds = (whole * config.format.mask_bytes,)
            bounds += (bounds[0] + config.stripe_bytes,)
        is_whole = self._is_whole(stripe)
        return Mux(is_whole, bounds[0], least), Mux(is_whole, bounds[1], most)

    def _count(self, m, counts, whole, is_raw, fails, ends):
        """Count tasks and bytes; give the end of the job, and its failure."""
        config, failure = self.config, self.o_failure.payload
        adds, has_failed, is_read = Signal(), Signal(), Signal()
        wait = Signal(range(_SETTLE + 1))
        step = Mux(adds, self.count, Mux(counts, whole, 0))
        carries = [
            advance_in_parts(m, self.end, step, "end", parts=_PARTS),
            advance_in_parts(m, self._left, Mux(counts, whole, 0), "left", parts=_PARTS, down=True),
            advance_in_parts(m, self.count, counts, "count", parts=_PARTS),
            advance_in_parts(m, self.raw_stripes, counts & is_raw, "raw_stripes", parts=_PARTS),
        ]
        with m.If(fails):
            resp = self.i_entry.payload.resp
            m.d.sync += [
                has_failed.eq(1),
                is_read.eq(is_error(resp)),
                failure.status.eq(
                    Mux(is_error(resp), status_of(resp, Status.HOST_SLVERR), Status.INDEX)
                ),
            ]
        # Of an entry that cannot be read the address of its beat, of all else the offset.
        beat = (self.end << _ENTRY_BITS) & -config.link_bytes
        m.d.comb += [
            failure.where.eq(Mux(is_read, beat, self.end)),
            self.failing.eq(has_failed & ~self.idle),
        ]
        with m.If(wait != 0):
            m.d.sync += wait.eq(wait - 1)
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += self.idle.eq(1)
                with m.If(self.start):
                    m.d.sync += [
                        *(value.eq(0) for value in (self.end, self.count, self.raw_stripes)),
                        self._left.eq(self.job.limit),
                        *(carry.eq(0) for carry in carries),
                        has_failed.eq(0),
                        is_read.eq(0),
                    ]
                    m.next = "TASKS"
            with m.State("TASKS"), m.If(self.ended):
                m.d.sync += wait.eq(_SETTLE - 2)
                m.next = "SETTLE"
            with m.State("SETTLE"), m.If(wait == 0):
                m.next = "END"
            with m.State("END"):
                m.d.comb += ends.eq(1)
                with m.If(self.o.ready):
                    m.next = "IDLE"
                    with m.If(has_failed):
                        m.next = "FAILURE"
                    with m.If(is_read):
                        m.next = "PLACE"
            with m.State("PLACE"):
                m.d.sync += [self.end.eq(self.job.index_address >> _ENTRY_BITS), carries[0].eq(0)]
                m.next = "ADD"
            with m.State("ADD"):
                m.d.comb += adds.eq(1)
                m.d.sync += wait.eq(_SETTLE - 1)
                m.next = "SUM"
            with m.State("SUM"), m.If(wait == 0):
                m.next = "FAILURE"
            with m.State("FAILURE"):
                m.d.comb += self.o_failure.valid.eq(1)
                with m.If(self.o_failure.ready):
                    m.next = "IDLE"
