"""The accounts of a stream are those of its rows."""

from dataclasses import replace
from unittest import mock

from amaranth.hdl import (
    Array,
    Assert,
    Assume,
    Cat,
    Cover,
    Elaboratable,
    Module,
    Mux,
    Signal,
    Value,
)
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import LINK, Op, Status
from cdma.engine_config import INDEX_BYTES
from cdma.hdl.engine.offload import ledger
from cdma.hdl.engine.offload.ledger import INDEX_BURST_BYTES, Ledger
from cdma.hdl.lib.counter import LateCounter
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, take
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults

_SETTLE = 7  # cycles that ``hold`` lasts at least before a report, and after it


class PlainCounter(wiring.Component):
    """In place of :class:`~cdma.hdl.lib.counter.Counter`: one sum, as the proof of that says."""

    def __init__(self, width: int, step_bits: int):
        super().__init__(
            {
                "enable": In(1),
                "restart": In(1),
                "step": In(step_bits),
                "value": Out(width),
            }
        )

    def elaborate(self, platform):
        m = Module()
        with m.If(self.enable):
            m.d.sync += self.value.eq(Mux(self.restart, 0, self.value) + self.step)
        return m


class PlainLateCounter(LateCounter):
    """In place of :class:`~cdma.hdl.lib.counter.LateCounter`: one sum, given some cycles later."""

    def elaborate(self, platform):
        m = Module()
        ago = [Signal(self.width, name=f"ago{k}") for k in range(self.latency)]
        with m.If(self.clear):
            m.d.sync += [each.eq(0) for each in ago]
        with m.Else():
            m.d.sync += ago[0].eq(ago[0] + Mux(self.enable, self.step, 0))
            m.d.sync += [ago[k + 1].eq(ago[k]) for k in range(self.latency - 1)]
        m.d.comb += self.value.eq(ago[-1])
        return m


class KeepsAccounts(Elaboratable):
    """Rows come at any time at which ``hold`` was not set; reports are taken at any time.

    The model counts stripes and their words as they end: with their last row, or as their report is
    taken. From that follow entries, tags and totals. ``past[k]`` is what was counted ``k`` cycles
    ago: tags are those of the past.
    """

    def __init__(self, config):
        self.config = config

    def elaborate(self, platform):
        m = Module()
        with (
            mock.patch.object(ledger, "Counter", PlainCounter),
            mock.patch.object(ledger, "LateCounter", PlainLateCounter),
        ):
            self.dut = dut = Ledger(self.config)
            m.submodules.dut = elaborated(dut, platform)
        self.shift = self.config.word_bytes.bit_length() - 1
        self._environment(m)
        self._model(m)
        self._reports(m)
        self._entries(m)
        self._totals(m)
        return m

    def _environment(self, m):
        """A job, and rows of 1 to ``lanes`` words, of which not more are kept than count."""
        dut, row = self.dut, self.dut.i
        job, fresh = Signal(dut.job.shape(), name="held"), Signal(dut.job.shape(), name="fresh")
        number, started, may = Signal.like(dut.number), Signal(), Signal()
        was_live = Signal()
        self.where = [Signal.like(each, name=f"where{k}") for k, each in enumerate(dut.where)]
        m.d.comb += [
            Value.cast(fresh).eq(anything(m, len(Value.cast(fresh)), "any_job")),
            dut.start.eq(anything(m, 1, "starts")),
            Assume(~dut.start | dut.idle),
            Value.cast(dut.job).eq(Mux(dut.start, Value.cast(fresh), Value.cast(job))),
            dut.number.eq(number),
            *(each.eq(where) for each, where in zip(dut.where, self.where, strict=True)),
            dut.valid.eq(anything(m, 1, "valid") & may),
            dut.opens.eq(anything(m, 1, "opens") & dut.valid),
            Value.cast(row).eq(anything(m, len(Value.cast(row)), "any_row")),
            Assume((row.count != 0) & (row.count <= self.config.lanes)),
            Assume(row.kept <= row.count),
            Assume(~dut.valid | (row.cut == (row.live & (row.kept != row.count)))),
            Assume(row.channel < self.config.channels),
            # Rows are dropped from one on.
            Assume(was_live | ~row.live),
        ]
        m.d.sync += may.eq((started | dut.start) & ~dut.hold & ~dut.start)
        with m.If(dut.start):
            m.d.sync += [Value.cast(job).eq(Value.cast(fresh)), started.eq(1), was_live.eq(1)]
            m.d.sync += number.eq(anything(m, len(number), "job_number"))
        with m.Elif(dut.valid):
            m.d.sync += was_live.eq(row.live)
        self.started, self.may, self.was_live = started, may, was_live

    def _model(self, m):
        """Stripes that have ended, their words, and those of the stripe at hand."""
        dut, row, length = self.dut, self.dut.i, self.dut.tag_latency
        bits = len(dut.offset) - self.shift

        def line(width, name):
            return [Signal(width, name=f"{name}{k}") for k in range(length + 1)]

        self.stripes, self.words, self.raws = (
            line(32, "stripes"),
            line(bits, "words"),
            line(32, "raws"),
        )
        self.size, self.is_first = Signal(bits, name="size"), Signal(name="is_first_row", init=1)
        self.raw, self.missing = Signal(name="is_raw"), Signal(self.shift + 1, name="missing_bytes")
        self.ends, self.waits = Signal(name="stripe_ends"), Signal(name="report_waits")
        size, raw, is_live = Signal(bits), Signal(), Signal()
        m.d.comb += [
            size.eq(Mux(self.is_first, 0, self.size) + row.count),
            Assume(~dut.valid | (size <= dut.most)),
            Assume(self.words[0] < (1 << bits) - 2 * dut.most),
            raw.eq(Mux(dut.valid, row.status.raw, self.raw)),
            is_live.eq(Mux(dut.valid, row.live, self.was_live)),
        ]
        with m.If(dut.valid):
            m.d.sync += [self.size.eq(size), self.is_first.eq(row.last), self.raw.eq(raw)]
            if self.config.has_padding:
                m.d.sync += self.missing.eq(row.missing)
        for values, step in (
            (self.stripes, 1),
            (self.words, Mux(dut.valid, size, self.size)),
            (self.raws, raw),
        ):
            m.d.sync += values[0].eq(values[0] + Mux(self.ends, step, 0))
            m.d.sync += [values[k + 1].eq(values[k]) for k in range(length)]
            with m.If(dut.start):
                m.d.sync += [each.eq(0) for each in values]
        with m.If(dut.start):
            m.d.sync += self.is_first.eq(1)
        self.live = is_live
        # When stripes ended.
        self.ended = line(1, "ended")[1:]
        self.opened, self.placed = line(1, "opened")[1:], line(1, "placed")[1:]
        now, entries = Signal(name="opens_index"), INDEX_BURST_BYTES // INDEX_BYTES
        place, has_none = Signal(range(entries), name="index_place"), Signal(name="has_no_entry")
        m.d.comb += now.eq(self.ends & dut.job.index & is_live & (has_none | (place == 0)))
        with m.If(self.ends):
            m.d.sync += [place.eq(place + 1), has_none.eq(0)]
        with m.If(dut.start):
            m.d.sync += [place.eq(dut.job.index_address[3:]), has_none.eq(1)]
        for values, value in (
            (self.ended, self.ends),
            (self.opened, dut.opens),
            (self.placed, now),
        ):
            m.d.sync += values[0].eq(value)
            m.d.sync += [values[k + 1].eq(values[k]) for k in range(length - 1)]
        m.d.comb += Assert(probe(m, "dut.place", len(place)) == place)
        m.d.comb += Assert(~self.started | (probe(m, "dut.has_none", 1) == has_none))

    def _reports(self, m):
        """A stripe's own error is reported, and the first stripe too many."""
        dut, row, job = self.dut, self.dut.i, self.dut.job
        report, row_status = dut.o_error.payload, self.dut.i.status
        taken = take(m, dut.o_error, "error")
        over, told, is_cut, fails = Signal(), Signal(), Signal(), Signal()
        age = Signal(range(_SETTLE))  # cycles that the report waits
        error, channel = Signal.like(row_status.error), Signal.like(row.channel)
        m.d.comb += [
            is_cut.eq(row.live & (row.kept != row.count) & (job.op != Op.MEASURE)),
            fails.eq(
                dut.valid
                & row.last
                & row.live
                & ((row_status.error != 0) | ((over | is_cut) & ~told))
            ),
            self.ends.eq((dut.valid & row.last & ~fails) | taken),
            Assert(dut.o_error.valid == (self.waits & (age == _SETTLE - 1))),
            Assert(~(fails | self.waits) | dut.hold),
            Assert(dut.known == (dut.valid & row.last)),
            Assert(~dut.known | (dut.exceeds == row_status.exceeds)),
        ]
        m.d.sync += age.eq(Mux(self.waits & (age != _SETTLE - 1), age + 1, age))
        with m.If(fails):
            m.d.sync += [self.waits.eq(1), age.eq(0), error.eq(row_status.error)]
            m.d.sync += channel.eq(row.channel)
        with m.Elif(taken):
            m.d.sync += self.waits.eq(0)
        with m.If(dut.start):
            m.d.sync += [over.eq(0), told.eq(0)]
        with m.Else():
            m.d.sync += over.eq(over | (dut.valid & is_cut))
            m.d.sync += told.eq(told | (taken & (error == 0)))
        where = Array(self.where)[channel]
        with m.If(~self.waits & ~fails):  # a channel keeps the address of its first error
            m.d.sync += [
                each.eq(anything(m, len(each), f"any_where{k}"))
                for k, each in enumerate(self.where)
            ]
        status = Array(
            [Status.OVERFLOW, Status.DEVICE_SLVERR, Status.DEVICE_DECERR, Status.TIMEOUT]
        )[error]
        with m.If(dut.o_error.valid):
            m.d.comb += [
                Assert(report.tag.job == dut.number),
                Assert(report.tag.number == self.stripes[0]),
                Assert(report.tag.offset == self.words[0] << self.shift),
                Assert(report.halts == (error != 0)),
                Assert(report.status == status),
                Assert(report.channel == Mux(error != 0, channel, LINK)),
                Assert(report.where == Mux(error != 0, where, job.limit)),
                Cover(report.status == Status.OVERFLOW),
            ]
        # Invariants. While a report waits, nothing else is counted.
        wait = probe(m, "dut.wait", 3)
        m.d.comb += [
            Assert(probe(m, "dut.is_due", 1) == self.waits),
            Assert(~self.may | (wait == 0) | dut.start),
            Assert(~self.waits | (wait == _SETTLE - age)),
            Assert(self.started | (~self.waits & ~self.may & (wait == 0))),
            Assert(age < _SETTLE),
        ]
        with m.If(self.waits):
            m.d.comb += [Assert(probe(m, "dut.error", len(error)) == error), Assert(self.was_live)]
            m.d.comb += Assert(probe(m, "dut.channel", 3) == channel)
            m.d.comb += Assert((error != 0) | (over & ~told))
            m.d.comb += Assert(channel < self.config.channels)
            for k in range(min(_SETTLE, dut.tag_latency)):
                with m.If(age >= k):
                    m.d.comb += Assert(~self.ended[k])
        with m.If(self.started):
            m.d.comb += Assert(probe(m, "dut.overflowed", 1) == over)
            m.d.comb += Assert(probe(m, "dut.was_told", 1) == told)

    def _entries(self, m):
        """A stripe that ends has an entry, unless it was dropped."""
        dut, entry = self.dut, self.dut.entry
        gives, nbytes = Signal(), Signal(len(self.size) + self.shift)
        m.d.sync += gives.eq(self.ends & dut.job.index & self.live)
        m.d.comb += nbytes.eq((self.size << self.shift) - self.missing)
        m.d.comb += [Assert(dut.entry_valid == gives), Cover(gives & dut.valid)]
        with m.If(dut.entry_valid):
            m.d.comb += [Assert(entry.bytes == nbytes), Assert(entry.raw == self.raw)]
        # Invariants: the size is in two parts, with a carry between them.
        bits = dut.most.bit_length()
        low_bits = min(8, bits - 1)
        size = Signal(bits + 1)
        low, high = probe(m, "dut.low", low_bits), probe(m, "dut.high", bits - low_bits)
        m.d.comb += size.eq(low + ((high + probe(m, "dut.carry", 1)) << low_bits))
        with m.If(self.started):
            m.d.comb += [
                Assert(probe(m, "dut.is_first", 1) == self.is_first),
                Assert(self.is_first | (size == self.size)),
                Assert(~(self.ended[0] | self.waits) | (size == self.size)),
                Assert(self.is_first | ((self.size != 0) & (self.size <= dut.most))),
                Assert(~(self.ended[0] | self.waits) | (self.size != 0)),
                Assert(~(self.ended[0] | self.waits) | (self.size <= dut.most)),
                Assert(~(self.ended[0] | self.waits) | self.is_first),
                Assert(~(self.ended[0] | self.waits) | (probe(m, "dut.raw", 1) == self.raw)),
                Assert(
                    ~(self.ended[0] | self.waits) | (probe(m, "dut.is_live", 1) == self.was_live)
                ),
            ]
        if self.config.has_padding:
            m.d.comb += Assert(probe(m, "dut.missing", self.shift + 1) == self.missing)
            m.d.comb += Assert(self.missing < self.config.word_bytes)

    def _totals(self, m):
        """Tags are those of some cycles ago, totals are up to date when nothing is on its way."""
        dut, length = self.dut, self.dut.tag_latency
        tag = dut.tag
        m.d.comb += [
            Assert(dut.tags == self.opened[-1]),
            Assert(dut.index_tags == self.placed[-1]),
            Assert(tag.number == self.stripes[-1]),
            Assert(tag.offset == self.words[-1] << self.shift),
            Assert(tag.job == dut.number),
            Cover(dut.tags & (tag.number == 2)),
        ]
        with m.If(dut.idle):
            m.d.comb += [
                Assert(dut.stripes == self.stripes[0]),
                Assert(dut.offset == self.words[0] << self.shift),
                Assert(dut.raw_stripes == self.raws[0]),
            ]
        # Invariants: the past differs where a stripe ended.
        for k in range(length):
            m.d.comb += Assert(self.stripes[k] == (self.stripes[k + 1] + self.ended[k])[:32])
            with m.If(~self.ended[k]):
                m.d.comb += Assert(self.words[k] == self.words[k + 1])
                m.d.comb += Assert(self.raws[k] == self.raws[k + 1])
        bits = len(self.size)
        with m.If(self.ended[0]):
            m.d.comb += Assert(self.words[0] == (self.words[1] + self.size)[:bits])
            m.d.comb += Assert(self.raws[0] == (self.raws[1] + self.raw)[:32])
        words = probe(m, "dut.words", dut.most.bit_length())
        with m.If(self.ended[1]):
            m.d.comb += Assert(self.words[1] == (self.words[2] + words)[:bits])
        for k in range(length - 1):
            m.d.comb += Assert(probe(m, f"dut.offset_sum.ago{k}", bits) == self.words[k + 2])
        m.d.comb += [
            Assert(self.started | ~Cat(*self.ended, *self.opened, *self.placed).any()),
            Assert(probe(m, "dut.number_sum.value", 32) == self.stripes[-1]),
            Assert(probe(m, "dut.raw_sum.value", 32) == self.raws[1]),
            Assert(
                Cat(probe(m, "dut.ended", 1), probe(m, "dut.adds", length - 1)) == Cat(self.ended)
            ),
            Assert(probe(m, "dut.starts", length) == Cat(self.opened)),
            Assert(probe(m, "dut.index_starts", length) == Cat(self.placed)),
        ]


def sized(word_bits: int):
    """A small engine with such words."""
    return replace(
        small(2), word_bits=word_bits, block_words=word_bits, stripe_bytes=16 * word_bits // 8
    )


#: Stripes that end inside a word, of one block of ZVC+.
PADDED = replace(sized(16), codec="zvcplus", type="bf16", stripe_bytes=128)

PROOFS = (
    Proof(
        name="ledger",
        promise="Entries, tags, reports and totals of a stream are those of its rows",
        components=(Ledger,),
        design=KeepsAccounts,
        sizes={f"2 lanes, {bits} bits": sized(bits) for bits in (8, 16)}
        | {"2 lanes, 16 bits, padding": PADDED},
        broken=faults(
            sized(8),
            16,
            late("dut.tags"),
            stuck_at(0, "dut.carry"),
            stuck_at(0, "dut.overflowed"),
            stuck_at(0, "dut.is_live"),
            late("dut.is_due"),
        )
        + faults(PADDED, 16, stuck_at(0, "dut.missing")),
    ),
)
