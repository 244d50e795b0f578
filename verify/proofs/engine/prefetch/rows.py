"""Rows of a prefetch are the words of their stripes, each once, and use up their beats."""

from dataclasses import replace

from amaranth.hdl import Array, Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data

from cdma.hdl.engine.prefetch.rows import RowPlanner, _Rows, beat_words
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer, take
from cdma.verify.proofs.engine.small import small
from cdma.verify.proofs.proof import Proof, faults

_INSIDE = 3  # stripes whose last row is not given


class DividesStripes(Elaboratable):
    """Stripes of any sizes come at any time, streams begin while the planner is idle, and plans are
    taken at any time.

    The model keeps each stripe until its last row is given, and the place of the next word.
    """

    def __init__(self, config):
        self.config, self.dut = config, RowPlanner(config)

    def elaborate(self, platform):
        m = Module()
        config, dut = self.config, self.dut
        m.submodules.dut = elaborated(dut, platform)
        takes, gives = offer(m, dut.i_cut, "cut"), take(m, dut.o, "plan")
        cut, plan, words = dut.i_cut.payload, dut.o.payload, beat_words(config)
        has_run = Signal()
        m.d.sync += has_run.eq(1)
        m.d.comb += [
            dut.start.eq(anything(m, 1, "start")),
            dut.first.eq(anything(m, len(dut.first), "first")),
            Assume(~dut.start | (dut.idle & ~takes & has_run)),
            Assume(~dut.i_cut.valid | (cut.size != 0)),
        ]
        layout = data.StructLayout(
            {"left": len(cut.size), "channel": 3, "tag": len(Value.cast(cut.tag))}
        )
        stripes = [Signal(layout, name=f"stripe{k}") for k in range(_INSIDE)]
        level, head = Signal(range(_INSIDE + 2)), stripes[0]
        place = Signal.like(dut.first, name="place")
        ends, has_rest, skips = Signal(), Signal(), Signal()
        count, behind = Signal.like(plan.count), Signal(range(words + config.lanes + 1))
        is_last, word = head.left <= config.beat_bytes, config.word_bytes
        m.d.comb += [
            # A stripe may end inside a word.
            count.eq(Mux(is_last, (head.left + (word - 1)) // word, config.lanes)),
            behind.eq(place + count),
            ends.eq(gives & ~skips & is_last),
            Assert(level <= _INSIDE),
            Assert(dut.idle == ((level == 0) & ~skips)),
            Assert(~skips | ~takes | dut.o.valid),
        ]
        m.d.sync += level.eq(level + takes - ends)
        with m.If(gives & skips):
            m.d.sync += skips.eq(0)
        with m.Elif(gives):
            m.d.sync += [place.eq(behind % words), has_rest.eq(behind % words != 0)]
        with m.If(dut.start):
            m.d.sync += [place.eq(dut.first), has_rest.eq(0), skips.eq(has_rest)]
        new = Signal(layout)
        m.d.comb += [
            new.left.eq(cut.size),
            new.channel.eq(cut.channel),
            new.tag.eq(Value.cast(cut.tag)),
        ]
        for k, stripe in enumerate(stripes):
            with m.If(takes & (level - ends == k)):
                m.d.sync += stripe.eq(new)
            with m.Elif(ends):
                m.d.sync += stripe.eq(stripes[k + 1] if k + 1 < _INSIDE else new)
        with m.If(gives & ~skips & ~is_last):
            m.d.sync += head.left.eq(head.left - config.beat_bytes)
        with m.If(dut.o.valid & skips):
            m.d.comb += [
                Assert((plan.count == 0) & (plan.keep == 0) & (plan.needs == 0)),
                Assert(plan.drops == 2),
                Cover(level == 2),
            ]
        with m.Elif(dut.o.valid):
            m.d.comb += [
                Assert(level != 0),
                Assert(plan.first == place),
                Assert(plan.count == count),
                *(Assert(plan.keep[k] == (k < count)) for k in range(config.lanes)),
                *(
                    Assert(plan.needs[k] == (behind > words * (k + 1)))
                    for k in range(len(plan.needs))
                ),
                *(Assert(plan.drops[k] == (behind // words == k)) for k in range(len(plan.drops))),
                Assert(plan.last == is_last),
                Assert(plan.channel == head.channel),
                Assert(Value.cast(plan.tag) == head.tag),
                Cover(gives & (level == 2) & ~plan.last & (place != 0)),
                Cover(gives & (level == 3) & (count != config.lanes)),
            ]
            if config.has_padding:
                missing = Mux(is_last, count * word - head.left, 0)
                m.d.comb += [Assert(plan.missing == missing), Cover(gives & (missing == 1))]
        # A plan a cycle: none is missing while a stripe is left.
        waits, has_rows = Signal(range(6)), probe(m, "dut.has_rows", 1)
        m.d.sync += waits.eq(Mux((level != 0) & ~dut.o.valid, waits + 1, 0))
        m.d.comb += Assert(waits < 3)
        m.d.comb += [
            Assert((level == 0) | dut.o.valid | has_rows | (waits == 0)),
            Assert(dut.o.valid | (waits <= has_rows)),
        ]
        is_real = Signal()
        m.d.comb += [is_real.eq(dut.o.valid & ~skips), Assert(~skips | dut.o.valid)]
        goes_on = Mux(is_real, behind % words, place)
        m.d.comb += [
            Assert(probe(m, "dut.first", len(place)) == goes_on),
            Assert(probe(m, "dut.has_rest", 1) == Mux(is_real, behind % words != 0, has_rest)),
        ]
        self._stages(m, stripes, level, is_real)
        return m

    def _stages(self, m, stripes, level, is_real):
        """The stripe that is planned and the one that waits are those of the model."""
        dut, config = self.dut, self.config
        plan, shape = dut.o.payload, _Rows(config)
        rows, waiting = (
            data.View(shape, probe(m, f"dut.{name}", shape.size))
            for name in ("rows", "stripes.entry0")
        )
        has_rows, waits = probe(m, "dut.has_rows", 1), probe(m, "dut.stripes.valid", 1)
        ends = is_real & plan.last
        second, third = Signal(stripes[0].shape()), Signal(stripes[0].shape())
        ahead = Signal(2)
        m.d.comb += [
            second.eq(Mux(ends, stripes[1].as_value(), stripes[0].as_value())),
            ahead.eq(ends + has_rows),
            third.eq(Array(stripe.as_value() for stripe in stripes)[ahead]),
            Assert(level == ahead + waits),
            Assert(~is_real | plan.last | has_rows),
            Assert(~(is_real & ~plan.last) | (stripes[0].left > config.beat_bytes)),
        ]
        for valid, entry, stripe, less in (
            (has_rows, rows, second, Mux(is_real & ~plan.last, config.beat_bytes, 0)),
            (waits, waiting, third, 0),
        ):
            left = Signal(len(stripe.left) + 1, name="bytes_left")
            partial = entry.rest * config.word_bytes - entry.missing  # bytes of the partial row
            m.d.comb += left.eq(entry.full * config.beat_bytes + partial)
            with m.If(valid):
                m.d.comb += [
                    Assert(left != 0),
                    Assert(left + less == stripe.left),
                    Assert((partial >= 0) & (partial < config.beat_bytes)),
                    Assert(entry.is_whole == (entry.rest == 0)),
                    Assert(entry.is_last == (left <= config.beat_bytes)),
                    Assert(entry.channel == stripe.channel),
                    Assert(Value.cast(entry.tag) == stripe.tag),
                ]


_PADDED = replace(small(), codec="zvcplus", type="bf16", word_bits=16, link_bytes=4)

PROOFS = (
    Proof(
        name="row_planner",
        promise="Plans are the rows of all stripes, each word once, with the beats they use up",
        components=(RowPlanner,),
        design=DividesStripes,
        sizes={
            "2 lanes, 2 words a beat": small(),
            "4 lanes, 2 words a beat": replace(small(lanes=4), link_bytes=2),
            "2 lanes, 4 words a beat": replace(small(), link_bytes=4),
            "2 lanes of 16 bits, padding": _PADDED,
        },
        broken=(
            *faults(
                small(),
                12,
                late("dut.has_rest"),
                stuck_at(0, "dut.steps"),
                stuck_at(0, "dut.end", 1),
                late("dut.has_rows"),
            ),
            *faults(_PADDED, 12, inverted("dut.o__payload.missing")),
        ),
    ),
)
