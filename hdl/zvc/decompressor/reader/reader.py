"""Reading the words of each output beat from the ring."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import tree
from cdma.hdl.lib.signals import select
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.beats.beat import BeatTags, CountedBeat
from cdma.hdl.zvc.decompressor.reader.place import BeatPlace, rows_of_beat
from cdma.hdl.zvc.decompressor.reader.window import RowWindow
from cdma.hdl.zvc.decompressor.ring import RowInfo
from cdma.hdl.zvc.decompressor.rows import RowIndex
from cdma.hdl.zvc.network import Routes, routes


class ReadBeat(data.StructLayout):
    """A beat that has been read.

    Members
    -------
    used : words of the stream that it took, its mask's included
    has_words : some of them do not belong to the mask
    behind : place after its words, counted from the start of a row
    there : place after the last word that had arrived, counted from the start of the same row
    has_more : the packet has further bytes, in the ring or later; meaningful when ``last``
    tags : :class:`~cdma.hdl.zvc.decompressor.beats.beat.BeatTags`
    """

    def __init__(self, config: Config):
        lanes, mask_words = config.lanes, config.format.mask_words
        super().__init__(
            {
                "used": range(lanes + mask_words + 1),
                "has_words": 1,
                "behind": range(2 * lanes + mask_words),
                "there": range(rows_of_beat(config) * lanes + 1),
                "has_more": 1,
                "tags": BeatTags(config),
            }
        )


class PayloadReader(wiring.Component):
    """Read the words of a beat from the ring, when they have arrived or the packet has ended.

    The last row of a beat is known in its second cycle. In its first cycle, it is launched when all
    rows that could contain its words have arrived: no loss while the stream has a row a cycle.

    Throughput one beat a cycle; latency one cycle.

    Parameters
    ----------
    config : Config
        Lanes and format.
    rows : int
        Rows of the ring.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.zvc.decompressor.beats.beat.CountedBeat`
    accept, info : In, a row that :class:`~cdma.hdl.zvc.decompressor.ring.StreamRing` accepts, and
        its content
    has_room : Out, the ring has room for a row; from a register
    bank_rows : Out, row to read in each bank
    enable : In, the next stage accepts a beat
    launch : Out, with ``enable``: a beat is read
    has_word : Out, banks with a word; in the others the stream has ended
    mask, routes : Out, lanes of the words
    drains : Out, waits for the end of a packet; ``enable`` must be low
    o_valid, o : Out, :class:`ReadBeat` that was launched with the last ``enable``
    """

    i: stream.Interface
    accept: Signal
    info: data.View
    has_room: Signal
    bank_rows: data.View
    enable: Signal
    launch: Signal
    has_word: Signal
    mask: Signal
    routes: data.View
    drains: Signal
    o_valid: Signal
    o: data.View

    def __init__(self, config: Config, rows: int):
        self.config = config
        self.rows = rows
        super().__init__(
            {
                "i": In(stream.Signature(CountedBeat(config))),
                "accept": In(1),
                "info": In(RowInfo(config)),
                "has_room": Out(1),
                "bank_rows": Out(data.ArrayLayout(RowIndex.of(config, rows).shape, config.lanes)),
                "enable": In(1),
                "launch": Out(1),
                "has_word": Out(config.lanes),
                "mask": Out(config.lanes),
                "routes": Out(Routes(config.lanes)),
                "drains": Out(1),
                "o_valid": Out(1),
                "o": Out(ReadBeat(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beat = self.i.payload
        m.submodules.place = place = BeatPlace(self.config)
        m.submodules.window = window = RowWindow(self.config, self.rows)
        m.d.comb += [
            place.launch.eq(self.launch),
            place.beat.eq(beat),
            window.accept.eq(self.accept),
            window.info.eq(self.info),
            window.launch.eq(self.launch),
            window.last.eq(beat.tags.last),
            window.first_row.eq(place.first_row),
            window.carry.eq(place.carry),
            self.has_room.eq(window.has_room),
            self.drains.eq(window.drains),
            self.launch.eq(self.enable & self.i.valid & self._may_launch(m, place, window)),
            self.i.ready.eq(self.launch),
            self.mask.eq(beat.mask),
            self.routes.eq(routes(m, beat.ranks, place.start.lane)),
        ]
        ours = list(zip(window.is_ours, window.infos, strict=True))
        for bank in range(self.config.lanes):
            has_word = [here & (info.count > bank) for here, info in ours]
            row = place.start[f"row{bank}"]
            m.d.comb += [
                self.bank_rows[bank].eq(select(m, row, list(window.indices), f"row{bank}")),
                self.has_word[bank].eq(select(m, row, has_word)),
            ]
        self._report(m, beat, place, window, ours)
        return m

    def _may_launch(self, m, place, window):
        """The rows of a beat's words have arrived, or the packet has ended."""
        beat, lanes, reach = self.i.payload, self.config.lanes, window.reach
        needs, known_needs = Signal(reach - 1), Signal(reach - 1)
        for row in range(reach - 1):
            m.d.comb += needs[row].eq(
                (place.behind > row * lanes) & (place.behind <= (row + 1) * lanes)
            )
        is_waiting = self.i.valid & ~self.launch
        m.d.sync += known_needs.eq(needs & is_waiting.replicate(reach - 1))
        # Of two rows the second is always one of those; of more, the start gives the last.
        may_read = window.may_read
        farthest = may_read[-1] if reach == 2 else select(m, place.start.row0, list(may_read))
        return beat.is_empty | farthest | (known_needs & may_read[:-1]).any()

    def _report(self, m, beat, place, window, ours):
        """Data of the beat for the report."""
        counts = [Mux(here, info.count, 0) for here, info in ours]
        is_ragged = Cat(here & info.ragged for here, info in ours).any()
        mask_words = Mux(beat.tags.first, self.config.format.mask_words, 0)
        read = Signal.like(self.o, reset_less=True)
        drained = Signal()  # a row with bytes in it
        with m.If(self.enable):
            m.d.sync += [
                self.o_valid.eq(self.launch),
                read.used.eq(beat.total + mask_words),
                read.has_words.eq(~beat.is_empty),
                read.behind.eq(place.behind),
                read.there.eq(tree(m, counts)),
                read.has_more.eq(is_ragged),
                read.tags.eq(beat.tags),
            ]
        if window.may_drain:
            with m.If(self.enable):
                m.d.sync += drained.eq(0)
            with m.If(window.leftover):
                m.d.sync += drained.eq(1)
        m.d.comb += [self.o.eq(read), self.o.has_more.eq(read.has_more | drained)]
