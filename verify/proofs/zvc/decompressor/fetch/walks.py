"""The bench of the mask fetcher's proofs: any packets, and the walk from mask to mask."""

from typing import NamedTuple

from amaranth.hdl import (
    Array,
    Assert,
    Assume,
    Cat,
    Cover,
    Elaboratable,
    Module,
    Mux,
    Signal,
    Value,
    signed,
)
from amaranth.lib import stream

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvc.decompressor.fetch import CountingFetcher
from cdma.hdl.zvc.decompressor.ring import RowInfo
from cdma.verify.formal.stream_rules import anything, hold_to_rule, offer

ROW_BITS = 7  # of the numbers of rows, more than come in in the cycles looked at
MOST_IDLE = 6  # cycles in which a mask is found, once it is there


class End(NamedTuple):
    """How far a packet reaches: the row behind its last, and the place behind its last whole
    word; neither means anything until it is known."""

    is_known: Value
    row: Value
    content: Value


class Walks(Elaboratable):
    """Any packets, of any rows that the ring can hold, under any commands and stalls.

    A walk goes from mask to mask as the format says: words of the stream are numbered on and on, a
    packet begins with a row, and behind a mask stand as many words as it has ones. Rows are written
    anew as soon as the walk is past them: no reader frees them sooner. Where words are counted as
    they come in, a row counts as there a cycle after it was written.
    """

    def __init__(self, dut):
        self.dut = dut
        self.config = dut.config
        self.lanes, self.rows = dut.config.lanes, dut.rows
        self.lane_bits = self.lanes.bit_length() - 1

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        lanes, fmt, block = self.lanes, self.config.format, self.dut.o.payload

        # What the consumer takes is known a cycle before.
        next_ready = anything(m, 1, "any_ready")
        m.d.sync += dut.o.ready.eq(next_ready)
        m.d.comb += dut.next_ready.eq(next_ready)
        offered = stream.Signature(dut.o.payload.shape()).create()
        m.d.comb += [
            offered.valid.eq(dut.o.valid),
            offered.ready.eq(dut.o.ready),
            offered.payload.eq(block),
        ]
        with m.If(block.void | block.truncated):
            m.d.comb += offered.payload.mask.eq(0)  # there is none
        hold_to_rule(m, offered, "o")
        hands = Signal()
        m.d.comb += hands.eq(dut.o.valid & dut.o.ready)

        # Commands: that of the packet whose blocks are handed on, and the next.
        commands = offer(m, dut.i_command, "i_command")
        self.active, self.waits = active, waits = Signal(), Signal()
        self.rest, self.next_rest = rest, next_rest = Signal(COUNT_BITS), Signal(COUNT_BITS)
        is_void, is_last = rest == 0, rest <= fmt.block_words
        command = dut.i_command.payload.words
        ends = hands & is_last
        m.d.comb += [Assert(~(commands & waits & ~ends)), Assert(~waits | active)]
        with m.If(ends | ~active):
            m.d.sync += [active.eq(waits | commands), rest.eq(Mux(waits, next_rest, command))]
            m.d.sync += [waits.eq(waits & commands), next_rest.eq(command)]
        with m.Else():
            with m.If(commands):
                m.d.sync += [waits.eq(1), next_rest.eq(command)]
            with m.If(hands):
                m.d.sync += rest.eq(rest - fmt.block_words)

        # The walk: the place of the next mask, and how far its packet reaches.
        self.place, self.awaits = place, awaits = self.word("place"), Signal()
        self.is_short = is_short = Signal()  # the packet ended before a mask did
        moves_on = Signal()
        self._rows(m)
        self.end, self.following = end, _ = self._ends(m, moves_on)
        self.content = Mux(end.is_known, end.content, self.rows_in << self.lane_bits)
        self._free(m)
        self.mask, self.behind = mask, behind = Signal(fmt.block_words), self.word("behind")
        self.is_whole = is_whole = Signal()
        m.d.comb += [
            mask.eq(Cat(self.word_at(m, place + k) for k in range(fmt.mask_words))),
            behind.eq(place + fmt.mask_words + self.ones(m, mask)),
            is_whole.eq(self.less(self.content, place + fmt.mask_words) >= 0),
            moves_on.eq((ends | awaits) & end.is_known),
        ]
        with m.If(moves_on):  # `awaits`: all masks are had, the end has not come
            m.d.sync += [place.eq(end.row << self.lane_bits), is_short.eq(0), awaits.eq(0)]
        with m.Elif(ends):
            m.d.sync += awaits.eq(1)
        with m.Elif(hands & is_whole):
            m.d.sync += place.eq(behind)
        with m.Elif(hands):
            m.d.sync += is_short.eq(1)

        # What is handed on, when what it is made of is there.
        is_ready = Signal()
        beats = Mux(is_void, 0, Mux(is_last, (rest - 1) // lanes, self.config.block_beats - 1))
        m.d.comb += is_ready.eq(active & ~awaits & (is_void | is_whole | end.is_known))
        with m.If(dut.o.valid):
            m.d.comb += [
                Assert(is_ready),
                Assert(block.void == is_void),
                Assert(block.last == is_last),
                Assert(block.truncated == (~is_void & ~is_whole)),
                Assert(block.beats == beats),
                Assert(block.words == Mux(is_last, rest - beats * lanes, lanes)),
            ]
            with m.If(~is_void & is_whole):
                m.d.comb += Assert(block.mask == mask)

        # The consumer gives the mask back a cycle later, and something else in all others.
        self.handed, self.was_handed = handed, was_handed = Signal.like(mask), Signal()
        m.d.sync += [handed.eq(block.mask), was_handed.eq(hands)]
        m.d.comb += dut.mask.eq(Mux(was_handed, handed, anything(m, len(mask), "any_mask")))

        # It does not stand still.
        self.idle = idle = Signal(range(MOST_IDLE + 1))
        waits_for_it = is_ready & dut.o.ready & ~dut.o.valid
        m.d.sync += idle.eq(Mux(waits_for_it & (idle != MOST_IDLE), idle + 1, 0))
        m.d.comb += [Assert(idle != MOST_IDLE), Assert(active | awaits | dut.i_command.ready)]
        self.is_moving = Signal()
        m.d.comb += self.is_moving.eq(hands & ~ends & is_whole)
        packets = Signal(3)
        m.d.sync += packets.eq(packets + ends)
        m.d.comb += [
            Cover(hands & (packets == 1) & block.truncated & (place[self.lane_bits :] > 2)),
            Cover(hands & (packets == 1) & is_last & (rest < lanes) & is_whole & (mask != 0)),
            Cover(hands & is_void & (packets == 2)),
        ]
        return m

    def word(self, name):
        """Number of a word of the stream: its row, and its lane below."""
        return Signal(ROW_BITS + self.lane_bits, name=name)

    def index_of(self, m, row):
        """Where in the ring a row is, of the last that came in."""
        if (1 << ROW_BITS) % self.rows == 0:  # numbers wrap where the ring does
            return row[: len(self.tail)]
        further = (row - self.rows_in)[:ROW_BITS].as_signed()
        return (self.tail + 4 * self.rows + further).as_unsigned() % self.rows

    def less(self, a, b):
        """Words from ``b`` to ``a``, signed."""
        return (a - b)[: ROW_BITS + self.lane_bits].as_signed()

    def word_at(self, m, place):
        """The word of that number."""
        row = Array(map(Array, self.memory))[self.index_of(m, place[self.lane_bits :])]
        return row[place[: self.lane_bits]]

    def ones(self, m, mask):
        """Ones of the mask at the walk's place."""
        return popcount(m, mask)

    def _rows(self, m):
        """The ring's rows. ``arrives``: the row at ``tail``, number ``rows_in``, is there from the
        next cycle on."""
        dut, rows, lanes = self.dut, self.rows, self.lanes
        info = Signal(RowInfo(self.config))
        words = dut.beat_words.as_value()
        self.rows_in = rows_in = Signal(ROW_BITS)
        self.tail = tail = Signal(range(rows))
        self.arrives = arrives = Signal()
        m.d.comb += [
            dut.accept.eq(anything(m, 1, "accept")),
            info.as_value().eq(anything(m, len(info.as_value()), "any_info")),
            Assume(info.count <= lanes),
            Assume(info.last | ((info.count == lanes) & ~info.ragged)),
            dut.info.eq(info),
            words.eq(anything(m, len(words), "any_words")),
        ]
        with m.If(arrives):
            m.d.sync += [rows_in.eq(rows_in + 1), tail.eq((tail + 1) % rows)]
        self.memory = [
            [Signal.like(dut.beat_words[0], name=f"word{row}_{bank}") for bank in range(lanes)]
            for row in range(rows)
        ]
        self.counts = counts = [Signal.like(info.count) for _ in range(rows)]
        self.are_last = Signal(rows)
        for row in range(rows):
            with m.If(dut.accept & (dut.tail == row)):
                m.d.sync += [counts[row].eq(info.count), self.are_last[row].eq(info.last)]
                m.d.sync += [a.eq(b) for a, b in zip(self.memory[row], dut.beat_words, strict=True)]
        for bank in range(lanes):
            column = Array(row[bank] for row in self.memory)
            m.d.comb += dut.bank_words[bank].eq(column[dut.bank_rows[bank]])
        if isinstance(dut, CountingFetcher):
            self.in_flight, last, count = 0, info.last, info.count
            m.d.comb += [arrives.eq(dut.accept), dut.tail.eq(tail)]
        else:
            self.in_flight, last, count = arrives, Array(self.are_last)[tail], Array(counts)[tail]
            m.d.sync += arrives.eq(dut.accept)
            m.d.comb += dut.tail.eq((tail + arrives) % rows)
        self.arriving = End(arrives & last, rows_in + 1, (rows_in << self.lane_bits) + count)

    def _ends(self, m, moves_on):
        """The end of the walk's packet, and of the one behind it, of the rows that are there."""
        end = End(Signal(), Signal(ROW_BITS), self.word("content"))
        following = End(Signal(), Signal(ROW_BITS), self.word("next_content"))
        for k in reversed(range(self.rows)):
            row = Signal(ROW_BITS, name=f"next_packet_row{k}")
            index = self.index_of(m, row)
            m.d.comb += row.eq(end.row + k)
            with m.If((k < (self.rows_in - end.row)[:ROW_BITS]) & Array(self.are_last)[index]):
                content = (row << self.lane_bits) + Array(self.counts)[index]
                m.d.comb += [a.eq(b) for a, b in zip(following, (1, row + 1, content), strict=True)]
        with m.If(moves_on & following.is_known):
            m.d.sync += [a.eq(b) for a, b in zip(end, following, strict=True)]
        with m.Elif(moves_on | ~end.is_known):
            m.d.sync += [a.eq(b) for a, b in zip(end, self.arriving, strict=True)]
        return end, following

    def _free(self, m):
        """Where the walk has come to, no reader has been before."""
        end, rows_in, oldest = self.end, self.rows_in, Signal(ROW_BITS)
        at = self.place >> self.lane_bits
        m.d.comb += oldest.eq(at)
        with m.If(self.awaits):
            m.d.comb += oldest.eq(rows_in)
        with m.Elif(end.is_known & (self.is_short | ((end.row - at)[:ROW_BITS].as_signed() < 0))):
            m.d.comb += oldest.eq(end.row)
        self.held = held = Signal(signed(ROW_BITS))  # the walk may be ahead of the rows
        m.d.comb += [
            held.eq(rows_in - oldest),
            Assume(~self.dut.accept | (held + self.in_flight < self.rows)),
            Assert(held + self.in_flight <= self.rows),
        ]
