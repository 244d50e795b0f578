"""The stream of the link cut into stripes."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, unsigned
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.engine_codes import LINK, Status
from cdma.engine_config import EngineConfig
from cdma.hdl.axi.full import Response
from cdma.hdl.engine.common.bursts import ReadData
from cdma.hdl.engine.common.errors import ErrorSlot, is_error, status_of
from cdma.hdl.engine.common.records import ErrorReport, Row, Tag
from cdma.hdl.engine.common.words import WordShifter
from cdma.hdl.zvc.beat import thermometer


class Cut(data.StructLayout):
    """A stripe of the stream: its ``channel``, ``tag`` and ``size`` in bytes."""

    def __init__(self):
        super().__init__({"channel": unsigned(3), "tag": Tag(), "size": unsigned(24)})


class SplitRow(data.StructLayout):
    """A row, and its channel."""

    def __init__(self, config: EngineConfig):
        super().__init__({"row": Row(config), "channel": unsigned(3)})


class Split(wiring.Component):
    """Cut the beats of the link into the rows of stripes.

    Throughput one row or one beat a cycle, latency 2 cycles; the row comes from registers. The next
    cut is taken with a stripe's last row. A stripe that ends inside a word has a last row that says
    so, and the next one begins with the word behind.

    Parameters
    ----------
    config : EngineConfig

    Members
    -------
    start : In, a new stream begins at ``address``
    address : In, of the stream: a multiple of a word
    i : In stream of :class:`~cdma.hdl.engine.common.bursts.ReadData`, whole beats
    i_cut : In stream of :class:`Cut`
    o : Out stream of :class:`SplitRow`
    o_error : Out stream of :class:`~cdma.hdl.engine.common.records.ErrorReport`
    idle : Out, no cut is at hand
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
                "i_cut": In(stream.Signature(Cut())),
                "o": Out(stream.Signature(SplitRow(config))),
                "o_error": Out(stream.Signature(ErrorReport())),
                "idle": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config, lanes = self.config, self.config.lanes
        bits, shift = config.word_bits, config.word_bytes.bit_length() - 1
        link = config.link_bytes
        beat_words = link // config.word_bytes
        # Each word carries the response of its beat: the stripes in a beat may be several.
        m.submodules.shifter = shifter = WordShifter(bits + 2, beat_words, lanes)
        skip = Signal(range(max(beat_words, 2)))  # words of the first beat before the stream
        cut, has_cut = Signal(Cut()), Signal()
        left, is_last = Signal(24 - shift), Signal()  # words of the stripe; no more than a row
        words, count = Signal.like(left), Signal(range(lanes + 1))
        size = self.i_cut.payload.size
        if config.has_padding:
            size = size + (config.word_bytes - 1)
            m.d.comb += self.o.payload.row.missing.eq(Mux(is_last, -cut.size, 0))
        row = self.o.payload.row
        skips, moves = Signal(), Signal()
        m.d.comb += [
            self.i.ready.eq(shifter.i.ready),
            shifter.i.valid.eq(self.i.valid & ~self.start),
            shifter.clear.eq(self.start),
            shifter.i.payload.count.eq(beat_words),
            skips.eq(skip != 0),
            words.eq(size >> shift),
            count.eq(Mux(is_last, left, lanes)),
            shifter.need.eq(Mux(skips, Mux(skip < lanes, skip, lanes), count)),
            self.o.valid.eq(shifter.o.valid & has_cut & ~skips),
            self.o.payload.channel.eq(cut.channel),
            row.count.eq(count),
            row.last.eq(is_last),
            moves.eq(self.o.valid & self.o.ready),
            shifter.o.ready.eq(skips | (has_cut & self.o.ready)),
            self.i_cut.ready.eq(~has_cut | (moves & is_last)),
            self.idle.eq(~has_cut),
        ]
        for k in range(beat_words):
            word = self.i.payload.data[bits * k : bits * (k + 1)]
            m.d.comb += shifter.i.payload.words[k].eq(Cat(word, self.i.payload.resp))
        for k in range(lanes):
            m.d.comb += row.words[k].eq(shifter.o.payload.words[k][:bits])
        with m.If(self.start):
            m.d.sync += skip.eq(
                self.address[shift : link.bit_length() - 1] if beat_words > 1 else 0
            )
        with m.Elif(skips & shifter.o.valid):
            m.d.sync += skip.eq(skip - shifter.need)
        with m.If(self.i_cut.ready):
            m.d.sync += [
                has_cut.eq(self.i_cut.valid),
                cut.eq(self.i_cut.payload),
                left.eq(words),
                is_last.eq(words <= lanes),
            ]
        with m.Elif(moves):
            m.d.sync += [left.eq(left - lanes), is_last.eq(left <= 2 * lanes)]
        self._report(m, shifter, cut, count, moves, is_last)
        return m

    def _report(self, m, shifter, cut, count, moves, is_last):
        """Report a stripe's first word that was read with an error."""
        config = self.config
        shift = config.word_bytes.bit_length() - 1
        m.submodules.slot = slot = ErrorSlot()
        wiring.connect(m, slot.o, wiring.flipped(self.o_error))
        kept = thermometer(count, config.lanes)
        first, resp, fails = Signal(range(config.lanes)), Signal(Response), Signal()
        for k in reversed(range(config.lanes)):
            found = Signal(Response, name=f"resp{k}")
            m.d.comb += found.eq(shifter.o.payload.words[k][config.word_bits :])
            with m.If(kept[k] & is_error(found)):
                m.d.comb += [first.eq(k), resp.eq(found), fails.eq(1)]
        place, word = Signal(config.address_bits), Signal(config.address_bits)
        m.d.comb += word.eq(place + (first << shift))
        reported = Signal()  # of this stripe
        m.d.comb += [
            slot.valid.eq(moves & fails & ~reported),
            slot.report.tag.eq(cut.tag),
            slot.report.status.eq(status_of(resp, Status.HOST_SLVERR)),
            slot.report.where.eq(word & Const(-config.link_bytes, 64)),
            slot.report.channel.eq(LINK),
            slot.report.halts.eq(1),
        ]
        with m.If(self.start):
            m.d.sync += place.eq(self.address)
        with m.Elif(moves):
            m.d.sync += [
                place.eq(place + (count << shift)),
                reported.eq((reported | fails) & ~is_last),
            ]
