"""Where the rows of stripes lie in the beats of the link."""

from amaranth.hdl import Cat, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_config import EngineConfig
from cdma.hdl.engine.prefetch.records import StripeTag
from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.beat import thermometer


def size_bits(config: EngineConfig) -> int:
    """Bits of a stripe's bytes in the stream: masks have no more bits than words have."""
    return config.stripe_bytes.bit_length() + 1


def padded(config: EngineConfig, size):
    """Bytes that a stripe of so many takes in the stream: whole words."""
    if not config.has_padding:
        return size
    shift = config.word_bytes.bit_length() - 1
    return ((size + (config.word_bytes - 1)) >> shift) << shift


class Cut(data.StructLayout):
    """A stripe of the stream, or the ``end`` of a job: ``channel``, ``tag``, and ``size`` in bytes.

    The tag is a :class:`~cdma.hdl.engine.prefetch.records.StripeTag`.
    """

    def __init__(self, config: EngineConfig):
        super().__init__(
            {
                "end": unsigned(1),
                "channel": unsigned(3),
                "tag": StripeTag(config),
                "size": unsigned(size_bits(config)),
            }
        )


def beat_words(config: EngineConfig) -> int:
    """Words of a beat of the link."""
    return config.link_bytes // config.word_bytes


def kept_beats(config: EngineConfig) -> int:
    """Beats that wait in registers: a row may reach into one more."""
    return max(-(-(config.lanes - 1) // beat_words(config)), 1)


class RowPlan(data.StructLayout):
    """The next row, relative to the beat that its first word is in.

    Members
    -------
    first : that word in the beat
    count, keep : words of the row, as a number and as a bit each
    needs : a bit for each beat that the row reaches into, but for the first beat
    drops : beats that are used up with the row, one-hot: 0, 1, ...
    last : the stripe ends with the row
    missing : where ``config.has_padding``: bytes of the last word that do not count
    channel, tag : of the stripe
    """

    def __init__(self, config: EngineConfig):
        kept = kept_beats(config)
        padding = {"missing": unsigned(config.word_bytes.bit_length() - 1)}
        super().__init__(
            {
                "first": range(beat_words(config)),
                "count": unsigned(config.lanes.bit_length()),
                "keep": unsigned(config.lanes),
                "needs": unsigned(kept),
                "drops": unsigned(kept + 2),
                "last": unsigned(1),
                **(padding if config.has_padding else {}),
                "channel": unsigned(3),
                "tag": StripeTag(config),
            }
        )


class _Rows(data.StructLayout):
    """A stripe in rows.

    Members
    -------
    full : whole rows that are left
    rest, missing : words of the last, partial row; bytes that the last of them lacks
    is_whole : there is no partial row
    is_last : the next row is the last
    channel, tag : of the stripe
    """

    def __init__(self, config: EngineConfig):
        row_bits = config.beat_bytes.bit_length() - 1
        super().__init__(
            {
                "full": unsigned(size_bits(config) - row_bits),
                "rest": unsigned(config.lanes.bit_length()),
                "missing": unsigned(config.word_bytes.bit_length() - 1),
                "is_whole": unsigned(1),
                "is_last": unsigned(1),
                "channel": unsigned(3),
                "tag": StripeTag(config),
            }
        )


class RowPlanner(wiring.Component):
    """Divide stripes into rows, and find the words of each row in the beats of the link.

    Throughput one row a cycle, and one stripe in two cycles. The first plan is valid three cycles
    after its cut; all outputs and ``i_cut.ready`` come from registers.

    Where a stream ends inside a beat, the start of the next stream gives a plan without words,
    which uses up that beat.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    start : In, a new stream begins at the word ``first`` of a beat; only when ``idle``
    first : In
    i_cut : In stream of :class:`Cut`, of stripes only
    o : Out stream of :class:`RowPlan`
    idle : Out, no row is left of the cuts that were taken
    """

    start: Signal
    first: Signal
    i_cut: stream.Interface
    o: stream.Interface
    idle: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "start": In(1),
                "first": In(range(beat_words(config))),
                "i_cut": In(stream.Signature(Cut(config))),
                "o": Out(stream.Signature(RowPlan(config))),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.stripes = stripes = Queue(_Rows(config), 1)
        m.d.comb += [
            stripes.i.valid.eq(self.i_cut.valid),
            self.i_cut.ready.eq(stripes.i.ready),
        ]
        self._divide(m, stripes.i.payload)
        rows, has_rows = Signal(_Rows(config)), Signal()
        first = Signal.like(self.first)  # word of its beat that the next row begins with
        has_rest = Signal()  # the last row leaves a part of its beat
        loads, steps = Signal(), Signal()
        m.d.comb += [
            loads.eq(~self.o.valid | self.o.ready),
            steps.eq(loads & has_rows),
            stripes.o.ready.eq(~has_rows | (steps & rows.is_last)),
            self.idle.eq(~stripes.o.valid & ~has_rows & ~self.o.valid),
        ]
        with m.If(stripes.o.ready):
            m.d.sync += [rows.eq(stripes.o.payload), has_rows.eq(stripes.o.valid)]
        with m.Elif(steps):
            is_one, is_two = rows.full == 1, rows.full == 2
            m.d.sync += [
                rows.full.eq(rows.full - 1),
                rows.is_last.eq(Mux(rows.is_whole, is_two, is_one)),
            ]
        end = self._plan(m, rows, first)
        with m.If(loads):
            m.d.sync += self.o.valid.eq(has_rows)
        with m.If(self.start):
            # The rest of the beat before is of no stream.
            with m.If(has_rest):
                m.d.sync += self.o.valid.eq(1)
                m.d.sync += self._skip(self.o.payload)
            m.d.sync += [first.eq(self.first), has_rest.eq(0)]
        with m.Elif(steps):
            m.d.sync += [first.eq(end), has_rest.eq(end != 0)]
        return m

    def _divide(self, m, rows):
        """Decode a cut."""
        config, cut = self.config, self.i_cut.payload
        size, low = cut.size, config.beat_bytes.bit_length() - 1
        full, rest = size[low:], size[:low]
        m.d.comb += [
            rows.full.eq(full),
            rows.rest.eq((rest + (config.word_bytes - 1)) >> (config.word_bytes.bit_length() - 1)),
            rows.missing.eq(-size),
            rows.is_whole.eq(rest == 0),
            rows.is_last.eq(full == (rest == 0)),
            rows.channel.eq(cut.channel),
            rows.tag.eq(cut.tag),
        ]

    def _plan(self, m, rows, first):
        """Place the next row; gives the word behind it."""
        config, plan = self.config, self.o.payload
        words = beat_words(config)
        count, end = Signal.like(plan.count), Signal(range(words + config.lanes))
        m.d.comb += [
            count.eq(Mux(rows.is_last & ~rows.is_whole, rows.rest, config.lanes)),
            end.eq(first + count),
        ]
        passed = end >> (words.bit_length() - 1)
        with m.If(~self.o.valid | self.o.ready):
            m.d.sync += [
                plan.first.eq(first),
                plan.count.eq(count),
                plan.keep.eq(thermometer(count, config.lanes)),
                plan.needs.eq(Cat(end > words * (k + 1) for k in range(len(plan.needs)))),
                plan.drops.eq(Cat(passed == k for k in range(len(plan.drops)))),
                plan.last.eq(rows.is_last),
                plan.channel.eq(rows.channel),
                plan.tag.eq(rows.tag),
            ]
            if config.has_padding:
                m.d.sync += plan.missing.eq(Mux(rows.is_last, rows.missing, 0))
        return end % words

    def _skip(self, plan):
        """Statements: a plan that uses up a beat and has no words."""
        return [plan.count.eq(0), plan.keep.eq(0), plan.needs.eq(0), plan.drops.eq(0b10)]
