"""No task reaches beyond the limit of its stream, whatever the index says."""

from dataclasses import replace

from amaranth.hdl import Assert, Assume, Const, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.engine_codes import Op, Status
from cdma.engine_config import INDEX_BYTES
from cdma.hdl.axi.full import Response
from cdma.hdl.engine.prefetch.tasks import TaskMaker
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer, take
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults

_PARTS = 5  # of the sums
_ENTRY_BITS = INDEX_BYTES.bit_length() - 1
_STATES = ("IDLE", "TASKS", "SETTLE", "END", "FAILURE", "PLACE", "ADD", "SUM")


class ChecksIndex(Elaboratable):
    """Tasks are the stripes with their entries, in order, up to the first entry that is bad.

    An entry is bad when it was read with an error, when its stripe cannot have that size, or when
    the sum of the sizes is beyond the job's limit. Stripes and entries come at any time and say
    anything; a stripe follows another by two cycles, but for those that come when the tasks have
    ended: these are dropped, at any rate. The model sums up sizes in one step. A job starts when
    the last one is idle, perhaps while a stripe is dropped.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = elaborated(self.dut, platform)
        self._environment(m)
        self._model(m)
        self._tasks(m)
        self._end(m)
        self._sums(m)
        return m

    def _environment(self, m):
        """A job with any limit, stripes and entries."""
        dut = self.dut
        job, fresh = Signal(dut.job.shape(), name="held"), Signal(dut.job.shape(), name="fresh")
        self.stripes = offer(m, dut.i, "i")
        self.entries = offer(m, dut.i_entry, "entry")
        self.takes, was_stalled = Signal(name="takes"), Signal()
        self.collects = take(m, dut.o_failure, "failure")
        stripe, last, was_last = dut.i.payload, Signal(), Signal()
        just_taken, stalls = Signal(), Signal()
        m.d.comb += [
            Value.cast(fresh).eq(anything(m, len(Value.cast(fresh)), "any_job")),
            dut.start.eq(anything(m, 1, "starts") & dut.idle),
            Value.cast(dut.job).eq(Mux(dut.start, Value.cast(fresh), Value.cast(job))),
            dut.stop.eq(anything(m, 1, "stop")),
            last.eq(anything(m, 1, "last")),
            dut.i_last.eq(last),
            # What is offered stays: its payload is that of the model, but for the CRC of a copy.
            dut.o.ready.eq(anything(m, 1, "o_ready")),
            self.takes.eq(dut.o.valid & dut.o.ready),
            Assert(~was_stalled | dut.o.valid),
            Assume((stripe.bytes != 0) & (stripe.bytes <= dut.config.stripe_bytes)),
            Assume(~just_taken | ~dut.i.valid | dut.ended),
            Assume(~stalls | (last == was_last)),
        ]
        m.d.sync += [
            was_last.eq(last),
            stalls.eq(dut.i.valid & ~dut.i.ready),
            just_taken.eq(self.stripes),
            was_stalled.eq(dut.o.valid & ~dut.o.ready),
        ]
        with m.If(dut.start):
            m.d.sync += Value.cast(job).eq(Value.cast(fresh))
        self.is_copy = dut.job.op == Op.COPY_IN

    def _is_possible(self):
        """A stripe can have the size that its entry says, as the format has it."""
        config, stripe, entry = self.dut.config, self.dut.i.payload, self.dut.i_entry.payload
        coded, masks = Const(0), 0  # bytes of the masks: those of each block that it reaches
        for first in range(0, config.stripe_bytes, config.block_bytes):
            if config.is_plus:
                words = (first + config.block_bytes) // config.word_bytes
                least, most = config.format.least_bytes(words), config.format.most_bytes(words)
            else:
                masks += config.format.mask_bytes
                least, most = masks, masks + stripe.bytes
            fits = (entry.bytes >= least) & (entry.bytes <= most)
            coded = Mux(stripe.bytes > first, fits, coded)
        if not config.is_plus:
            coded = coded & (entry.bytes % config.word_bytes == 0)
        is_read = (entry.resp != Response.SLVERR) & (entry.resp != Response.DECERR)
        size_fits = Mux(entry.raw, entry.bytes == stripe.bytes, coded)
        return self.is_copy | (is_read & (entry.reserved == 0) & size_fits)

    def _model(self, m):
        """What the tasks so far cover, and whether the job gives more of them."""
        dut = self.dut
        task, stripe, entry, limit = (
            dut.o.payload,
            dut.i.payload,
            dut.i_entry.payload,
            dut.job.limit,
        )
        self.size = Mux(self.is_copy, stripe.bytes, entry.bytes)
        # In the stream it takes whole words.
        word = dut.config.word_bytes if dut.config.has_padding else 1
        space = Signal(len(entry.bytes) + 1, name="space")
        self.is_over = Signal(init=1)
        self.total = Signal(len(task.offset), name="total")
        self.number, self.raws = Signal(32, name="tasks"), Signal(32, name="raws")
        self.has_failed, self.resp = Signal(name="has_failed"), Signal(2, name="resp")
        self.gives, fails, is_good = Signal(name="gives"), Signal(), Signal()
        just_gave = Signal(name="just_gave")
        m.d.sync += just_gave.eq(self.gives)
        rest = Signal(len(limit), name="rest")  # bytes up to the limit
        m.d.comb += [
            rest.eq(limit - self.total),
            space.eq((self.size + (word - 1)) // word * word),
            is_good.eq(self.is_copy | (self._is_possible() & (space <= rest))),
            self.gives.eq(self.takes & ~task.end),
            # A stripe that is taken without a task, of a job that goes on, was bad.
            fails.eq(self.stripes & ~self.is_over & ~self.gives),
            Assert(self.is_copy | ~fails | ~is_good),
            Assert(~self.is_copy | ~fails),
            Assert(self.entries == ((self.gives | fails) & ~self.is_copy)),
            Assert(~self.gives | self.stripes),
            Assert(dut.ended == self.is_over),
            # A channel relies on it: no two tasks in a row.
            Assert(~just_gave | ~dut.o.valid | task.end),
            # Never more than the limit.
            Assert(dut.idle | self.is_copy | (self.total <= limit)),
        ]
        self.is_good = is_good
        is_short = dut.i_last & (space != rest)
        moves = self.gives | fails
        with m.If(dut.start):
            m.d.sync += [self.is_over.eq(0), self.has_failed.eq(0)]
            m.d.sync += [value.eq(0) for value in (self.total, self.number, self.raws)]
        with m.Else():
            with m.If(self.gives):
                m.d.sync += [
                    self.total.eq(self.total + space),
                    self.number.eq(self.number + 1),
                    self.raws.eq(self.raws + (task.raw & ~self.is_copy)),
                ]
            with m.If(fails | (self.gives & dut.i_last)):
                m.d.sync += self.is_over.eq(1)
            # A stop does not withdraw the task that is offered.
            with m.Elif(dut.stop & (moves | ~dut.o.valid)):
                m.d.sync += self.is_over.eq(1)
            with m.If((fails | (self.gives & is_short)) & ~self.is_copy):
                m.d.sync += [self.has_failed.eq(1), self.resp.eq(entry.resp)]
        m.d.comb += [
            Cover(self.gives & dut.i_last & (self.number == 1)),
            Cover(fails & self._is_possible()),
            *([Cover(self.gives & (space != self.size))] if word > 1 else []),
        ]

    def _tasks(self, m):
        """A task is the stripe that is offered, and its entry: a good one."""
        dut, task = self.dut, self.dut.o.payload
        stripe, entry = dut.i.payload, dut.i_entry.payload
        with m.If(dut.o.valid & ~task.end):
            m.d.comb += [
                Assert(dut.i.valid & (self.is_copy | dut.i_entry.valid) & ~self.is_over),
                Assert(self.is_good),
                Assert(task.offset == self.total),
                Assert(task.number == self.number),
                Assert(task.address == stripe.address),
                Assert(task.bytes == stripe.bytes),
                Assert(task.size == self.size),
                Assert(task.raw == (self.is_copy | entry.raw)),
                Assert(task.has_crc == (~self.is_copy & dut.job.crc & entry.has_crc)),
                Assert(~task.has_crc | (task.crc == entry.crc)),
            ]

    def _end(self, m):
        """One end of each job, with all sums, and then the failure, if there was one."""
        dut, task, failure = self.dut, self.dut.o.payload, self.dut.o_failure.payload
        config = dut.config
        is_ended = self.is_ended = Signal(init=1, name="is_ended")  # the end was taken
        is_told = self.is_told = Signal(init=1, name="is_told")  # the failure, too
        ends = self.takes & task.end
        with m.If(dut.start):
            m.d.sync += [is_ended.eq(0), is_told.eq(0)]
        with m.Elif(ends):
            m.d.sync += [is_ended.eq(1), is_told.eq(~self.has_failed)]
        with m.Elif(self.collects):
            m.d.sync += is_told.eq(1)
        total, wide = self.total, len(self.total)
        m.d.comb += [
            Assert(dut.idle == is_told),
            Assert(is_ended | ~is_told),
            Assert(self.is_over | ~is_ended),
            Assert(self.has_failed | ~is_ended | is_told),
            Assert(dut.failing == (self.has_failed & ~is_told)),
            Cover(ends & (self.number == 2) & self.has_failed),
        ]
        with m.If(dut.o.valid & task.end):
            m.d.comb += [
                Assert(self.is_over & ~is_ended),
                Assert(dut.end == total),
                Assert(task.offset == total),
                Assert(dut.count == self.number),
                Assert(task.number == self.number),
                Assert(dut.raw_stripes == self.raws),
            ]
        bus = Mux(self.resp == Response.DECERR, Status.HOST_DECERR, Status.HOST_SLVERR)
        self.is_read = (self.resp == Response.SLVERR) | (self.resp == Response.DECERR)
        self.status = Mux(self.is_read, bus, Status.INDEX)
        beat, whole = Signal(wide, name="beat"), -config.link_bytes & ((1 << wide) - 1)
        entry = (dut.job.index_address >> _ENTRY_BITS) + self.number  # of the index, that is bad
        m.d.comb += beat.eq((entry << _ENTRY_BITS) & whole)
        with m.If(dut.o_failure.valid):
            m.d.comb += [
                Assert(is_ended & ~is_told & self.has_failed),
                Assert(failure.status == self.status),
                Assert(failure.where == Mux(self.is_read, beat, total)),
                Cover(self.is_read & (self.number == 1)),
            ]

    def _sums(self, m):
        """Sums, and carries that are on their way in them, are those of the model together."""
        dut = self.dut
        whole = [
            ("end", dut.end, self._reached(m)),
            ("left", probe(m, "dut.left", len(dut.job.limit)), dut.job.limit - self.total),
            ("count", dut.count, self.number),
            ("raw_stripes", dut.raw_stripes, self.raws),
        ]
        for name, value, model in whole:
            bits = -(-len(value) // _PARTS)
            places = range(bits, len(value), bits)
            carries = probe(m, f"dut.{name}_carries", len(places))
            found, wanted = (
                Signal(len(value), name=f"{name}_{kind}") for kind in ("found", "wanted")
            )
            rest = sum((carries[k] << low for k, low in enumerate(places)), Const(0))
            sign = -1 if name == "left" else 1
            m.d.comb += [found.eq(value + sign * rest), wanted.eq(model)]
            with m.If(~dut.start):
                m.d.comb += Assert(dut.idle | (found == wanted))

    def _reached(self, m):
        """What ``end`` counts: the stream's bytes, and of a failure to read the entry's number."""
        dut, state = self.dut, probe(m, "dut.fsm_state", 3)
        at_end = state == _STATES.index("END")
        at_place, at_add = (state == _STATES.index(name) for name in ("PLACE", "ADD"))
        is_later = (state == _STATES.index("SUM")) | (state == _STATES.index("FAILURE"))
        is_read = probe(m, "dut.is_read", 1)
        first = dut.job.index_address >> _ENTRY_BITS
        m.d.comb += [
            Assert(self.is_told == (state == _STATES.index("IDLE"))),
            Assert((self.is_ended & ~self.is_told) == (at_place | at_add | is_later)),
            Assert(self.is_over | ~(at_end | (state == _STATES.index("SETTLE")))),
            Assert(self.is_told | (probe(m, "dut.has_failed", 1) == self.has_failed)),
            Assert(is_read | ~(at_place | at_add)),
            Assert(is_read | (state != _STATES.index("SUM"))),
        ]
        with m.If(self.has_failed & ~self.is_told):
            m.d.comb += [
                Assert(is_read == self.is_read),
                Assert(dut.o_failure.payload.status == self.status),
            ]
        with m.If(~self.has_failed & ~self.is_told):
            m.d.comb += Assert(~is_read)
        return Mux(at_add, first, Mux(is_later & is_read, first + self.number, self.total))


def sized(word_bits: int):
    """A small engine with such words and addresses that sums have a carry."""
    return replace(
        small(),
        word_bits=word_bits,
        block_words=word_bits,
        address_bits=28,
        stripe_bytes=64,
        stage_bytes=32,
    )


def sized_plus():
    """A small engine with ZVC+: stripes of two blocks, streams that end inside a word."""
    return replace(
        sized(16), codec="zvcplus", type="bf16", block_words=64, stripe_bytes=256, stage_bytes=512
    )


SIZES = {f"stripes of 64 bytes, {bits} bits": sized(bits) for bits in (8, 16)}
SIZES["stripes of 256 bytes, 16 bits, ZVC+"] = sized_plus()

PROOFS = (
    Proof(
        name="task_maker",
        promise="Tasks are the stripes with their entries up to the first bad one; none reaches "
        "beyond the limit of its stream",
        components=(TaskMaker,),
        design=lambda config: ChecksIndex(TaskMaker(config)),
        sizes=SIZES,
        slow=tuple(SIZES),
        depth=8,
        broken=(
            *faults(
                sized(8),
                16,
                stuck_at(1, "dut.is_good"),
                stuck_at(0, "dut.left", 0),
                late("dut.ended"),
                stuck_at(0, "dut.is_read"),
            ),
            *faults(sized_plus(), 16, stuck_at(0, "dut.whole", 1), stuck_at(1, "dut.most", 0)),
        ),
    ),
)
