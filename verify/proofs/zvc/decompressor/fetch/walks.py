"""Bench of the mask fetcher's proofs: unconstrained packets, and a walk from mask to mask."""

from typing import NamedTuple

from amaranth.hdl import (
    Array,
    Assert,
    Assume,
    Cat,
    Const,
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
from cdma.hdl.lib.signals import one_of
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvc.decompressor.fetch import CountingFetcher
from cdma.hdl.zvc.decompressor.ring import RowInfo
from cdma.verify.formal.stream_rules import anything, hold_to_rule, offer

ROW_BITS = 7  # bits of row numbers: only differences are used, so they may wrap
MOST_IDLE = 6  # bound of the cycles from the arrival of a mask to its block at the output


class End(NamedTuple):
    """End of a packet: the row after its last row, and the place after its last whole word. Both
    are valid only with ``is_known``."""

    is_known: Value
    row: Value
    content: Value


class Walks(Elaboratable):
    """Any packets in any rows that the ring can hold, with any commands and stalls.

    The walk is the reference: it goes from mask to mask as the format defines. The words of the
    stream are numbered. A packet begins with a new row. A mask is followed by as many words as it
    has ones. A row is overwritten as soon as the walk has passed the row, the earliest time at
    which a reader can free it. In the variant with a jump table, a row becomes visible one cycle
    after the write.
    """

    def __init__(self, dut):
        self.dut = dut
        self.config = dut.config
        self.lanes, self.rows = dut.config.lanes, dut.rows
        self.lane_bits = self.lanes.bit_length() - 1
        self.sees_arrivals = dut.sees_arrivals(dut.config)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        lanes, fmt, block = self.lanes, self.config.format, self.dut.o.payload

        # The consumer announces `ready` one cycle in advance.
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
            m.d.comb += offered.payload.mask.eq(0)  # don't-care: the block has no mask
        hold_to_rule(m, offered, "o")
        hands = Signal()
        m.d.comb += hands.eq(dut.o.valid & dut.o.ready)

        ends, is_void = self._packets(m, hands)
        active, is_last, rest = self.active, self.is_last, self.rest

        # The walk: place of the next mask and end of its packet.
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
            is_whole.eq(self.less(self.arrived(), place + fmt.mask_words) >= 0),
            moves_on.eq((ends | awaits) & end.is_known),
        ]
        with m.If(moves_on):  # `awaits`: all masks were sent, the end has not arrived
            m.d.sync += [place.eq(end.row << self.lane_bits), is_short.eq(0), awaits.eq(0)]
        with m.Elif(ends):
            m.d.sync += awaits.eq(1)
        with m.Elif(hands & is_whole):
            m.d.sync += place.eq(behind)
        with m.Elif(hands):
            m.d.sync += is_short.eq(1)

        # The expected block. It is ready when its mask has arrived or the packet has ended.
        is_ready = Signal()
        beats = Mux(is_void, 0, Mux(is_last, (rest - 1) // lanes, self.config.block_beats - 1))
        needs_none = 0 if fmt.ends_itself else is_void
        m.d.comb += is_ready.eq(active & ~awaits & (needs_none | is_whole | end.is_known))
        with m.If(dut.o.valid):
            m.d.comb += [
                Assert(is_ready),
                Assert(block.void == is_void),
                Assert(block.last == is_last),
                Assert(block.truncated == (~is_void & ~is_whole)),
                Assert(block.beats == beats),
            ]
            if not fmt.ends_itself:
                m.d.comb += Assert(block.words == Mux(is_last, rest - beats * lanes, lanes))
            with m.If(~is_void & is_whole):
                m.d.comb += Assert(block.mask == mask)

        # The consumer returns the mask one cycle after the transfer. In all other cycles, its
        # output is unconstrained.
        self.handed, self.was_handed = handed, was_handed = Signal.like(mask), Signal()
        m.d.sync += [handed.eq(block.mask), was_handed.eq(hands)]
        m.d.comb += dut.mask.eq(Mux(was_handed, handed, anything(m, len(mask), "any_mask")))

        # The fetcher makes progress within MOST_IDLE cycles.
        self.idle = idle = Signal(range(MOST_IDLE + 1))
        waits_for_it = is_ready & dut.o.ready & ~dut.o.valid
        m.d.sync += idle.eq(Mux(waits_for_it & (idle != MOST_IDLE), idle + 1, 0))
        m.d.comb += Assert(idle != MOST_IDLE)
        if not fmt.ends_itself:
            m.d.comb += Assert(active | awaits | dut.i_command.ready)
        self.is_moving = Signal()
        m.d.comb += self.is_moving.eq(hands & ~ends & is_whole)
        packets = Signal(3)
        m.d.sync += packets.eq(packets + ends)
        if fmt.ends_itself:
            begins_late = place[self.lane_bits :] > 2
            m.d.comb += [
                is_last.eq(~is_whole),
                Cover(hands & (packets == 1) & is_whole & end.is_known & begins_late),
            ]
        else:
            m.d.comb += [
                Cover(hands & (packets == 1) & block.truncated & (place[self.lane_bits :] > 2)),
                Cover(hands & (packets == 1) & is_last & (rest < lanes) & is_whole & (mask != 0)),
            ]
        m.d.comb += Cover(hands & is_void & (packets == 2))
        return m

    def _packets(self, m, hands):
        """Commands of the current packet and of the next packet. With a tail of ones there are
        none: a packet ends with an empty block, where it has no whole mask left.

        Gives whether a packet's last block is handed on, and whether the block at hand is empty.
        """
        dut, fmt = self.dut, self.config.format
        if fmt.ends_itself:
            self.active, self.waits, self.is_last = (
                Signal(name=name) for name in ("active", "waits", "is_last")
            )
            self.rest, self.next_rest = Const(1, COUNT_BITS), Const(0, COUNT_BITS)
            m.d.sync += self.active.eq(1)
            return hands & self.is_last, self.is_last
        commands = offer(m, dut.i_command, "i_command")
        self.active, self.waits = active, waits = Signal(), Signal()
        self.rest, self.next_rest = rest, next_rest = Signal(COUNT_BITS), Signal(COUNT_BITS)
        is_void, self.is_last = rest == 0, rest <= fmt.block_words
        command = dut.i_command.payload.words
        ends = hands & self.is_last
        m.d.comb += [Assert(~(commands & waits & ~ends)), Assert(~waits | active)]
        with m.If(ends | ~active):
            m.d.sync += [active.eq(waits | commands), rest.eq(Mux(waits, next_rest, command))]
            m.d.sync += [waits.eq(waits & commands), next_rest.eq(command)]
        with m.Else():
            with m.If(commands):
                m.d.sync += [waits.eq(1), next_rest.eq(command)]
            with m.If(hands):
                m.d.sync += rest.eq(rest - fmt.block_words)
        return ends, is_void

    def word(self, name):
        """Number of a word of the stream: row in the upper bits, lane in the lower bits."""
        return Signal(ROW_BITS + self.lane_bits, name=name)

    def arrived(self):
        """Place after the last word of the packet that the fetcher sees."""
        if not self.sees_arrivals:
            return self.content
        here = self.arrives & ~self.end.is_known
        count = Mux(
            self.arriving.is_known, self.arriving.content, (self.rows_in + 1) << self.lane_bits
        )
        return Mux(here, count, self.content)

    def index_of(self, m, row):
        """Ring index of a recent row."""
        if (1 << ROW_BITS) % self.rows == 0:  # row numbers and ring indices wrap together
            return row[: len(self.tail)]
        further = (row - self.rows_in)[:ROW_BITS].as_signed()
        return (self.tail + 4 * self.rows + further).as_unsigned() % self.rows

    def coded(self, index):
        """A ring index as the fetcher has it."""
        return 1 << index if self.dut.index.one_hot else index

    def less(self, a, b):
        """Number of words from ``b`` to ``a``, signed."""
        return (a - b)[: ROW_BITS + self.lane_bits].as_signed()

    def word_at(self, m, place):
        """The word with the number ``place``, in the ring or in the row that arrives."""
        row, lane = place[self.lane_bits :][:ROW_BITS], place[: self.lane_bits]
        word = Array(map(Array, self.memory))[self.index_of(m, row)][lane]
        if not self.sees_arrivals:
            return word
        return Mux(row == self.rows_in, Array(self.dut.beat_words)[lane], word)

    def ones(self, m, mask):
        """Number of ones in the mask at the walk's place."""
        return popcount(m, mask)

    def _rows(self, m):
        """The rows of the ring. With ``arrives``, the row at ``tail`` (number ``rows_in``) is
        visible from the next cycle."""
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
            with m.If(dut.accept & dut.index.is_at(dut.tail, row)):
                m.d.sync += [counts[row].eq(info.count), self.are_last[row].eq(info.last)]
                m.d.sync += [a.eq(b) for a, b in zip(self.memory[row], dut.beat_words, strict=True)]
        for bank in range(lanes):
            column = [row[bank] for row in self.memory]
            chosen = [dut.index.is_at(dut.bank_rows[bank], row) for row in range(rows)]
            m.d.comb += dut.bank_words[bank].eq(one_of(chosen, column))
        if isinstance(dut, CountingFetcher):
            self.in_flight, last, count = 0, info.last, info.count
            m.d.comb += [arrives.eq(dut.accept), dut.tail.eq(self.coded(tail))]
        else:
            self.in_flight, last, count = arrives, Array(self.are_last)[tail], Array(counts)[tail]
            m.d.sync += arrives.eq(dut.accept)
            m.d.comb += dut.tail.eq((tail + arrives) % rows)
        self.arriving = End(arrives & last, rows_in + 1, (rows_in << self.lane_bits) + count)

    def _ends(self, m, moves_on):
        """Ends of the walk's packet and of the next packet, as far as the rows have arrived."""
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
        """Rows at and after the walk's place are not freed: a reader is never ahead of the walk."""
        end, rows_in, oldest = self.end, self.rows_in, Signal(ROW_BITS)
        at = self.place >> self.lane_bits
        m.d.comb += oldest.eq(at)
        with m.If(self.awaits):
            m.d.comb += oldest.eq(rows_in)
        with m.Elif(end.is_known & (self.is_short | ((end.row - at)[:ROW_BITS].as_signed() < 0))):
            m.d.comb += oldest.eq(end.row)
        self.held = held = Signal(signed(ROW_BITS))  # negative if the walk is ahead of the rows
        m.d.comb += [
            held.eq(rows_in - oldest),
            Assume(~self.dut.accept | (held + self.in_flight < self.rows)),
            Assert(held + self.in_flight <= self.rows),
        ]
