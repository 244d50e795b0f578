"""No task reaches beyond the limit of its stream, whatever the index says."""

from dataclasses import replace

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.engine_codes import LINK, Op, Status
from cdma.hdl.axi.full import Response
from cdma.hdl.engine.prefetch.tasks import TaskMaker
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer, take
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults


class ChecksIndex(Elaboratable):
    """Tasks are the stripes with their entries, in order, up to the first entry that is bad.

    An entry is bad when it was read with an error, when its stripe cannot have that size, or when
    the sum of the sizes is beyond the job's limit. Stripes and entries come at any time and say
    anything. The model holds the stripe that was taken and sums up sizes in one step. A job starts
    when the last one is idle.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        m.submodules.dut = elaborated(dut, platform)
        self._environment(m)
        self._model(m)
        self._tasks(m)
        self._reports(m)
        self._invariants(m)
        return m

    def _environment(self, m):
        """A job with any limit, stripes and entries."""
        dut = self.dut
        job, fresh = Signal(dut.job.shape(), name="held"), Signal(dut.job.shape(), name="fresh")
        self.stripes = offer(m, dut.i, "i")
        self.entries = offer(m, dut.i_entry, "entry")
        self.gives = take(m, dut.o, "o")
        self.collects = take(m, dut.o_error, "error")
        size = dut.config.stripe_bytes
        last, was_last = Signal(), Signal()
        m.d.comb += [
            Value.cast(fresh).eq(anything(m, len(Value.cast(fresh)), "any_job")),
            dut.start.eq(anything(m, 1, "starts") & dut.idle & ~dut.i.valid & ~dut.o_error.valid),
            Value.cast(dut.job).eq(Mux(dut.start, Value.cast(fresh), Value.cast(job))),
            dut.stop.eq(anything(m, 1, "stop")),
            dut.i_last.eq(last),
            last.eq(anything(m, 1, "last")),
            Assume((dut.i.payload.bytes != 0) & (dut.i.payload.bytes <= size)),
        ]
        stalls = Signal()
        m.d.sync += [was_last.eq(last), stalls.eq(dut.i.valid & ~dut.i.ready)]
        m.d.comb += Assume(~stalls | (last == was_last))
        with m.If(dut.start):
            m.d.sync += Value.cast(job).eq(Value.cast(fresh))
        self.is_copy = dut.job.op == Op.COPY_IN

    def _is_possible(self):
        """A stripe can have the size that its entry says, as the format has it."""
        config, stripe, entry = self.dut.config, self.dut.i.payload, self.dut.i_entry.payload
        blocks = -(-config.stripe_bytes // config.block_bytes)
        masks = 0  # bytes of the masks: those of each block that the stripe reaches
        for block in range(blocks):
            masks += Mux(stripe.bytes > block * config.block_bytes, config.format.mask_bytes, 0)
        coded = (
            (entry.bytes >= masks)
            & (entry.bytes <= masks + stripe.bytes)
            & (entry.bytes % config.word_bytes == 0)
        )
        is_read = (entry.resp != Response.SLVERR) & (entry.resp != Response.DECERR)
        size_fits = Mux(entry.raw, entry.bytes == stripe.bytes, coded)
        return self.is_copy | (is_read & (entry.reserved == 0) & size_fits)

    def _model(self, m):
        """The stripe that waits, the sum of the tasks' sizes, and whether one was bad."""
        dut = self.dut
        task, stripe, entry = dut.o.payload, dut.i.payload, dut.i_entry.payload
        is_copy = self.is_copy
        self.waits, self.possible, self.last = Signal(), Signal(), Signal()
        self.resp, self.where = Signal(2), Signal(len(entry.where))
        self.wanted = wanted = Signal(task.shape(), name="wanted")
        self.is_over, self.total = Signal(init=1), Signal(len(dut.end), name="total")
        self.number, self.raws = Signal(32, name="tasks"), Signal(32, name="raws")
        joins = self.stripes & ~self.is_over
        m.d.comb += Assert(self.entries == (joins & ~is_copy))
        is_good = Signal()
        m.d.comb += is_good.eq(
            self.possible & (is_copy | (self.total + wanted.size <= dut.job.limit))
        )
        self.is_good = is_good
        self.fails = Signal(name="model_fails")
        m.d.comb += self.fails.eq(self.waits & ~self.is_over & ~is_good)
        moves = self.gives | self.fails
        with m.If(moves | self.is_over):
            m.d.sync += self.waits.eq(0)
        with m.If(joins):
            m.d.sync += [
                self.waits.eq(1),
                self.possible.eq(self._is_possible()),
                self.last.eq(dut.i_last),
                self.resp.eq(Mux(is_copy, 0, entry.resp)),
                self.where.eq(entry.where),
                wanted.address.eq(stripe.address),
                wanted.bytes.eq(stripe.bytes),
                wanted.tag.job.eq(stripe.job),
                wanted.tag.number.eq(stripe.number),
                wanted.tag.offset.eq(0),
                wanted.size.eq(Mux(is_copy, stripe.bytes, entry.bytes)),
                wanted.raw.eq(is_copy | entry.raw),
                wanted.has_crc.eq(~is_copy & dut.job.crc & entry.has_crc),
                wanted.crc.eq(entry.crc),
            ]
        with m.If(dut.start):
            m.d.sync += [self.is_over.eq(0), self.total.eq(0)]
            m.d.sync += [self.number.eq(0), self.raws.eq(0)]
        with m.Else():
            with m.If(self.gives):
                m.d.sync += [
                    self.total.eq(self.total + wanted.size),
                    self.number.eq(self.number + 1),
                    self.raws.eq(self.raws + (wanted.raw & ~is_copy)),
                ]
            # A stop does not withdraw the task that is offered.
            with m.If(self.fails | (self.gives & self.last)):
                m.d.sync += self.is_over.eq(1)
            with m.Elif(dut.stop & (moves | ~dut.o.valid)):
                m.d.sync += self.is_over.eq(1)
        m.d.comb += [
            Assert(dut.ended == self.is_over),
            Cover(self.gives & self.last & (self.number == 2)),
            Cover(self.fails & self.possible),
        ]

    def _tasks(self, m):
        """Nothing beyond the limit is asked for, and nothing after a bad entry."""
        dut, task = self.dut, self.dut.o.payload
        m.d.comb += Assert(dut.o.valid == (self.waits & ~self.is_over & self.is_good))
        with m.If(dut.o.valid):
            m.d.comb += [
                Assert(self.is_copy | (task.tag.offset + task.size <= dut.job.limit)),
                Assert(task.tag.offset == self.total),
                *(
                    Assert(Value.cast(task[name]) == Value.cast(self.wanted[name]))
                    for name in ("address", "bytes", "size", "raw", "has_crc", "crc")
                ),
                Assert(task.tag.job == self.wanted.tag.job),
                Assert(task.tag.number == self.wanted.tag.number),
            ]
        with m.If(~dut.settles & ~dut.start):
            m.d.comb += Assert(dut.end == self.total)

    def _reports(self, m):
        """A bad entry is reported two cycles later, and a sum that is less than the limit."""
        dut, report = self.dut, self.dut.o_error.payload
        is_short = self.gives & self.last & (self.total + self.wanted.size != dut.job.limit)
        is_read = (self.resp == Response.SLVERR) | (self.resp == Response.DECERR)
        due, waits, known = Signal(2), Signal(), Signal(report.shape(), name="expected")
        bad = ~self.is_copy & (self.fails | is_short)
        m.d.sync += due.eq((due << 1) | bad)
        status = Mux(self.resp == Response.DECERR, Status.HOST_DECERR, Status.HOST_SLVERR)
        with m.If(bad):
            m.d.sync += known.status.eq(Mux(is_read, status, Status.INDEX))
            m.d.sync += known.tag.job.eq(self.wanted.tag.job)
            m.d.sync += known.where.eq(self.where)
        with m.If(due[1]):
            m.d.sync += [
                waits.eq(1),
                known.tag.number.eq(self.number),
                known.tag.offset.eq(self.total),
            ]
            with m.If(known.status == Status.INDEX):
                m.d.sync += known.where.eq(self.total)
        with m.Elif(self.collects):
            m.d.sync += waits.eq(0)
        m.d.comb += [
            Assert(dut.o_error.valid == waits),
            Assert(due == probe(m, "dut.fails", 2)),
            # One report of a job: nothing is bad while a report is on its way.
            Assert((due == 0) | self.is_over),
            Assert(~waits | (self.is_over & (due == 0))),
            Assert(due != 3),
            Assert(~(due[1] & probe(m, "dut.counted", 1))),  # the sums are complete
            Cover(waits & (report.status == Status.INDEX) & (self.number == 2)),
        ]
        with m.If((due != 0) | waits):
            m.d.comb += [
                Assert(report.status == known.status),
                Assert(report.tag.job == known.tag.job),
                Assert(report.where == known.where),
            ]
        with m.If(waits):
            m.d.comb += [
                Assert(report.tag.number == known.tag.number),
                Assert(report.tag.offset == known.tag.offset),
                Assert(report.channel == LINK),
            ]

    def _invariants(self, m):
        """Sums whose carry is on its way are those of the model, less or more the carry."""
        dut, low = self.dut, 24
        names = ("end", "left", "count", "raw_stripes")
        carry = {name: probe(m, f"dut.{name}_carry", 1) for name in names}
        left = probe(m, "dut.left", len(dut.job.limit))
        found = {
            "total": Signal(len(dut.end), name="total_found"),
            "left": Signal(len(left), name="left_found"),
            "tasks": Signal(32, name="tasks_found"),
            "raws": Signal(32, name="raws_found"),
        }
        m.d.comb += [
            found["total"].eq(dut.end + (carry["end"] << low)),
            found["left"].eq(left - (carry["left"] << low)),
            found["tasks"].eq(dut.count + (carry["count"] << low)),
            found["raws"].eq(dut.raw_stripes + (carry["raw_stripes"] << low)),
            Assert(probe(m, "dut.joined.o__valid", 1) == self.waits),
        ]
        counted = probe(m, "dut.counted", 1)
        for name in names:
            m.d.comb += Assert(counted | ~carry[name])
        with m.If(~dut.start):
            m.d.comb += [
                Assert(found["total"] == self.total),
                Assert(found["tasks"] == self.number),
                Assert(found["raws"] == self.raws),
            ]
            with m.If(~self.is_copy & ~self.is_over):
                m.d.comb += [
                    Assert(self.total <= dut.job.limit),
                    Assert(found["left"] == dut.job.limit - self.total),
                ]
        # A task follows the one before by two cycles, so that no carry is on its way.
        m.d.comb += Assert(~(counted & self.waits))
        waiting = Cat(Value.cast(self.wanted), self.last, self.possible, self.resp, self.where)
        joined = probe(m, "dut.joined.o__payload", len(waiting))
        with m.If(self.waits):
            m.d.comb += Assert(joined == waiting)


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


PROOFS = (
    Proof(
        name="task_maker",
        promise="Tasks are the stripes with their entries up to the first bad one; none reaches "
        "beyond the limit of its stream",
        components=(TaskMaker,),
        design=lambda config: ChecksIndex(TaskMaker(config)),
        sizes={f"stripes of 64 bytes, {bits} bits": sized(bits) for bits in (8, 16)},
        slow=("stripes of 64 bytes, 8 bits", "stripes of 64 bytes, 16 bits"),
        broken=faults(
            sized(8),
            8,
            stuck_at(1, "dut.fits"),
            stuck_at(0, "dut.left", 0),
            late("dut.ended"),
            stuck_at(0, "dut.is_read"),
        ),
    ),
)
