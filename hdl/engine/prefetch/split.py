"""The stream of the link cut into stripes."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import Status
from cdma.engine_config import EngineConfig
from cdma.hdl.engine.common.bursts import ReadData
from cdma.hdl.engine.common.errors import is_error, status_of
from cdma.hdl.engine.common.records import Row
from cdma.hdl.engine.prefetch.records import StripeError
from cdma.hdl.engine.prefetch.rows import Cut, RowPlanner, beat_words, kept_beats
from cdma.hdl.lib.parts import advance_in_parts
from cdma.hdl.lib.shifter import shift_down
from cdma.hdl.lib.signals import any_of
from cdma.hdl.zvc.beat import kept_words


class SplitRow(data.StructLayout):
    """A row, and its channel."""

    def __init__(self, config: EngineConfig):
        super().__init__({"row": Row(config), "channel": unsigned(3)})


class Split(wiring.Component):
    """Cut the beats of the link into the rows of stripes.

    Throughput one row or one beat a cycle; the row comes from registers, two cycles after its last
    beat. Rows are planned ahead, so ``i_cut.ready`` comes from registers. A stripe that ends inside
    a word has a last row that says so, and the next one begins with the word behind.

    The first error of a stream is reported, with the address of its beat: later ones are of higher
    stripes.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    start : In, a new stream begins at ``address``; only when ``idle``. What is left of the beat
        that the stream before ended in is dropped; the next beat is the first of the new stream.
    address : In, of the stream: a multiple of a word
    i : In stream of :class:`~cdma.hdl.engine.common.bursts.ReadData`, whole beats
    i_cut : In stream of :class:`~cdma.hdl.engine.prefetch.rows.Cut`, of stripes only
    o : Out stream of :class:`SplitRow`
    o_error : Out stream of :class:`~cdma.hdl.engine.prefetch.records.StripeError`
    idle : Out, no cut is at hand, and no row or report waits
    """

    start: Signal
    address: Signal
    i: stream.Interface
    i_cut: stream.Interface
    o: stream.Interface
    o_error: stream.Interface
    idle: Signal

    def __init__(self, config: EngineConfig):
        self.config = config
        super().__init__(
            {
                "start": In(1),
                "address": In(config.address_bits),
                "i": In(stream.Signature(ReadData(config.link_bytes))),
                "i_cut": In(stream.Signature(Cut(config))),
                "o": Out(stream.Signature(SplitRow(config))),
                "o_error": Out(stream.Signature(StripeError(config))),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        m.submodules.planner = planner = RowPlanner(config)
        wiring.connect(m, wiring.flipped(self.i_cut), planner.i_cut)
        shift = config.word_bytes.bit_length() - 1
        plan, has_plan = planner.o.payload, planner.o.valid
        steps, has_words = Signal(), Signal()
        beats, is_enough = self._keep(m, plan, steps)
        m.d.comb += [
            planner.start.eq(self.start),
            planner.first.eq(self.address[shift:]),
            has_words.eq(plan.count != 0),
            steps.eq(has_plan & is_enough & (~self.o.valid | self.o.ready)),
            planner.o.ready.eq(is_enough & (~self.o.valid | self.o.ready)),
        ]
        words = [
            each.data[config.word_bits * k : config.word_bits * (k + 1)]
            for each in beats
            for k in range(beat_words(config))
        ]
        shifted = shift_down(m, words, plan.first, "shifted")[: config.lanes]
        row = self.o.payload.row
        with m.If(~self.o.valid | self.o.ready):
            m.d.sync += [
                self.o.valid.eq(has_plan & is_enough & has_words),
                self.o.payload.channel.eq(plan.channel),
                Cat(row.words.as_value()).eq(kept_words(shifted, plan.keep)),
                row.count.eq(plan.count),
                row.last.eq(plan.last),
            ]
            if config.has_padding:
                m.d.sync += row.missing.eq(plan.missing)
        waits = self._report(m, plan, beats, steps & has_words)
        m.d.comb += self.idle.eq(planner.idle & ~self.o.valid & ~waits)
        return m

    def _keep(self, m, plan, steps):
        """Keep the beats that rows lie in; gives them, and whether those of the row are there.

        The last of these is offered and not kept: it counts only behind all others.
        """
        kept = kept_beats(self.config)
        beats = [Signal(ReadData(self.config.link_bytes), name=f"beat{k}") for k in range(kept)]
        valid = Signal(kept)
        offered = self.i.payload
        has_last = valid[-1] & self.i.valid
        missing = Cat(plan.needs & ~Cat(valid[1:], has_last)).any() | ~valid[0]
        # How many beats are used up, one-hot, if any.
        drops = {k: steps & plan.drops[k] for k in range(1, len(plan.drops))}
        stays, stores = ~any_of(drops.values()), Signal()
        m.d.comb += [
            self.i.ready.eq(~valid[-1] | ~stays),
            stores.eq(self.i.valid & self.i.ready & ~drops[kept + 1]),
        ]
        is_before = Const(1, 1)
        for k, beat in enumerate(beats):
            is_kept = stays & valid[k]
            moves = [(drops[n] & valid[k + n], beats[k + n]) for n in range(1, kept - k)]
            value = offered.as_value()  # where nothing moves up, so that it is valid, or not needed
            for is_moved, source in moves:
                value = Mux(is_moved, source.as_value(), value)
            with m.If(~is_kept):
                m.d.sync += beat.eq(value)
            is_left = any_of([is_kept, *(is_moved for is_moved, _ in moves)])
            m.d.sync += valid[k].eq(is_left | (stores & is_before))
            is_before = is_left
        return [*beats, offered], ~missing

    def _report(self, m, plan, beats, moves):
        """Report the first beat that was read with an error; gives whether a report waits."""
        config, report = self.config, self.o_error.payload
        low = config.link_bytes.bit_length() - 1
        place = Signal(config.address_bits - low)  # of the first beat that is kept, as a number
        has_failed, is_reported = Signal(), Signal()
        found, resp, number = Signal(), Signal.like(beats[0].resp), Signal(range(len(beats)))
        for k, beat in reversed(list(enumerate(beats))):
            is_used = plan.needs[k - 1] if k else 1
            with m.If(is_used & is_error(beat.resp)):
                m.d.comb += [found.eq(1), resp.eq(beat.resp), number.eq(k)]
        used = Signal(range(len(plan.drops)))
        for k in range(1, len(plan.drops)):
            with m.If(plan.drops[k]):
                m.d.comb += used.eq(k)
        # The place stays at the beat with the error.
        step = Mux(moves & ~has_failed, Mux(found, number, used), 0)
        carries = advance_in_parts(m, place, step, "place", parts=5)
        m.d.comb += [
            self.o_error.valid.eq(has_failed & ~is_reported & ~carries.any()),
            report.where.eq(place << low),
        ]
        with m.If(self.start):
            m.d.sync += [
                place.eq(self.address >> low),
                carries.eq(0),
                has_failed.eq(0),
                is_reported.eq(0),
            ]
        with m.Elif(moves & found & ~has_failed):
            m.d.sync += [
                has_failed.eq(1),
                report.tag.eq(plan.tag),
                report.status.eq(status_of(resp, Status.HOST_SLVERR)),
            ]
        with m.Elif(self.o_error.valid & self.o_error.ready):
            m.d.sync += is_reported.eq(1)
        return has_failed & ~is_reported
