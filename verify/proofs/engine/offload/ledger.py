"""No word passes the limit of a stream, and its accounts are those of its rows."""

from dataclasses import replace

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.engine_codes import LINK, Op, Status
from cdma.hdl.engine.offload.ledger import Ledger
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer, take
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults


class KeepsAccounts(Elaboratable):
    """Of a stream of any rows, the words up to the limit pass, in place, and none behind.

    The model counts in one sum the words that came since the start. From that follow the words of
    each row that pass, the stripes that begin within the limit, their offsets, the entries of the
    index, OVERFLOW, and the totals. Rows come at any time and receivers stall at any time; a job
    starts between two rows.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        m.submodules.dut = elaborated(dut, platform)
        self._environment(m)
        self._model(m)
        self._passes(m)
        self._receivers(m)
        self._errors(m)
        self._invariants(m)
        return m

    def _environment(self, m):
        """A job with any limit, and rows of 1 to ``lanes`` words, full but for a stripe's last."""
        dut = self.dut
        self.enters = offer(m, dut.i, "i")
        m.d.comb += dut.o.ready.eq(anything(m, 1, "o_ready"))
        self.begins, self.crcs, self.entries, self.errors = (
            take(m, port, name)
            for port, name in (
                (dut.o_start, "start"),
                (dut.o_crc, "crc"),
                (dut.o_entry, "entry"),
                (dut.o_error, "error"),
            )
        )
        job, fresh = Signal(dut.job.shape(), name="held"), Signal(dut.job.shape(), name="fresh")
        number, started = Signal(len(dut.number)), Signal()
        row, lanes = dut.i.payload.row, dut.config.lanes
        m.d.comb += [
            Value.cast(fresh).eq(anything(m, len(Value.cast(fresh)), "any_job")),
            dut.start.eq(anything(m, 1, "starts") & ~dut.i.valid),
            # The ledger looks at the limit in the cycle of the start.
            Value.cast(dut.job).eq(Mux(dut.start, Value.cast(fresh), Value.cast(job))),
            dut.number.eq(number),
            *(each.eq(anything(m, len(each), f"where{k}")) for k, each in enumerate(dut.where)),
            Assume(~dut.i.valid | started),
            Assume((row.count != 0) & (row.count <= lanes)),
            Assume(row.last | (row.count == lanes)),
            *(Assume((row.words[k] == 0) | (row.count > k)) for k in range(lanes)),
            Assume(dut.i.payload.channel < dut.config.channels),
        ]
        with m.If(dut.start):
            m.d.sync += [Value.cast(job).eq(Value.cast(fresh)), started.eq(1)]
            m.d.sync += number.eq(anything(m, len(number), "job_number"))
        self.started = started
        size = len(row.count) + dut.config.word_bytes.bit_length()
        self.bytes = Signal(size, name="row_bytes")
        m.d.comb += self.bytes.eq(row.count * dut.config.word_bytes)

    def _model(self, m):
        """What came since the start: words, those of the stripe, stripes."""
        dut, row = self.dut, self.dut.i.payload.row
        job, shift = dut.job, dut.config.word_bytes.bit_length() - 1
        most = 2 * dut.config.stripe_bytes
        self.words = words = Signal(len(dut.offset) - shift, name="words")
        self.stripes, self.raws = Signal(32, name="stripes_ended"), Signal(32, name="raws")
        self.is_first = is_first = Signal(name="is_first_row", init=1)
        self.stripe_words = Signal(len(words), name="stripe_words")
        self.at_words, self.limit = Signal(len(words), name="at_words"), Signal(len(words))
        self.is_measure = job.op == Op.MEASURE
        m.d.comb += [
            self.at_words.eq(Mux(is_first, words, words - self.stripe_words)),
            self.limit.eq(Mux(self.is_measure, 0, job.limit >> shift)),
            Assume(words < (1 << len(words)) - 2 * dut.config.lanes),
            # Masks and words.
            Assume((self.stripe_words + row.count) * dut.config.word_bytes <= most),
        ]
        with m.If(dut.start):
            m.d.sync += [words.eq(0), self.stripes.eq(0), self.raws.eq(0), is_first.eq(1)]
            m.d.sync += self.stripe_words.eq(0)
            m.d.comb += Assume(is_first)
        with m.Elif(self.enters):
            m.d.sync += [words.eq(words + row.count), is_first.eq(row.last)]
            m.d.sync += self.stripe_words.eq(Mux(row.last, 0, self.stripe_words + row.count))
            m.d.sync += self.stripes.eq(self.stripes + row.last)
            m.d.sync += self.raws.eq(self.raws + (row.last & dut.i.payload.status.raw))

    def _passes(self, m):
        """The words of a row that are below the limit pass with it."""
        dut, row, out = self.dut, self.dut.i.payload.row, self.dut.o.payload
        room, passed = Signal(len(self.words) + 1), Signal(len(self.words))
        m.d.comb += room.eq(Mux(self.limit > self.words, self.limit - self.words, 0))
        m.d.comb += passed.eq(Mux(room < row.count, room, row.count))
        m.d.comb += Assert((dut.o.valid & dut.o.ready) == self.enters)
        with m.If(dut.o.valid):
            m.d.comb += [
                Assert(out.count == passed),
                # What was written so far is the exact prefix.
                Assert((out.count == 0) | (self.words + out.count <= self.limit)),
                Cover((passed != 0) & (passed < row.count)),
            ]
            for k in range(dut.config.lanes):
                m.d.comb += Assert(out.words[k] == Mux(passed > k, row.words[k], 0))
        self.passed, self.room = passed, room

    def _receivers(self, m):
        """Starts, entries and CRCs: each once for its stripe or row, with the right numbers."""
        dut, row, job = self.dut, self.dut.i.payload.row, self.dut.job
        first, entry, size = dut.o_start.payload, dut.o_entry.payload, dut.config.word_bytes
        status = dut.i.payload.status
        total = Signal(len(self.words))
        m.d.comb += [
            total.eq(self.stripe_words + row.count),
            Assert(self.begins == (self.enters & self.is_first & (self.passed != 0))),
            Assert(self.entries == (self.enters & row.last & job.index)),
            Assert(dut.known == (self.enters & row.last)),
            Assert(~dut.known | (dut.exceeds == status.exceeds)),
        ]
        with m.If(dut.o_start.valid):
            m.d.comb += self._is_tag(first, self.words)
        with m.If(dut.o_entry.valid):
            m.d.comb += [
                *self._is_tag(entry.tag, self.at_words),
                Assert(entry.bytes == total * size),
                Assert(entry.raw == status.raw),
            ]
        # A row goes to the CRC once, when it passes or before.
        has_crc = Signal()
        m.d.sync += has_crc.eq((has_crc | self.crcs) & ~self.enters)
        m.d.comb += [
            Assert(~(has_crc & self.crcs)),
            Assert(~self.enters | ((has_crc | self.crcs) == job.crc)),
            Assert(~has_crc | (dut.i.valid & job.crc)),
            Assert(has_crc == probe(m, "dut.has_crc", 1)),
        ]
        with m.If(dut.o_crc.valid):
            m.d.comb += Assert(Value.cast(dut.o_crc.payload) == Value.cast(row))

    def _is_tag(self, tag, words):
        """Statements: a tag is that of the stripe that begins behind so many words."""
        return [
            Assert(tag.job == self.dut.number),
            Assert(tag.number == self.stripes),
            Assert(tag.offset == words * self.dut.config.word_bytes),
        ]

    def _errors(self, m):
        """A stripe is reported for its own error, or because the stream is beyond the limit.

        Reports that come while one waits to be collected are dropped.
        """
        dut, row, status = self.dut, self.dut.i.payload.row, self.dut.i.payload.status
        report = dut.o_error.payload
        is_beyond = ~self.is_measure & (self.words + row.count > self.limit)
        fails = self.enters & row.last & ((status.error != 0) | is_beyond)
        waits, expected = Signal(), Signal(report.shape())
        fresh, channel = Signal(report.shape()), dut.i.payload.channel
        m.d.comb += [
            fresh.tag.job.eq(dut.number),
            fresh.tag.number.eq(self.stripes),
            fresh.tag.offset.eq(self.at_words * dut.config.word_bytes),
            fresh.halts.eq(status.error != 0),
            fresh.status.eq(Mux(status.error != 0, status.error, Status.OVERFLOW)),
            fresh.channel.eq(Mux(status.error != 0, channel, LINK)),
            fresh.where.eq(dut.job.limit),
            Assert(dut.o_error.valid == waits),
            Cover(waits & (report.status == Status.OVERFLOW)),
        ]
        for k in range(dut.config.channels):
            with m.If((status.error != 0) & (channel == k)):
                m.d.comb += fresh.where.eq(dut.where[k])
        with m.If(waits):
            m.d.comb += Assert(Value.cast(report) == Value.cast(expected))
        with m.If(fails & ~waits):
            m.d.sync += [Value.cast(expected).eq(Value.cast(fresh)), waits.eq(1)]
        with m.Elif(self.errors):
            m.d.sync += waits.eq(0)

    def _invariants(self, m):
        """Sums whose carry is on its way are those of the model, less or more the carry."""
        dut, lanes = self.dut, self.dut.config.lanes
        bits = len(self.words)
        low, shift = 16, dut.config.word_bytes.bit_length() - 1
        carry = {
            name: probe(m, f"dut.{name}_carry", 1)
            for name in ("offset", "number", "raw_stripes", "room")
        }
        offset = dut.offset >> shift
        room = probe(m, "dut.room", len(dut.job.limit) - shift)
        wide = len(room)
        found = {name: Signal(32, name=f"{name}_found") for name in ("number", "raw")}
        words, left = Signal(bits, name="words_found"), Signal(wide, name="room_found")
        is_near = probe(m, "dut.is_near", 1)
        m.d.comb += [
            words.eq(offset + (carry["offset"] << low)),
            found["number"].eq(dut.stripes + (carry["number"] << low)),
            found["raw"].eq(dut.raw_stripes + (carry["raw_stripes"] << low)),
            left.eq(room - (carry["room"] << low)),
        ]
        before = probe(m, "dut.before", dut.config.stripe_bytes.bit_length() + 1)
        m.d.comb += [
            Assert(probe(m, "dut.is_first", 1) == self.is_first),
            Assert(before == self.stripe_words * dut.config.word_bytes),
            Assert(~self.is_first | (self.stripe_words == 0)),
        ]
        with m.If(self.started & ~dut.start):  # a start sets them all
            m.d.comb += [
                Assert(words == self.words),
                Assert(found["number"] == self.stripes),
                Assert(found["raw"] == self.raws),
                Assert(left == self.room),
                # The comparison with the low bits is exact.
                Assert(~is_near | (self.room < 4 * lanes)),
                Assert(is_near | (self.room >= 3 * lanes)),
                Assert(~carry["room"] | ((room[:low] >= (1 << low) - lanes) & (room >> low != 0))),
                Assert(
                    probe(m, "dut.overflowed", 1) == (~self.is_measure & (self.words > self.limit))
                ),
            ]
            with m.If(~self.is_first):
                tag = probe(m, "dut.tag", len(Value.cast(dut.o_start.payload)))
                at = self.at_words * dut.config.word_bytes
                m.d.comb += Assert(
                    tag == Cat(dut.number, self.stripes, at[: len(dut.o_start.payload.offset)])
                )
                m.d.comb += Assert(self.at_words + self.stripe_words == self.words)


def sized(word_bits: int):
    """A small engine with such words and addresses that sums have a carry."""
    return replace(small(), word_bits=word_bits, address_bits=20, stripe_bytes=64, stage_bytes=32)


PROOFS = (
    Proof(
        name="ledger",
        promise="A stream's words up to its limit pass, and its accounts are those of its rows",
        components=(Ledger,),
        design=lambda config: KeepsAccounts(Ledger(config)),
        sizes={f"2 lanes, {bits} bits": sized(bits) for bits in (8, 16)},
        broken=faults(
            sized(8),
            8,
            late("dut.is_near"),
            stuck_at(0, "dut.wants_start"),
            stuck_at(0, "dut.overflowed"),
            late("dut.has_crc"),
        ),
    ),
)
