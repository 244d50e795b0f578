"""Where a beat's words are in the stream."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import add, carry_of
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.beats.beat import CountedBeat


def rows_of_beat(config: Config) -> int:
    """Rows that a beat's words and their mask may touch."""
    return (2 * config.lanes - 2 + config.format.mask_words) // config.lanes + 1


class Start(data.StructLayout):
    """Where a beat's words begin, behind those before and their block's mask.

    Members
    -------
    lane, row : lane of the first word, and its row, counted from the row in which those before end
    row0, row1, ... : per bank, in which row it has its word: ``row``, or the next below ``lane``
    """

    def __init__(self, config: Config):
        rows = range(rows_of_beat(config))
        banks = {f"row{bank}": rows for bank in range(config.lanes)}
        super().__init__({"lane": range(config.lanes), "row": rows, **banks})


class BeatPlace(wiring.Component):
    """Follow the place of the next beat's words from beat to beat.

    Throughput one beat a cycle; ``start`` comes from registers, what lies behind the beat is
    combinational from it.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    launch : In, the beat is read
    beat : In, :class:`~cdma.hdl.zvc.decompressor.beats.beat.CountedBeat`
    start : Out, :class:`Start` of the beat
    first_row : Out, row in which the beat's words begin, 0 for a packet without words; with a tail
        of ones, not meaningful at a packet's last beat, which has none
    carry : Out, the words end one row further on
    behind : Out, place behind the words, counted from the start of the row in which those before
        end
    """

    launch: Signal
    beat: data.View
    start: data.View
    first_row: Signal
    carry: Signal
    behind: Signal

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "launch": In(1),
                "beat": In(CountedBeat(config)),
                "start": Out(Start(config), init=_start(config.format.mask_words, config.lanes)),
                "first_row": Out(range(rows_of_beat(config))),
                "carry": Out(1),
                "behind": Out(range(2 * config.lanes + config.format.mask_words)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes, mask_words = self.config.lanes, self.config.format.mask_words
        beat, start = self.beat, self.start
        begins = Signal(init=1)  # with a block
        is_void = begins & ~beat.tags.first  # a packet without words, and without a mask
        place, carries = Signal(range(lanes)), Signal()
        # Where the words before end: an empty block behind a packet has no mask to skip.
        ends_itself = self.config.format.ends_itself
        ended = Signal(range(lanes), name="ended") if ends_itself else 0
        following = Signal(range(lanes + mask_words))
        skipped = Mux(beat.tags.final, Const(mask_words), 0)  # the mask of the next block
        m.d.comb += [
            self.first_row.eq(start.row if ends_itself else Mux(is_void, 0, start.row)),
            place.eq(add(m, start.lane, beat.total[:-1])),
            # Apart from the sum, whose carry ripples: this is the longest path.
            carries.eq(carry_of(start.lane, beat.total[:-1])),
            # A full beat does not change the lane.
            self.carry.eq(carries | beat.total[-1]),
            self.behind.eq(Mux(is_void, ended, Cat(place, self.first_row + self.carry))),
            following.eq(add(m, Mux(beat.tags.last, 0, place), skipped)),
        ]
        next_start = Signal.like(start)
        for name, value in _start(following, lanes).items():
            m.d.comb += next_start[name].eq(value)
        with m.If(self.launch):
            m.d.sync += [start.eq(next_start), begins.eq(beat.tags.final)]
            if ends_itself:
                m.d.sync += ended.eq(Mux(beat.tags.last, 0, place))
        return m


def _start(place, lanes):
    """Fields of :class:`Start`, from a number of words or a value of it."""
    row, lane = place // lanes, place % lanes
    banks = {f"row{bank}": row + (lane > bank) for bank in range(lanes)}
    return {"lane": lane, "row": row, **banks}
