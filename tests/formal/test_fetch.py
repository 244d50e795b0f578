"""The mask fetcher: of any rows whatever, the mask of each block from where it stands."""

import pytest
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
    signed,
)
from amaranth.lib import stream

from cdma.hdl.beat import COUNT_BITS
from cdma.hdl.config import Config
from cdma.hdl.counter import PART_BITS
from cdma.hdl.decompressor import Decompressor
from cdma.hdl.fetch import MaskFetcher
from cdma.hdl.prefix import popcount
from cdma.hdl.ring import RowInfo
from cdma.sim.formal import probe
from cdma.sim.stream_rules import anything, hold_to_rule, offer

ROW_BITS = 7  # of the numbers of rows, more than come in in the cycles looked at


MOST_IDLE = 6  # cycles in which a mask is found, once it is there


class Walks(Elaboratable):
    """Any packets, of any rows that the ring can hold, under any commands and stalls.

    A walk goes from mask to mask as the format says: words of the stream are numbered on and on, a
    packet begins with a row, and behind a mask stand as many words as it has ones. Rows are written
    anew as soon as the walk is past them: no reader frees them sooner.
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
        rest, next_rest = Signal(COUNT_BITS), Signal(COUNT_BITS)
        is_void = Signal()
        command = dut.i_command.payload.words
        is_last = rest <= fmt.block_words
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
        self.rest = rest
        m.d.comb += is_void.eq(rest == 0)

        # The walk: the place of the next mask, and how far its packet reaches.
        place, awaits = self.word("place"), Signal()  # all masks are had, the end has not come
        is_short = Signal()  # the packet ended before a mask did
        self.moves_on = moves_on = Signal()
        end_row, content = self._rows(m, place, awaits, is_short)
        is_known = self.is_end_known
        self.place, self.awaits, self.is_short = place, awaits, is_short
        self.end_row, self.content = end_row, content
        mask, behind, is_whole = Signal(fmt.block_words), self.word("behind"), Signal()
        m.d.comb += [
            mask.eq(Cat(self._word_at(m, place + k) for k in range(fmt.mask_words))),
            behind.eq(place + fmt.mask_words),
            is_whole.eq(self._less(content, behind) >= 0),
            moves_on.eq((ends | awaits) & is_known),
        ]
        with m.If(moves_on):
            m.d.sync += [place.eq(end_row << self.lane_bits), is_short.eq(0), awaits.eq(0)]
        with m.Elif(ends):
            m.d.sync += awaits.eq(1)
        with m.Elif(hands & is_whole):
            m.d.sync += place.eq(behind + popcount(m, mask))
        with m.Elif(hands):
            m.d.sync += is_short.eq(1)

        # What is handed on, when what it is made of is there.
        is_ready = Signal()
        beats = Mux(is_void, 0, Mux(is_last, (rest - 1) // lanes, self.config.block_beats - 1))
        m.d.comb += is_ready.eq(active & ~awaits & (is_void | is_whole | is_known))
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
        most = MOST_IDLE
        waits_for_it = is_ready & dut.o.ready & ~dut.o.valid
        m.d.sync += idle.eq(Mux(waits_for_it & (idle != most), idle + 1, 0))
        m.d.comb += [Assert(idle != most), Assert(active | awaits | dut.i_command.ready)]
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

    def _rows(self, m, place, awaits, is_short):
        """The ring's rows. Gives the row behind the walk's packet, once it is known, and the place
        behind the last whole word that is there."""
        dut, rows, lanes = self.dut, self.rows, self.lanes
        info = Signal(RowInfo(self.config))
        words = dut.beat_words.as_value()
        m.d.comb += [
            dut.accept.eq(anything(m, 1, "accept")),
            info.as_value().eq(anything(m, len(info.as_value()), "any_info")),
            Assume(info.count <= lanes),
            Assume(info.last | ((info.count == lanes) & ~info.ragged)),
            dut.info.eq(info),
            words.eq(anything(m, len(words), "any_words")),
        ]
        self.rows_in = rows_in = Signal(ROW_BITS)
        self.tail = tail = Signal(range(rows))
        self.memory = [
            [Signal.like(dut.beat_words[0], name=f"word{row}_{bank}") for bank in range(lanes)]
            for row in range(rows)
        ]
        self.counts = counts = [Signal.like(info.count) for _ in range(rows)]
        self.are_last = are_last = Signal(rows)
        m.d.comb += dut.tail.eq(tail)
        with m.If(dut.accept):
            m.d.sync += [rows_in.eq(rows_in + 1), tail.eq((tail + 1) % rows)]
        for row in range(rows):
            with m.If(dut.accept & (tail == row)):
                m.d.sync += [counts[row].eq(info.count), are_last[row].eq(info.last)]
                m.d.sync += [a.eq(b) for a, b in zip(self.memory[row], dut.beat_words, strict=True)]
        for bank in range(lanes):
            column = Array(row[bank] for row in self.memory)
            m.d.comb += dut.bank_words[bank].eq(column[dut.bank_rows[bank]])

        # The end of the walk's packet.
        self.is_end_known = is_known = Signal()
        end_row, content = Signal(ROW_BITS), self.word("content")
        closes = dut.accept & info.last
        arriving_end = [
            is_known.eq(closes),
            end_row.eq(rows_in + 1),
            content.eq((rows_in << self.lane_bits) + info.count),
        ]
        with m.If(self.moves_on):
            m.d.sync += arriving_end
            for k in reversed(range(rows)):
                row = Signal(ROW_BITS, name=f"next_packet_row{k}")
                index = self._index(m, row)
                m.d.comb += row.eq(end_row + k)
                with m.If((k < (rows_in - end_row)[:ROW_BITS]) & Array(are_last)[index]):
                    m.d.sync += [
                        is_known.eq(1),
                        end_row.eq(row + 1),
                        content.eq((row << self.lane_bits) + Array(counts)[index]),
                    ]
        with m.Elif(~is_known):
            m.d.sync += arriving_end

        # Where it has come to, no reader has been before.
        oldest = Signal(ROW_BITS)
        at = place >> self.lane_bits
        m.d.comb += oldest.eq(at)
        with m.If(awaits):
            m.d.comb += oldest.eq(rows_in)
        with m.Elif(is_known & (is_short | ((end_row - at)[:ROW_BITS].as_signed() < 0))):
            m.d.comb += oldest.eq(end_row)
        held = (rows_in - oldest)[:ROW_BITS].as_signed()  # the walk may be ahead of the rows
        m.d.comb += [Assume(~dut.accept | (held < rows)), Assert(held <= rows)]
        return end_row, Mux(is_known, content, rows_in << self.lane_bits)

    def _index(self, m, row):
        """Where in the ring a row is, of the last that came in."""
        further = (row - self.rows_in)[:ROW_BITS].as_signed()
        return (self.tail + 4 * self.rows + further).as_unsigned() % self.rows

    def _less(self, a, b):
        """Words from ``b`` to ``a``, signed."""
        return (a - b)[: ROW_BITS + self.lane_bits].as_signed()

    def _word_at(self, m, place):
        row = Array(map(Array, self.memory))[self._index(m, place[self.lane_bits :])]
        return row[place[: self.lane_bits]]


class Counts(Walks):
    """With what holds of the registers where masks are counted once they are fetched."""

    def elaborate(self, platform):
        m = super().elaborate(platform)
        fmt, lanes, rows, lane_bits = self.config.format, self.lanes, self.rows, self.lane_bits
        first_words = min(fmt.mask_words, lanes)
        reads = MaskFetcher.reads(self.config)
        is_known, awaits, is_short = self.is_end_known, self.awaits, self.is_short
        rows_in, end_row, content = self.rows_in, self.end_row, self.content
        number = (2 * max(self.config.block_beats + reads + 1, rows)).bit_length()

        def inside(name, shape):
            return probe(m, f"dut.{name}", shape)

        # While the ones of a mask are counted the fetcher stands where it was.
        stages, old_place, has_run = Signal(3), self.word("old_place"), Signal()
        m.d.sync += [stages.eq(Cat(self.is_moving, stages[:2])), has_run.eq(1)]
        with m.If(self.is_moving):
            m.d.sync += old_place.eq(self.place)
        is_second = inside("is_second", 1) if reads > 1 else Const(0, 1)
        begin, at, at_row = self.word("begin"), self.word("at"), Signal(ROW_BITS)
        has_first = self._less(content, begin + first_words) >= 0
        there = self._less(rows_in << lane_bits, self.place)  # words from the place on
        most = (rows + 2) * lanes + fmt.mask_words
        is_on = (stages.any() | is_second | is_short) & has_first
        m.d.comb += [
            begin.eq(Mux(stages.any(), old_place, self.place)),
            at.eq(begin + Mux(is_on, fmt.mask_words, first_words) - 1),
            at_row.eq(at >> lane_bits),
            Assert(inside("$signal$", 3) == stages),
            Assert((stages & (stages - 1)) == 0),
            Assert(~stages.any() | (self.active & ~awaits & ~is_short & ~is_second)),
            Assert(~stages[0] | self.was_handed),
            Assert(~(awaits & (self.active | is_short))),
            Assert(~(awaits & is_known) | (rows_in == end_row)),
            Assert(~self.waits),
            Assert(has_run | ~self.active),
            Assert(self.tail < rows),
            # Numbers of rows differ by less than half of all.
            Assert(awaits | ((-fmt.block_words <= there) & (there <= most))),
            Assert(~is_known | ((rows_in - end_row)[:ROW_BITS] <= rows)),
            Assert(awaits | ~is_known | (self._less(self.place, content) <= fmt.block_words)),
            Assert(~is_short | (is_known & (self._less(content, self.place) < fmt.mask_words))),
        ]
        ahead = Mux(is_known, end_row, rows_in) - at_row
        held_ahead = inside("ahead", signed(number))
        lane, is_there = inside("lane", lane_bits), inside("is_there", 1)
        index = inside("index", range(rows))
        with m.If(~awaits):
            m.d.comb += [
                Assert(lane == at[:lane_bits]),
                Assert(inside("at", lanes) == 1 << at[:lane_bits]),
                Assert(index == self._index(m, at_row)),
                Assert(held_ahead == ahead[:number].as_signed()),
                Assert(is_there == (held_ahead > 0)),
            ]
        with m.If(has_run):
            m.d.comb += [Assert(inside(f"index_{k}", range(rows)) == index) for k in "abc"]
        with m.If(stages.any()):
            counted = self._less(self.place, old_place) - fmt.mask_words
            m.d.comb += Assert((counted >= 0) & (counted <= fmt.block_words))
            m.d.comb += Assert(self._less(content, begin) >= fmt.mask_words)
        # Counted from the row in which the mask before ends.
        to = self.place + first_words - 1 - (at_row << lane_bits)
        ones = [inside(f"ones{k}", 4 if k else 5) for k in range(0, fmt.block_words, 8)]
        with m.If(stages[0]):
            ones_of = popcount(m, self.handed)
            m.d.comb += Assert(self._less(self.place, old_place) == fmt.mask_words + ones_of)
        with m.If(stages[1]):
            m.d.comb += Assert(sum(ones) == to[:ROW_BITS])
        with m.If(stages[2]):
            m.d.comb += Assert(inside("place", 4 + len(ones).bit_length()) == to[:ROW_BITS])
        if reads > 1:
            earlier = Cat(self._word_at(m, begin + k) for k in range(first_words))
            with m.If(is_second):
                m.d.comb += Assert(self.active & (self.rest != 0))
                m.d.comb += Assert(has_first | is_known)
                m.d.comb += Assert(
                    is_short | ~has_first | (inside("earlier", len(earlier)) == earlier)
                )
        self._ends(m, number, inside)
        self._control(m, stages, is_second, inside)
        return m

    def _ends(self, m, number, inside):
        """The walk's packet's end, and of all packets that came in behind it."""
        rows, lane_bits = self.rows, self.lane_bits
        is_known, rows_in, end_row = self.is_end_known, self.rows_in, self.end_row
        end_count = (self.content - ((end_row - 1) << lane_bits))[: lane_bits + 1]

        def end_at(row, count):
            index = Signal(range(rows))
            m.d.comb += index.eq(self._index(m, row))
            return Cat(row[:number], Const(1, 1), count, index)

        end = inside("end", number + 1 + lane_bits + 1 + len(self.tail))
        m.d.comb += [
            Assert(inside("rows_in", number) == rows_in[:number]),
            Assert(end[number] == is_known),
            Assert(end[:number] == Mux(is_known, end_row, rows_in)[:number]),
        ]
        with m.If(is_known):
            m.d.comb += Assert(end == end_at(end_row, end_count))
            m.d.comb += Assert(self._less(end_row << lane_bits, self.content) <= self.lanes)
            m.d.comb += Assert(self._less(end_row << lane_bits, self.content) >= 0)
        valid = inside("ends.valid", rows)
        entries = [inside(f"ends.entry{k}", len(end)) for k in range(rows)]
        rank = None  # packets that end before the row
        for k in range(rows):
            row, index = Signal(ROW_BITS, name=f"row{k}"), Signal(range(rows), name=f"index{k}")
            is_end = Signal(name=f"is_end{k}")
            m.d.comb += [
                row.eq(end_row + k),
                index.eq(self._index(m, row)),
                is_end.eq(
                    is_known & (k < (rows_in - end_row)[:ROW_BITS]) & Array(self.are_last)[index]
                ),
            ]
            with m.If(is_end):
                count = Array(self.counts)[index]
                expected = end_at((row + 1)[:ROW_BITS], count)
                m.d.comb += Assert(count <= self.lanes)
                m.d.comb += Assert((Array(entries)[rank] if k else entries[0]) == expected)
            before, rank = rank, Signal(range(rows + 1), name=f"rank{k}")
            m.d.comb += rank.eq((before + is_end) if k else is_end)
        m.d.comb += Assert(valid == Cat(k < rank for k in range(rows)))

    def _control(self, m, stages, is_second, inside):
        """Commands, and when it goes on."""
        active, awaits, rest = self.active, self.awaits, self.rest
        may_fetch = active & ~awaits & ~stages.any()
        low = (2 * self.config.format.block_words).bit_length()
        m.d.comb += [
            Assert(inside("active", 1) == (active | awaits)),
            Assert(inside("awaiting_end", 1) == awaits),
            Assert(inside("may_fetch", 1) == may_fetch),
            Assert(inside("goes", 1) == (may_fetch & self.dut.o.ready)),
            Assert(self.idle <= Mux(may_fetch, 3 + is_second, Mux(stages[2], 2, stages[1]))),
        ]
        with m.If(active):
            m.d.comb += [
                Assert(inside("left.words", low) == rest[:low]),
                Assert(inside("left.is_last", 1) == (rest <= self.config.format.block_words)),
                Assert(inside("left.is_zero", 1) == (rest == 0)),
            ]
            for start in range(low, COUNT_BITS, PART_BITS):
                part = rest[start : start + PART_BITS]
                m.d.comb += Assert(inside(f"left.part{start}", len(part)) == part)
                m.d.comb += Assert(inside(f"left.is_zero{start}", 1) == (part == 0))


def walks(config, component=MaskFetcher):
    bench = Counts if component.is_counted(config) else Walks
    return bench(component(config, Decompressor.rows(config)))


JUMPS = Config.of(4, 8, 8)
COUNTED = [Config.of(2, 8, 8), Config.of(8, 32)]


@pytest.mark.slow
@pytest.mark.proof(MaskFetcher, "8x32, 2x8 with blocks of 8", induction=1)
@pytest.mark.parametrize("config", COUNTED, ids=lambda config: config.name)
def test_each_block_has_the_mask_that_stands_at_its_place(formal, config):
    formal(walks(config))


@pytest.mark.slow
@pytest.mark.proof(MaskFetcher, "2x8 and 4x8 with blocks of 8", bounded=9)
@pytest.mark.parametrize(
    ("config", "old", "new"),
    [
        (COUNTED[0], "lane >= end.count", "lane > end.count"),
        (COUNTED[0], "counts.eq(next_stages.any())", "counts.eq(next_stages[0])"),
        (COUNTED[0], "Mux(switch, ends.o.valid, end.known)", "end.known"),
        (JUMPS, "next_lane.eq(jumps.to_lane)", "next_lane.eq(lane)"),
    ],
)
def test_a_broken_fetcher_is_refuted(formal, mutated, config, old, new):
    formal.refutes(walks(config, mutated(MaskFetcher, old, new)))
