"""Reading the words of each output beat from the ring."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.butterfly import Routes
from cdma.hdl.config import Config
from cdma.hdl.queue import Queue
from cdma.hdl.ring import RowInfo, add_row


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
    """A beat whose words are to be read, and where they stand if the stream is as it should be.

    Members
    -------
    mask : its non-zero words
    routes : how they get to their lanes, :class:`~cdma.hdl.butterfly.Routes`
    lane : where the first of them stands in its row
    total : how many there are
    behind : where they end, counted from the start of that row
    passes : rows that they end
    passes_mask : rows that they and a mask behind them end
    tags : :class:`BeatTags`
    """

    def __init__(self, config: Config):
        lanes, mask_words = config.lanes, config.format.mask_words
        super().__init__(
            {
                "mask": lanes,
                "routes": Routes(lanes),
                "lane": range(lanes),
                "total": lanes.bit_length(),
                "behind": range(2 * lanes),
                "passes": 1,
                "passes_mask": range((2 * lanes - 1 + mask_words) // lanes + 1),
                "tags": BeatTags(config),
            }
        )


class Read(data.StructLayout):
    """A beat on its way out.

    Members
    -------
    used : words of the stream that it took, its mask's included
    words : words that leave with it, looked at when ``last``
    first : a block begins with it
    last : the packet ends with it
    truncated : the stream ended before its words, or before its mask's end
    past_end : its mask has bits past the end of the data
    extra : the packet goes on behind its words, looked at when ``last``
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "used": range(config.lanes + config.format.mask_words + 1),
                "words": config.lanes.bit_length(),
                "first": 1,
                "last": 1,
                "truncated": 1,
                "past_end": 1,
                "extra": 1,
            }
        )


class PayloadReader(wiring.Component):
    """Read the words of a beat from the ring when they are there, or when they will never be.

    Rows are freed as the reader passes them; a packet's last beat frees all that the packet still
    has, which may not have come in yet: until it has, nothing else is read and ``enable`` must not
    be given (``drains``).

    Throughput one beat a cycle; latency two cycles: one for the beat's turn, one for its words.

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
    free : Out, a bit per row: the reader passed it in the cycle before
    passes : Out, how many rows it passes in this
    bank_rows : Out, which row each bank is to give
    bank_words : In, a word per bank
    enable : In, what follows takes a beat, or nothing
    launch : Out, with ``enable``: a beat is read
    words : Out, its words by bank; zero where the stream has ended
    mask, routes : Out, where they go
    drains : Out, waits for the end of a packet
    o : Out, :class:`Read` of the beat launched before
    """

    def __init__(self, config: Config, rows: int):
        self.config = config
        self.rows = rows
        words = data.ArrayLayout(config.format.word_bits, config.lanes)
        super().__init__(
            {
                "i": In(stream.Signature(Counted(config))),
                "is_full": In(rows),
                "infos": In(data.ArrayLayout(RowInfo(config), rows)),
                "free": Out(rows),
                "passes": Out(range(rows + 1)),
                "bank_rows": Out(data.ArrayLayout(range(rows), config.lanes)),
                "bank_words": In(words),
                "enable": In(1),
                "launch": Out(1),
                "words": Out(words),
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
        skipped_rows = mask_words // lanes  # that a mask goes on by, whatever its place

        m.submodules.queue = queue = Queue(Counted(config), 2)
        wiring.connect(m, wiring.flipped(self.i), queue.i)
        beat = queue.o.payload
        index = Signal(range(self.rows))  # of the row to read first
        is_past = Signal()  # the packet has no more rows; `index` is that of the next
        seen = [Signal(_Seen(config), name=f"seen{k}") for k in range(2)]  # that row and the next
        draining = self.drains

        # Go when the words are there or will never be.
        ends_here = [row.is_there & row.info.last for row in seen]
        may_read = [Signal(name=f"may_read{k}") for k in range(2)]  # up to that row
        needs_next = beat.behind > lanes
        m.d.comb += [
            self.launch.eq(
                self.enable
                & queue.o.valid
                & Mux(needs_next, may_read[1], may_read[0] | (beat.total == 0))
            ),
            queue.o.ready.eq(self.launch),
            self.mask.eq(beat.mask),
            self.routes.eq(beat.routes),
        ]
        for bank in range(lanes):
            row = [seen[k].is_there & (seen[k].info.count > bank) for k in range(2)]
            m.d.comb += self.words[bank].eq(
                Mux(Mux(beat.lane > bank, row[1], row[0]), self.bank_words[bank], 0)
            )

        # Go on: behind the words, behind the mask of a block that begins with the next beat, and
        # behind the packet when it ends. Whether the beat goes comes late and only selects.
        most = 2 + skipped_rows  # rows that are passed in a cycle
        freed = Signal(self.rows)
        window = self._window(m, index, freed, most + 2)
        comes = self.i.valid & self.i.payload.tags.first
        next_begins = Mux(queue.valid[1], queue.entries[1].tags.first, comes)
        end_seen = is_past | ends_here[0] | ends_here[1]
        to_end = Mux(is_past, 0, Mux(ends_here[0], 1, 2))
        mask_rows = Signal(range(most + 1), init=skipped_rows)  # that the next mask ends

        goes = Signal(_Step(most))
        with m.If(beat.tags.last & end_seen):
            self._begin_packet(m, goes, window, to_end, next_begins, "goes")
        with m.Elif(beat.tags.last):
            m.d.comb += [goes.passes.eq(beat.passes), goes.drains.eq(1)]
        with m.Else():
            rows = Mux(next_begins, beat.passes_mask, beat.passes)
            self._go_on(m, goes, window, is_past, rows, "goes")
        with m.If(self.launch):
            m.d.sync += mask_rows.eq(
                Mux(beat.tags.last, skipped_rows, beat.passes_mask - beat.passes)
            )

        stays = Signal(_Step(most))
        with m.If(draining & ends_here[0]):
            begins = Mux(queue.o.valid, beat.tags.first, comes)
            self._begin_packet(m, stays, window, 1, begins, "stays")
        with m.Elif(draining):
            m.d.comb += [stays.passes.eq(seen[0].is_there), stays.drains.eq(1)]
        with m.Else():
            rows = Mux(~queue.o.valid & comes, mask_rows, 0)
            self._go_on(m, stays, window, is_past, rows, "stays")

        outcomes = [self._outcome(m, index, window, step) for step in (stays, goes)]
        state = Signal.like(outcomes[0])
        m.d.comb += state.eq(Mux(self.launch, outcomes[1], outcomes[0]))
        m.d.sync += [
            is_past.eq(state.step.is_past),
            draining.eq(state.step.drains),
            index.eq(state.index),
            seen[0].eq(state.seen[0]),
            seen[1].eq(state.seen[1]),
            Cat(may_read).eq(state.may_read),
            freed.eq(state.free),
        ]
        m.d.comb += [self.free.eq(freed), self.passes.eq(state.step.passes)]
        next_lane = Mux(queue.valid[1], queue.entries[1].lane, self.i.payload.lane)
        lane = Mux(self.launch | ~queue.o.valid, next_lane, beat.lane)
        following = add_row(m, state.index, 1, self.rows)
        m.d.sync += [
            row.eq(Mux(lane > bank, following, state.index))
            for bank, row in enumerate(self.bank_rows)
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
        there = counts[0] + counts[1]
        m.d.comb += [
            self.o.used.eq(launched.total + Mux(launched.tags.first, mask_words, 0)),
            self.o.words.eq(launched.tags.words),
            self.o.first.eq(launched.tags.first),
            self.o.last.eq(launched.tags.last),
            self.o.truncated.eq(
                launched.tags.truncated | ((launched.total != 0) & (launched.behind > there))
            ),
            self.o.past_end.eq(launched.tags.past_end),
            self.o.extra.eq((launched.behind < there) | is_ragged | drained),
        ]
        return m

    def _begin_packet(self, m, step, window, to_end, begins, name):
        """Pass the packet's end, ``to_end`` rows on, and the next packet's first mask."""
        lanes, mask_words = self.config.lanes, self.config.format.mask_words
        if mask_words < lanes:
            m.d.comb += step.passes.eq(to_end)
            return
        rows = [_select(m, to_end, window[k:-1], f"{name}_mask{k}") for k in range(2)]
        passes, meets_last = _until_last(m, rows, Mux(begins, mask_words // lanes, 0), name)
        m.d.comb += [step.passes.eq(to_end + passes), step.is_past.eq(meets_last)]

    def _go_on(self, m, step, window, is_past, rows, name):
        """Pass ``rows``, but not the packet's end."""
        passes, meets_last = _until_last(m, window[:-2], rows, name)
        m.d.comb += [
            step.passes.eq(Mux(is_past, 0, passes)),
            step.is_past.eq(is_past | meets_last),
        ]

    def _outcome(self, m, index, window, step):
        """State after a step."""
        passes, is_past = step.passes, step.is_past
        most = len(window) - 2
        result = Signal(
            data.StructLayout(
                {
                    "step": step.shape(),
                    "index": index.shape(),
                    "free": self.rows,
                    "seen": data.ArrayLayout(_Seen(self.config), 2),
                    "may_read": 2,
                }
            )
        )
        seen = result.seen
        rows = [_select(m, passes, window[k : k + most + 1], f"ahead{k}") for k in range(2)]
        m.d.comb += [
            result.step.eq(step),
            result.index.eq(add_row(m, index, passes, self.rows)),
            result.free.eq(
                Cat(
                    Cat((index == (row - k) % self.rows) & (passes > k) for k in range(most)).any()
                    for row in range(self.rows)
                )
            ),
            seen[0].eq(rows[0]),
            seen[0].is_there.eq(rows[0].is_there & ~is_past),
            seen[1].eq(rows[1]),
            seen[1].is_there.eq(seen[0].is_there & ~rows[0].info.last & rows[1].is_there),
            result.may_read.eq(
                Cat(
                    is_past | rows[0].is_there,
                    is_past | (rows[0].is_there & (rows[0].info.last | rows[1].is_there)),
                )
            ),
        ]
        return result

    def _window(self, m, index, freed, length):
        """What the ring says of the rows from ``index`` on, but for those just freed."""
        is_index = [index == row for row in range(self.rows)]
        rows = [Cat(self.is_full[row] & ~freed[row], self.infos[row]) for row in range(self.rows)]
        window = []
        for k in range(length):
            row = Signal(_Seen(self.config), name=f"window{k}")
            here = [
                rows[(i + k) % self.rows] & is_index[i].replicate(len(rows[0]))
                for i in range(self.rows)
            ]
            value = here[0]
            for other in here[1:]:
                value = value | other
            m.d.comb += row.eq(value)
            window.append(row)
        return window


class _Seen(data.StructLayout):
    """A row of the packet: whether it is there, and what is known of it."""

    def __init__(self, config: Config):
        super().__init__({"is_there": 1, "info": RowInfo(config)})


class _Step(data.StructLayout):
    """Where the reader goes: rows to pass, and whether the packet then has no more rows, or is
    drained."""

    def __init__(self, most: int):
        super().__init__({"passes": range(most + 1), "is_past": 1, "drains": 1})


def _until_last(m, rows, wanted, name):
    """``wanted`` of the rows, but none behind a packet's last; and whether that is met."""
    passes = Signal(range(len(rows) + 1), name=f"{name}_rows")
    meets_last = Signal(name=f"{name}_meets_last")
    m.d.comb += passes.eq(wanted)
    for k in reversed(range(len(rows))):
        with m.If((wanted > k) & rows[k].is_there & rows[k].info.last):
            m.d.comb += [passes.eq(k + 1), meets_last.eq(1)]
    return passes, meets_last


def _select(m, number, rows, name):
    """``rows[number]``."""
    chosen = Signal(rows[0].shape(), name=name)
    m.d.comb += chosen.eq(rows[0])
    for k, row in enumerate(rows[1:], 1):
        with m.If(number == k):
            m.d.comb += chosen.eq(row)
    return chosen
