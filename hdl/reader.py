"""Reading the words of each output beat from the ring."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.butterfly import Routes
from cdma.hdl.config import Config
from cdma.hdl.prefix import tree
from cdma.hdl.ring import RowInfo
from cdma.hdl.signals import select


class BeatTags(data.StructLayout):
    """What there is to know of an output beat, its words aside.

    Members
    -------
    words : words that leave with it, looked at when ``last``
    first : a mask stands before its words
    last : the packet ends with it
    truncated : the stream ended before the mask's end
    past_end : the mask has bits past the end of the data
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "words": config.lanes.bit_length(),
                "first": 1,
                "last": 1,
                "truncated": 1,
                "past_end": 1,
            }
        )


class Counted(data.StructLayout):
    """A beat whose words are to be read, and where they stand if the stream is as it should be:
    counted from the start of the row in which the words before them end.

    Members
    -------
    mask : its non-zero words
    routes : how they get to their lanes, :class:`~cdma.hdl.butterfly.Routes`
    rows : for each bank, in which row its word stands
    behind : place behind the last
    total : how many there are
    needs : one-hot, what must be there: nothing, or all up to the first row, the second, ...
    tags : :class:`BeatTags`
    """

    def __init__(self, config: Config):
        lanes, mask_words = config.lanes, config.format.mask_words
        super().__init__(
            {
                "mask": lanes,
                "routes": Routes(lanes),
                "rows": data.ArrayLayout(range(rows_of_beat(config)), lanes),
                "behind": range(2 * lanes + mask_words),
                "total": lanes.bit_length(),
                "needs": 1 + rows_of_beat(config),
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
    is_full, infos : In, what :class:`~cdma.hdl.ring.StreamRing` says of its rows
    free : Out, a bit per row: the reader passes it
    passes : Out, array of 2: how many rows it passes in this, without and with ``launch``
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
                "is_full": In(rows),
                "infos": In(data.ArrayLayout(RowInfo(config), rows)),
                "free": Out(rows),
                "passes": Out(data.ArrayLayout(range(rows + 1), 2)),
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
        at = Signal(self.rows, init=1)  # the row in which the words before end, one-hot
        is_past = Signal()  # the packet has no more rows; ``at`` is the next's first
        ahead = [Signal(_Seen(config), name=f"ahead{k}") for k in range(reach)]  # from there on
        indices = Signal(data.ArrayLayout(range(self.rows), reach), init=range(reach))  # of these
        draining = self.drains

        # Which of these rows are there and the packet's, and up to which of them one may read.
        seen = [Signal(_Seen(config), name=f"seen{k}") for k in range(reach)]
        may_read = Signal(reach)
        is_over = is_past
        for k, (row, known) in enumerate(zip(seen, ahead, strict=True)):
            m.d.comb += [
                row.eq(known),
                row.is_there.eq(known.is_there & ~is_over),
                may_read[k].eq(known.is_there | is_over),
            ]
            is_over = is_over | (known.is_there & known.info.last)

        # Go when the words are there or will never be.
        m.d.comb += [
            self.launch.eq(self.enable & self.i.valid & (beat.needs & Cat(1, may_read)).any()),
            self.i.ready.eq(self.launch),
            self.mask.eq(beat.mask),
            self.routes.eq(beat.routes),
        ]
        for bank in range(lanes):
            k = beat.rows[bank]
            has_word = Cat(row.is_there & (row.info.count > bank) for row in seen)
            is_row = Cat(k == row for row in range(reach))
            m.d.comb += [
                self.bank_rows[bank].eq(select(m, k, list(indices), f"row{bank}")),
                self.has_word[bank].eq((has_word & is_row).any()),
            ]

        # Go on behind the words, and behind the packet when it ends. Whether the beat goes comes
        # late and only selects.
        window = self._window(m, at, 2 * reach)
        ends_here = [row.is_there & row.info.last for row in seen]
        passes, meets_last = Signal(range(reach + 1)), Signal()
        m.d.comb += passes.eq(beat.behind >> lane_bits)
        to_end = Signal(range(reach + 1))
        for k in reversed(range(reach)):
            with m.If(ends_here[k]):
                m.d.comb += to_end.eq(k + 1)
                with m.If((beat.behind >> lane_bits) > k):
                    m.d.comb += [passes.eq(k + 1), meets_last.eq(1)]

        goes, stays = Signal(_Step(reach), name="goes"), Signal(_Step(reach), name="stays")
        with m.If(is_past):
            m.d.comb += goes.is_past.eq(~beat.tags.last)
        with m.Elif(~beat.tags.last):
            m.d.comb += [goes.passes.eq(passes), goes.is_past.eq(meets_last)]
        with m.Elif(Cat(ends_here).any()):
            m.d.comb += goes.passes.eq(to_end)
        with m.Else():
            m.d.comb += [goes.passes.eq(passes), goes.drains.eq(1)]
        m.d.comb += stays.is_past.eq(is_past)
        with m.If(draining):
            m.d.comb += [stays.passes.eq(seen[0].is_there), stays.drains.eq(~ends_here[0])]

        outcomes = [self._outcome(m, at, window, reach, step) for step in (stays, goes)]
        state = Signal.like(outcomes[0])
        m.d.comb += state.eq(Mux(self.launch, outcomes[1], outcomes[0]))
        m.d.sync += [
            is_past.eq(state.step.is_past),
            draining.eq(state.step.drains),
            at.eq(state.at),
            indices.eq(state.indices),
        ]
        m.d.sync += [row.eq(value) for row, value in zip(ahead, state.ahead, strict=True)]
        m.d.comb += [
            self.free.eq(state.free),
            self.passes[0].eq(stays.passes),
            self.passes[1].eq(goes.passes),
        ]

        # What there is to report of the beat is found a cycle later.
        launched = Signal.like(beat, reset_less=True)
        counts = [Signal.like(row.info.count, name=f"count{k}") for k, row in enumerate(seen)]
        is_ragged = Signal(reset_less=True)
        drained = Signal()  # a row with something in it
        with m.If(self.enable):
            m.d.sync += [launched.eq(beat), drained.eq(0)]
            m.d.sync += [
                count.eq(Mux(row.is_there, row.info.count, 0))
                for count, row in zip(counts, seen, strict=True)
            ]
            m.d.sync += is_ragged.eq(Cat(row.is_there & row.info.ragged for row in seen).any())
        with m.If(draining & seen[0].is_there & ((seen[0].info.count != 0) | seen[0].info.ragged)):
            m.d.sync += drained.eq(1)
        m.d.comb += [
            self.o.used.eq(launched.total + Mux(launched.tags.first, mask_words, 0)),
            self.o.has_words.eq(launched.total != 0),
            self.o.behind.eq(launched.behind),
            self.o.there.eq(tree(m, counts)),
            self.o.has_more.eq(is_ragged | drained),
            self.o.tags.eq(launched.tags),
        ]
        return m

    def _outcome(self, m, at, window, reach, step):
        """State after a step."""
        passes = step.passes
        result = Signal(
            data.StructLayout(
                {
                    "step": step.shape(),
                    "at": self.rows,
                    "free": self.rows,
                    "ahead": data.ArrayLayout(_Seen(self.config), reach),
                    "indices": data.ArrayLayout(range(self.rows), reach),
                }
            )
        )
        m.d.comb += [
            result.step.eq(step),
            result.at.eq(
                select(m, passes, [at.rotate_left(k) for k in range(reach + 1)], "next_at")
            ),
            result.free.eq(
                Cat(
                    Cat(at[(row - k) % self.rows] & (passes > k) for k in range(reach)).any()
                    for row in range(self.rows)
                )
            ),
        ]
        for k, row in enumerate(result.ahead):
            m.d.comb += row.eq(select(m, passes, window[k : k + reach + 1], f"next_ahead{k}"))
        rows = [_index(at.rotate_left(k)) for k in range(2 * reach)]
        for k, index in enumerate(result.indices):
            m.d.comb += index.eq(select(m, passes, rows[k : k + reach + 1], f"next_index{k}"))
        return result

    def _window(self, m, at, length):
        """What the ring says of the rows from ``at`` on."""
        rows = [Cat(self.is_full[row], self.infos[row]) for row in range(self.rows)]
        window = []
        for k in range(length):
            row = Signal(_Seen(self.config), name=f"window{k}")
            window.append(row)
            if k >= self.rows:
                continue  # once around the ring; such a row is seen a cycle later
            here = [
                rows[(i + k) % self.rows] & at[i].replicate(len(rows[0])) for i in range(self.rows)
            ]
            value = here[0]
            for other in here[1:]:
                value = value | other
            m.d.comb += row.eq(value)
        return window


class _Seen(data.StructLayout):
    """A row of the packet: whether it is there, and what is known of it."""

    def __init__(self, config: Config):
        super().__init__({"is_there": 1, "info": RowInfo(config)})


class _Step(data.StructLayout):
    """Where the reader goes: rows to pass, and whether the packet then has no more rows, or is
    drained."""

    def __init__(self, reach: int):
        super().__init__({"passes": range(reach + 1), "is_past": 1, "drains": 1})


def _index(is_row):
    """Number of the bit that is set."""
    bits = (len(is_row) - 1).bit_length()
    return Cat(
        Cat(is_row[row] for row in range(len(is_row)) if row >> bit & 1).any()
        for bit in range(bits)
    )
