"""Rows of a prefetch have the words of the stream, in order, and the first bad beat is reported."""

from dataclasses import replace
from unittest import mock

from amaranth.hdl import Array, Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Status
from cdma.hdl.axi.full import Response
from cdma.hdl.engine.common.bursts import ReadData
from cdma.hdl.engine.common.errors import is_error
from cdma.hdl.engine.prefetch import split
from cdma.hdl.engine.prefetch.rows import Cut, RowPlan, beat_words, kept_beats
from cdma.hdl.engine.prefetch.split import Split
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer, take
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults

_BEATS = 8  # beats of the stream that the model remembers, a power of two


class AnyPlans(wiring.Component):
    """Rows of any counts at any time, in place of
    :class:`~cdma.hdl.engine.prefetch.rows.RowPlanner`, as the proof of that says.

    Members
    -------
    as of ``RowPlanner``, and:
    place : Out, word of its beat that the next row begins with
    skips : Out, the plan has no words, and uses up a beat
    """

    def __init__(self, config):
        self.config = config
        words = range(beat_words(config))
        super().__init__(
            {
                "start": In(1),
                "first": In(words),
                "i_cut": In(stream.Signature(Cut(config))),
                "o": Out(stream.Signature(RowPlan(config))),
                "idle": Out(1),
                "place": Out(words),
                "skips": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, plan = self.config, self.o.payload
        words = beat_words(config)
        rows = stream.Signature(RowPlan(config)).create()
        made = rows.payload
        gives = offer(m, rows, "row")
        has_rest = Signal(name="has_rest")
        behind = Signal(range(words + config.lanes + 1), name="behind")
        m.d.comb += [
            self.i_cut.ready.eq(anything(m, 1, "cut_ready")),
            rows.ready.eq(self.o.ready & ~self.skips),
            self.o.valid.eq(rows.valid | self.skips),
            self.idle.eq(anything(m, 1, "planner_idle") & ~self.o.valid),
            behind.eq(self.place + made.count),
            Assume(~rows.valid | ((made.count != 0) & (made.count <= config.lanes))),
            plan.eq(made),
            plan.first.eq(self.place),
        ]
        with m.If(self.skips):
            m.d.comb += [plan.count.eq(0), plan.keep.eq(0), plan.needs.eq(0), plan.drops.eq(2)]
        with m.Else():
            m.d.comb += [plan.keep[k].eq(k < made.count) for k in range(config.lanes)]
            m.d.comb += [plan.needs[k].eq(behind > words * (k + 1)) for k in range(len(plan.needs))]
            m.d.comb += [plan.drops[k].eq(behind // words == k) for k in range(len(plan.drops))]
        with m.If(gives):
            m.d.sync += [self.place.eq(behind % words), has_rest.eq(behind % words != 0)]
        with m.If(self.o.ready):
            m.d.sync += self.skips.eq(0)
        with m.If(self.start):
            m.d.sync += [self.place.eq(self.first), self.skips.eq(has_rest), has_rest.eq(0)]
        return m


class GivesWords(Elaboratable):
    """Beats, cuts and plans come at any time; rows and the report are taken at any time.

    The model keeps the last beats of the stream by number: those that came, those that are used up.
    """

    def __init__(self, config):
        self.config = config

    def elaborate(self, platform):
        m = Module()
        config = self.config
        self.plans = plans = AnyPlans(config)
        with mock.patch.object(split, "RowPlanner", return_value=plans):
            self.dut = dut = Split(config)
            m.submodules.dut = elaborated(dut, platform)
        self.words = beat_words(config)
        self.shift = config.word_bytes.bit_length() - 1
        m.d.comb += [
            dut.start.eq(anything(m, 1, "start")),
            dut.address.eq(anything(m, len(dut.address), "address")),
            Assume(~dut.start | dut.idle),
        ]
        cuts = offer(m, dut.i_cut, "cut")
        m.d.comb += [
            Assert(plans.i_cut.valid == dut.i_cut.valid),
            Assert(Value.cast(plans.i_cut.payload) == Value.cast(dut.i_cut.payload)),
            Assert(cuts == (dut.i_cut.valid & plans.i_cut.ready)),
            Assert(plans.start == dut.start),
            Assert(plans.first == (dut.address >> self.shift) % self.words),
        ]
        self._beats(m)
        self._rows(m)
        self._errors(m)
        return m

    def _beats(self, m):
        """The stream's beats, and how many of them are kept."""
        dut, plans, kept = self.dut, self.plans, kept_beats(self.config)
        comes = offer(m, dut.i, "i")
        self.moves = Signal(name="moves")  # the plan is carried out
        shape = ReadData(self.config.link_bytes)
        memory = [Signal(shape, name=f"stream{k}") for k in range(_BEATS)]
        bits = _BEATS.bit_length() - 1
        came, used, level = Signal(bits, name="came"), Signal(bits, name="used"), Signal(bits)
        for k, beat in enumerate(memory):
            with m.If(comes & (came == k)):
                m.d.sync += beat.eq(dut.i.payload)
        self.beats = []  # from the one that the next row begins in
        for k in range(kept + 1):
            beat, place = Signal(shape, name=f"head{k}"), Signal(bits, name=f"number{k}")
            m.d.comb += place.eq(used + k)
            stored = Array(each.as_value() for each in memory)[place]
            m.d.comb += beat.eq(Mux(place == came, dut.i.payload.as_value(), stored))
            self.beats.append(beat)
        self.end = end = Signal(range(self.words + self.config.lanes + 1), name="row_end")
        self.step = step = Signal(bits, name="beats_used")
        plan, has, is_here = plans.o.payload, Signal(bits), Signal()
        reached = -(-end // self.words)
        m.d.comb += [
            self.moves.eq(plans.o.valid & plans.o.ready),
            end.eq(plans.place + plan.count),
            step.eq(Mux(plans.skips, 1, end // self.words)),
            level.eq(came - used),
            # The offered beat counts where all places before it are full.
            has.eq(level + ((level == kept) & dut.i.valid)),
            Assert(level <= kept),
            Assert(~(self.moves & ~plans.skips) | (reached <= has)),
            # Nothing else holds a row back, or a beat.
            is_here.eq((level != 0) & (plans.skips | (reached <= has))),
            Assert(plans.o.ready | ~is_here | (dut.o.valid & ~dut.o.ready)),
            Assert(dut.i.ready | (level == kept)),
            Assert(~plans.skips | (level != 0)),
        ]
        m.d.sync += [came.eq(came + comes), used.eq(used + Mux(self.moves, step, 0))]
        valid = probe(m, "dut.valid", kept)
        for k in range(kept):
            value = probe(m, f"dut.beat{k}", len(Value.cast(dut.i.payload)))
            m.d.comb += Assert(valid[k] == (level > k))
            with m.If(valid[k]):
                m.d.comb += Assert(value == self.beats[k].as_value())
        rest = probe(m, "dut.planner.has_rest", 1)
        m.d.comb += Assert(~rest | ((level != 0) & (plans.place != 0) & ~plans.skips))

    def _rows(self, m):
        """A row is the words of its plan."""
        dut, plans, config = self.dut, self.plans, self.config
        plan = plans.o.payload
        take(m, dut.o, "o")
        bits = config.word_bits
        words = [
            each.data[bits * k : bits * (k + 1)] for each in self.beats for k in range(self.words)
        ]
        expected, waits = Signal(dut.o.payload.shape(), name="expected"), Signal()
        with m.If(self.moves):
            m.d.sync += [
                waits.eq(~plans.skips),
                expected.channel.eq(plan.channel),
                expected.row.count.eq(plan.count),
                expected.row.last.eq(plan.last),
            ]
            if config.has_padding:
                m.d.sync += expected.row.missing.eq(plan.missing)
            for lane in range(config.lanes):
                place = Signal(range(len(words)), name=f"place{lane}")
                m.d.comb += place.eq(plans.place + lane)
                m.d.sync += expected.row.words[lane].eq(
                    Mux(lane < plan.count, Array(words)[place], 0)
                )
        with m.Elif(dut.o.ready):
            m.d.sync += waits.eq(0)
        m.d.comb += [
            Assert(dut.o.valid == waits),
            Cover(self.moves & (plan.count == config.lanes) & (plans.place != 0) & ~plan.last),
            Cover(self.moves & plans.skips),
        ]
        with m.If(dut.o.valid):
            m.d.comb += Assert(dut.o.payload.as_value() == expected.as_value())

    def _errors(self, m):
        """The first beat with an error that a row of the stream has words of."""
        dut, plans, config = self.dut, self.plans, self.config
        plan, report = plans.o.payload, dut.o_error.payload
        low = config.link_bytes.bit_length() - 1
        takes = take(m, dut.o_error, "error")
        place = Signal(config.address_bits - low, name="place")  # of the next row's first beat
        was_found, waits = Signal(), Signal()
        number, status, found = Signal(range(len(self.beats) + 1)), Signal(8), Signal()
        for k, beat in reversed(list(enumerate(self.beats))):
            with m.If((self.end > self.words * k) & is_error(beat.resp)):
                m.d.comb += [
                    found.eq(self.moves & ~plans.skips),
                    number.eq(k),
                    status.eq(
                        Mux(beat.resp == Response.DECERR, Status.HOST_DECERR, Status.HOST_SLVERR)
                    ),
                ]
        expected = Signal(report.shape(), name="expected_report")
        is_first = found & ~was_found
        with m.If(dut.start):
            m.d.sync += [place.eq(dut.address >> low), was_found.eq(0), waits.eq(0)]
        with m.Else():
            with m.If(self.moves & ~plans.skips & ~was_found):
                m.d.sync += place.eq(place + Mux(found, number, self.step))
            with m.If(is_first):
                m.d.sync += [
                    was_found.eq(1),
                    waits.eq(1),
                    expected.tag.eq(plan.tag),
                    expected.status.eq(status),
                ]
            with m.If(takes):
                m.d.sync += waits.eq(0)
        m.d.comb += [
            Assert(~dut.o_error.valid | waits),
            Assert(dut.idle == (plans.idle & ~dut.o.valid & ~waits)),
            Cover(takes & (place == 5) & (number == 0)),
            Cover(is_first & (number == 1)),
        ]
        with m.If(waits):
            m.d.comb += [
                Assert(Value.cast(report.tag) == Value.cast(expected.tag)),
                Assert(report.status == expected.status),
            ]
        with m.If(dut.o_error.valid):
            m.d.comb += Assert(report.where == place << low)
        self._sum(m, place, waits, was_found)

    def _sum(self, m, place, waits, was_found):
        """The place, and the carries that are on their way in it; a report waits for these."""
        bits = -(-len(place) // 5)
        places = range(bits, len(place), bits)
        carries, value = (
            probe(m, "dut.place_carries", len(places)),
            probe(m, "dut.place", len(place)),
        )
        is_reported = probe(m, "dut.is_reported", 1)
        total, age = Signal(len(place)), Signal(range(len(places) + 2))
        m.d.sync += age.eq(Mux(waits & ~self.dut.o_error.valid, age + 1, 0))
        m.d.comb += [
            total.eq(value + sum(carries[k] << low for k, low in enumerate(places))),
            Assert(total == place),
            Assert(probe(m, "dut.has_failed", 1) == was_found),
            Assert(is_reported == (was_found & ~waits)),
            Assert(was_found | ~waits),
            Assert(age <= len(places)),
        ]
        with m.If(waits):
            m.d.comb += [Assert(~carries[k] | (age <= k)) for k in range(len(places))]


PROOFS = (
    Proof(
        name="split",
        promise="Rows of a prefetch are the words of the stream, in order; the first bad beat is "
        "reported with its address",
        components=(Split,),
        design=GivesWords,
        sizes={
            "2 lanes, 2 words a beat": small(),
            "4 lanes, 2 words a beat": replace(small(lanes=4), link_bytes=2),
            "2 lanes, 4 words a beat": replace(small(), link_bytes=4),
            "2 lanes of 16 bits, padding": replace(
                small(), codec="zvcplus", type="bf16", word_bits=16, link_bytes=4
            ),
        },
        broken=faults(
            small(),
            16,
            late("dut.steps"),
            stuck_at(1, "dut.stores"),
            stuck_at(0, "dut.number"),
            late("dut.is_reported"),
            stuck_at(0, "dut.place_carries", 0),
        ),
    ),
)
