"""Reading the words of each output beat from the ring."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.butterfly import Routes, routes
from cdma.hdl.config import Config
from cdma.hdl.ring import RowInfo, add_row


class Counted(data.StructLayout):
    """A beat of a block whose words are to be read.

    Members
    -------
    mask : its non-zero words
    ranks, total : what :class:`~cdma.hdl.prefix.PrefixSum` says of the mask
    words : words that leave with it, looked at when ``last``
    first : a mask stands before its words
    last : the packet ends with it
    truncated : the stream ended before the mask's end
    past_end : the mask has bits past the end of the data
    """

    def __init__(self, config: Config):
        lanes = config.lanes
        super().__init__(
            {
                "mask": lanes,
                "ranks": data.ArrayLayout((lanes - 1).bit_length(), lanes),
                "total": lanes.bit_length(),
                "words": lanes.bit_length(),
                "first": 1,
                "last": 1,
                "truncated": 1,
                "past_end": 1,
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
    free : Out, a bit per row: the reader has passed it
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
        lane_bits = lanes.bit_length() - 1
        skipped_rows = mask_words >> lane_bits  # that a mask goes on by, whatever its place

        beat = Signal(Counted(config), reset_less=True)
        beat_valid = Signal()
        index = Signal(range(self.rows))  # of the row to read first
        lane = Signal(lane_bits)  # of the beat's first word
        is_past = Signal()  # the packet has no more rows; `index` is that of the next
        seen = [Signal(_Seen(config), name=f"seen{k}") for k in range(2)]  # that row and the next
        draining = self.drains

        # Go when the words are there or will never be.
        ends_here = [row.is_there & row.info.last for row in seen]
        behind = Signal(range(2 * lanes))  # the words' end, counted from the first row's start
        needs_next = behind > lanes
        m.d.comb += [
            behind.eq(lane + beat.total),
            self.launch.eq(
                self.enable
                & beat_valid
                & (
                    is_past
                    | Mux(
                        needs_next,
                        seen[1].is_there | ends_here[0],
                        seen[0].is_there | (beat.total == 0),
                    )
                )
            ),
            self.i.ready.eq(~beat_valid | self.launch),
            self.mask.eq(beat.mask),
            self.routes.eq(routes(m, beat.ranks, lane)),
        ]
        with m.If(self.i.ready):
            m.d.sync += [beat.eq(self.i.payload), beat_valid.eq(self.i.valid)]

        following = add_row(m, index, 1, self.rows)
        for bank in range(lanes):
            wraps = lane > bank
            row = [seen[k].is_there & (seen[k].info.count > bank) for k in range(2)]
            m.d.comb += [
                self.bank_rows[bank].eq(Mux(wraps, following, index)),
                self.words[bank].eq(Mux(Mux(wraps, row[1], row[0]), self.bank_words[bank], 0)),
            ]

        # Go on: behind the words, behind the mask of a block that begins with the next beat, and
        # behind the packet when it ends.
        most = 2 + skipped_rows if skipped_rows else 2  # rows that are passed in a cycle
        window = self._window(m, index, most + 2)
        begins = Signal()  # the next beat has a mask before it
        ends = self.launch & beat.last
        passes = Signal(range(most + 1))
        next_past = Signal()
        next_lane = Signal(lane_bits)
        end_seen = is_past | ends_here[0] | ends_here[1]
        m.d.comb += begins.eq(self.i.ready & self.i.valid & self.i.payload.first)
        to_end = Mux(is_past, 0, Mux(ends_here[0], 1, 2))
        stops = draining & ends_here[0] | ends & end_seen
        with m.If(stops):
            starts = Mux(draining & beat_valid, beat.first, begins)
            m.d.comb += next_lane.eq(Mux(starts, mask_words % lanes, 0))
            if skipped_rows:
                skip = _until_last(m, window, to_end, Mux(starts, skipped_rows, 0), "skip")
                m.d.comb += [passes.eq(to_end + skip.rows), next_past.eq(skip.meets_last)]
            else:
                m.d.comb += passes.eq(to_end)
        with m.Elif(draining):
            m.d.comb += passes.eq(seen[0].is_there)
        with m.Elif(ends):
            m.d.comb += passes.eq(behind >> lane_bits)
        with m.Else():
            total = Signal(range(2 * lanes + mask_words))
            m.d.comb += [
                total.eq(Mux(self.launch, behind, lane) + Mux(begins, mask_words, 0)),
                next_lane.eq(total),
                next_past.eq(is_past),
            ]
            with m.If(~is_past):
                go = _until_last(m, window, 0, total >> lane_bits, "go")
                m.d.comb += [passes.eq(go.rows), next_past.eq(go.meets_last)]
        m.d.sync += [
            lane.eq(next_lane),
            is_past.eq(next_past),
            index.eq(add_row(m, index, passes, self.rows)),
        ]
        with m.If(ends & ~end_seen):
            m.d.sync += draining.eq(1)
        with m.Elif(draining & ends_here[0]):
            m.d.sync += draining.eq(0)
        m.d.comb += self.free.eq(
            Cat(
                Cat((index == (row - k) % self.rows) & (passes > k) for k in range(most)).any()
                for row in range(self.rows)
            )
        )
        ahead = [_select(m, passes, window[k : k + most + 1], f"ahead{k}") for k in range(2)]
        m.d.sync += [
            seen[0].eq(ahead[0]),
            seen[0].is_there.eq(ahead[0].is_there & ~next_past),
            seen[1].eq(ahead[1]),
            seen[1].is_there.eq(
                ahead[0].is_there & ~ahead[0].info.last & ahead[1].is_there & ~next_past
            ),
        ]

        # What there is to report of the beat is found a cycle later.
        launched = Signal.like(beat, reset_less=True)
        needed = Signal.like(behind, reset_less=True)
        counts = [Signal.like(row.info.count, name=f"count{k}") for k, row in enumerate(seen)]
        is_ragged = Signal(reset_less=True)
        drained = Signal()  # a row with something in it
        with m.If(self.enable):
            m.d.sync += [launched.eq(beat), needed.eq(behind), drained.eq(0)]
            m.d.sync += [
                count.eq(Mux(row.is_there, row.info.count, 0))
                for count, row in zip(counts, seen, strict=True)
            ]
            m.d.sync += is_ragged.eq(Cat(row.is_there & row.info.ragged for row in seen).any())
        with m.If(draining & seen[0].is_there & ((seen[0].info.count != 0) | seen[0].info.ragged)):
            m.d.sync += drained.eq(1)
        there = counts[0] + counts[1]
        m.d.comb += [
            self.o.used.eq(launched.total + Mux(launched.first, mask_words, 0)),
            self.o.words.eq(launched.words),
            self.o.first.eq(launched.first),
            self.o.last.eq(launched.last),
            self.o.truncated.eq(launched.truncated | ((launched.total != 0) & (needed > there))),
            self.o.past_end.eq(launched.past_end),
            self.o.extra.eq((needed < there) | is_ragged | drained),
        ]
        return m

    def _window(self, m, index, length):
        """What the ring says of the rows from ``index`` on."""
        is_index = [index == row for row in range(self.rows)]
        rows = [Cat(self.is_full[row], self.infos[row]) for row in range(self.rows)]
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


class _Way(data.StructLayout):
    """Rows to pass, and whether a packet's last row is one of them."""

    def __init__(self, most: int):
        super().__init__({"rows": range(most + 1), "meets_last": 1})


def _until_last(m, window, start, wanted, name):
    """``wanted`` rows from the ``start``-th of the window on, but none behind a packet's last."""
    most = len(window) - 2
    way = Signal(_Way(most), name=name)
    m.d.comb += way.rows.eq(wanted)
    for k in reversed(range(most)):
        row = window[k] if isinstance(start, int) else _select(m, start, window[k:], f"{name}{k}")
        with m.If((wanted > k) & row.is_there & row.info.last):
            m.d.comb += [way.rows.eq(k + 1), way.meets_last.eq(1)]
    return way


def _select(m, number, rows, name):
    """``rows[number]``."""
    chosen = Signal(rows[0].shape(), name=name)
    m.d.comb += chosen.eq(rows[0])
    for k, row in enumerate(rows[1:], 1):
        with m.If(number == k):
            m.d.comb += chosen.eq(row)
    return chosen
