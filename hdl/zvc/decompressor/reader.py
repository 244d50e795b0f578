"""Reading the words of each output beat from the ring."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import add, tree
from cdma.hdl.lib.signals import registered, select
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.ring import RowInfo, add_row
from cdma.hdl.zvc.network import Routes, routes


class BeatTags(data.StructLayout):
    """What there is to know of an output beat, its words aside.

    Members
    -------
    words : words that leave with it, looked at when ``last``
    first : a mask stands before its words
    final : its block ends with it
    last : the packet ends with it
    truncated : the stream ended before the mask's end
    past_end : the mask has bits past the end of the data
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "words": config.lanes.bit_length(),
                "first": 1,
                "final": 1,
                "last": 1,
                "truncated": 1,
                "past_end": 1,
            }
        )


class Counted(data.StructLayout):
    """A beat whose words are to be read, and their number.

    Members
    -------
    mask : its non-zero words
    ranks : how many of them stand below each lane
    total : how many there are
    is_empty : there are none
    tags : :class:`BeatTags`
    """

    def __init__(self, config: Config):
        lanes = config.lanes
        super().__init__(
            {
                "mask": lanes,
                "ranks": data.ArrayLayout((lanes - 1).bit_length(), lanes),
                "total": lanes.bit_length(),
                "is_empty": 1,
                "tags": BeatTags(config),
            }
        )


class Read(data.StructLayout):
    """A beat on its way out.

    Members
    -------
    used : words of the stream that it took, its mask's included
    has_words : some of them are not its mask's
    behind : place behind its words, counted from the start of a row
    there : place behind the last word that was there, counted from the same
    has_more : other bytes of the packet were there, or came in later; looked at when ``last``
    tags : :class:`BeatTags`
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


def rows_of_beat(config: Config) -> int:
    """Rows that a beat's words and their mask may touch."""
    return (2 * config.lanes - 2 + config.format.mask_words) // config.lanes + 1


class PayloadReader(wiring.Component):
    """Read the words of a beat from the ring when they are there, or when they will never be.

    How far a beat's words reach is known a cycle after it comes. Until then it goes when all rows
    are there that they could be in, which costs nothing while the stream comes a row a cycle.

    Rows are freed as the reader passes them; a packet's last beat frees all that the packet still
    has, which may not have come in yet: until it has, nothing else is read and ``enable`` must not
    be given (``drains``).

    Throughput one beat a cycle; latency one cycle.

    Parameters
    ----------
    config : Config
        Lanes and format.
    rows : int
        Rows of the ring.

    Members
    -------
    i : In stream of :class:`Counted`
    accept, info : In, what :class:`~cdma.hdl.zvc.decompressor.ring.StreamRing` says of a row that it takes in
    has_room : Out, the ring has room for a row; from a register
    bank_rows : Out, which row each bank is to give
    enable : In, what follows takes a beat, or nothing
    launch : Out, with ``enable``: a beat is read
    has_word : Out, the banks that give one; in the others the stream has ended
    mask, routes : Out, where they go
    drains : Out, waits for the end of a packet
    o : Out, :class:`Read` of the beat launched before
    """

    def __init__(self, config: Config, rows: int):
        self.config = config
        self.rows = rows
        super().__init__(
            {
                "i": In(stream.Signature(Counted(config))),
                "accept": In(1),
                "info": In(RowInfo(config)),
                "has_room": Out(1, init=1),
                "bank_rows": Out(data.ArrayLayout(range(rows), config.lanes)),
                "enable": In(1),
                "launch": Out(1),
                "has_word": Out(config.lanes),
                "mask": Out(config.lanes),
                "routes": Out(Routes(config.lanes)),
                "drains": Out(1),
                "o": Out(Read(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        config = self.config
        lanes, mask_words = config.lanes, config.format.mask_words
        lane_bits = lanes.bit_length() - 1
        reach = rows_of_beat(config)

        beat = self.i.payload
        # Rows in the order in which they came, from the one on in which the words before end, and
        # the indices of the first of them in the ring.
        is_known = Signal(self.rows)
        infos = [
            Signal(RowInfo(config), name=f"info{k}", reset_less=True) for k in range(self.rows)
        ]
        indices = Signal(data.ArrayLayout(range(self.rows), reach), init=range(reach))
        # Where the beat's words stand if all went well, behind those before and their block's mask:
        # a row counted from that one, and a lane; and in which row each bank has its word.
        start = Signal(_Start(config), init=_start(mask_words, lanes))
        begins = Signal(init=1)  # with a block
        is_past = Signal()  # the packet has no more rows; those that are known are the next's
        is_ours = Signal(reach)  # which rows are there, and the packet's
        may_read = Signal(reach)  # up to which row one may read
        draining = self.drains

        # Go when the words are there or will never be.
        is_void = begins & ~beat.tags.first  # a packet without words, and without a mask
        first_row = Signal.like(start.row)
        carries = Signal()
        place, carry = Signal(lane_bits), Signal()  # behind the words, and whether in the next row
        behind = Signal(range(2 * lanes + mask_words))
        m.d.comb += [
            first_row.eq(Mux(is_void, 0, start.row)),
            Cat(place, carries).eq(add(m, start.lane, beat.total[:-1])),
            carry.eq(carries | beat.total[-1]),  # a beat that is full leaves the lane as it was
            behind.eq(Mux(is_void, 0, Cat(place, first_row + carry))),
        ]
        needs, known_needs = Signal(reach - 1), Signal(reach - 1)
        for row in range(reach - 1):
            m.d.comb += needs[row].eq((behind > row * lanes) & (behind <= (row + 1) * lanes))
        m.d.sync += known_needs.eq(needs & (self.i.valid & ~self.launch).replicate(reach - 1))
        # Of two rows the second is always one of those; of more, the start tells which is the last.
        farthest = may_read[-1] if reach == 2 else select(m, start.row0, list(may_read))
        may_go = beat.is_empty | farthest | (known_needs & may_read[:-1]).any()
        m.d.comb += [
            self.launch.eq(self.enable & self.i.valid & may_go),
            self.i.ready.eq(self.launch),
            self.mask.eq(beat.mask),
            self.routes.eq(routes(m, beat.ranks, start.lane)),
        ]
        ours = list(zip(is_ours, infos, strict=False))
        for bank in range(lanes):
            has_word = [here & (info.count > bank) for here, info in ours]
            row = start[f"row{bank}"]
            m.d.comb += [
                self.bank_rows[bank].eq(select(m, row, list(indices), f"row{bank}")),
                self.has_word[bank].eq(select(m, row, has_word)),
            ]

        # Go on behind the words, and behind the packet when it ends. Whether the beat goes, and
        # whether its words end a row on, comes late and only selects.
        window = self._window(m, is_known, infos)
        ends_here = [here & info.last for here, info in ours]
        to_end = Signal(range(reach + 1))
        for k in reversed(range(reach)):
            with m.If(ends_here[k]):
                m.d.comb += to_end.eq(k + 1)
        is_end_seen = Cat(ends_here).any()

        stays = Signal(_Step(reach), name="stays")
        m.d.comb += stays.is_past.eq(is_past)
        with m.If(draining):
            m.d.comb += [stays.passes.eq(is_ours[0]), stays.drains.eq(~ends_here[0])]
        steps = [stays]
        for carried in range(2):
            goes = Signal(_Step(reach), name=f"goes{carried}")
            steps.append(goes)
            passes = Signal(range(reach + 1), name=f"passes{carried}")
            m.d.comb += passes.eq(first_row + carried)
            with m.If(is_past):
                m.d.comb += goes.is_past.eq(~beat.tags.last)
            with m.Elif(is_end_seen & (beat.tags.last | (passes >= to_end))):
                m.d.comb += [goes.passes.eq(to_end), goes.is_past.eq(~beat.tags.last)]
            with m.Else():
                m.d.comb += [goes.passes.eq(passes), goes.drains.eq(beat.tags.last)]

        following = Signal(range(lanes + mask_words))
        next_start = Signal.like(start)
        skipped = Mux(beat.tags.final, Const(mask_words), 0)
        m.d.comb += following.eq(add(m, Mux(beat.tags.last, 0, place), skipped))
        for name, value in _start(following, lanes).items():
            m.d.comb += next_start[name].eq(value)
        with m.If(self.launch):
            m.d.sync += [start.eq(next_start), begins.eq(beat.tags.final)]
        stay, *go = [self._outcome(m, indices, window, step) for step in steps]
        state = Signal.like(stay)
        m.d.comb += state.eq(Mux(self.launch, Mux(carry, go[1], go[0]), stay))
        m.d.sync += [
            is_past.eq(state.step.is_past),
            draining.eq(state.step.drains),
            indices.eq(state.indices),
            is_ours.eq(state.is_ours),
            may_read.eq(state.may_read),
            self.has_room.eq(state.has_room),
            is_known.eq(Cat(row.is_there for row in state.known)),
            *(info.eq(row.info) for info, row in zip(infos, state.known, strict=True)),
        ]

        # What there is to report of it.
        counts = [Mux(here, info.count, 0) for here, info in ours]
        is_ragged = Cat(here & info.ragged for here, info in ours).any()
        read = Signal.like(self.o, reset_less=True)
        drained = Signal()  # a row with something in it
        with m.If(self.enable):
            m.d.sync += [
                read.used.eq(beat.total + Mux(beat.tags.first, mask_words, 0)),
                read.has_words.eq(~beat.is_empty),
                read.behind.eq(behind),
                read.there.eq(tree(m, counts)),
                read.has_more.eq(is_ragged),
                read.tags.eq(beat.tags),
                drained.eq(0),
            ]
        with m.If(draining & is_ours[0] & ((infos[0].count != 0) | infos[0].ragged)):
            m.d.sync += drained.eq(1)
        m.d.comb += [self.o.eq(read), self.o.has_more.eq(read.has_more | drained)]
        return m

    def _outcome(self, m, indices, window, step):
        """State after a step."""
        passes, reach = step.passes, len(indices)
        result = Signal(
            data.StructLayout(
                {
                    "step": step.shape(),
                    "known": data.ArrayLayout(_Row(self.config), self.rows),
                    "is_ours": reach,
                    "may_read": reach,
                    "indices": indices.shape(),
                    "has_room": 1,
                }
            )
        )
        m.d.comb += result.step.eq(step)
        for k, row in enumerate(result.known):
            m.d.comb += row.eq(select(m, passes, window[k : k + reach + 1], f"next_known{k}"))
        # A row that comes in now is known a cycle later.
        m.d.comb += result.has_room.eq(
            ~result.known[-1].is_there & ~(result.known[-2].is_there & self.accept)
        )
        is_over = step.is_past
        for k in range(reach):
            row = result.known[k]
            m.d.comb += [
                result.is_ours[k].eq(row.is_there & ~is_over),
                result.may_read[k].eq(row.is_there | is_over),
            ]
            is_over = is_over | (row.is_there & row.info.last)
        rows = [*indices, *(add_row(m, index, reach, self.rows) for index in indices)]
        for k, index in enumerate(result.indices):
            m.d.comb += index.eq(select(m, passes, rows[k : k + reach + 1], f"next_index{k}"))
        return result

    def _window(self, m, is_known, infos):
        """The rows that are known, the one that has just come behind them, and then nothing."""
        came = registered(m, self.accept, "came", is_reset=True)
        came_info = registered(m, self.info, "came_info")
        length = self.rows + rows_of_beat(self.config)
        window = [Signal(_Row(self.config), name=f"window{k}") for k in range(length)]
        is_next = 1
        for row, is_there, info in zip(window, is_known, infos, strict=False):
            m.d.comb += [
                row.is_there.eq(is_there | (came & is_next)),
                row.info.eq(Mux(is_there, info, came_info)),
            ]
            is_next = is_there
        return window


class _Row(data.StructLayout):
    """A row: whether it is there, and what is known of it."""

    def __init__(self, config: Config):
        super().__init__({"is_there": 1, "info": RowInfo(config)})


class _Start(data.StructLayout):
    """Where a beat's words begin: a row, and a lane in it; and for each bank, in which row its word
    stands: those from that lane on in that row, those below in the next."""

    def __init__(self, config: Config):
        rows = range(rows_of_beat(config))
        banks = {f"row{bank}": rows for bank in range(config.lanes)}
        super().__init__({"lane": range(config.lanes), "row": rows, **banks})


def _start(place, lanes):
    """Fields of :class:`_Start`, from a number of words or a value of it."""
    row, lane = place // lanes, place % lanes
    banks = {f"row{bank}": row + (lane > bank) for bank in range(lanes)}
    return {"lane": lane, "row": row, **banks}


class _Step(data.StructLayout):
    """Where the reader goes: rows to pass, and whether the packet then has no more rows, or is
    drained."""

    def __init__(self, reach: int):
        super().__init__({"passes": range(reach + 1), "is_past": 1, "drains": 1})
