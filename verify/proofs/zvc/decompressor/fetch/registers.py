"""Invariants of the mask fetcher's registers, which the induction needs."""

from typing import NamedTuple

from amaranth.hdl import Array, Assert, Cat, Const, Mux, Signal, Value, signed

from cdma.hdl.lib.counter import PART_BITS
from cdma.hdl.lib.signals import any_of
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.verify.formal.prover import probe
from cdma.verify.proofs.zvc.decompressor.fetch.walks import ROW_BITS, End, Walks


class FetcherState(NamedTuple):
    """Position of the fetcher, which may be ahead of the walk: in a packet (``active``), or waiting
    for its end (``awaits``); the remaining words, the place of the next mask, the packet's end."""

    active: Value
    awaits: Value
    rest: Value
    place: Value
    end: End


def banks_read(lane, config):
    """A bit per bank: a mask is read from it that ends in bank ``lane``, or a word before it where
    the words of a mask are no power of two."""
    lanes = config.lanes
    width = min(1 << (config.format.mask_words - 1).bit_length(), lanes)
    return Cat(
        any_of(lane == (bank + back) % lanes for back in range(width)) for bank in range(lanes)
    )


class Registers(Walks):
    """Adds the invariants that both fetchers share."""

    is_stored = "control.is_there"  #: register: the row of the last word to read is in the ring

    def inside(self, m, name, shape):
        """A signal of the fetcher."""
        return probe(m, f"dut.{name}", shape)

    def hold(self, m, state, at):
        """Assert the shared invariants. ``at`` is the place of the last word to read."""
        end, rows_in, awaits, is_short = self.end, self.rows_in, self.awaits, self.is_short
        fmt, lanes, rows, lane_bits = self.config.format, self.lanes, self.rows, self.lane_bits
        m.d.comb += [
            Assert(~(awaits & (self.active | is_short))),
            Assert(~(awaits & end.is_known) | (rows_in == end.row)),
            Assert(self.tail == self.index_of(m, rows_in)),
            Assert(self.tail < rows),
            *(Assert(count <= lanes) for count in self.counts),
            Assert(~end.is_known | ((rows_in - end.row)[:ROW_BITS] <= rows)),
            Assert(
                ~is_short | (end.is_known & (self.less(self.content, self.place) < fmt.mask_words))
            ),
        ]
        with m.If(end.is_known):
            lacks = self.less(end.row << lane_bits, end.content)
            m.d.comb += [Assert(lacks <= lanes), Assert(lacks >= 0)]
        # Row numbers wrap: their differences must stay below half the range.
        there = self.less(rows_in << lane_bits, self.place)  # words from the place on
        most = (rows + 2) * lanes + fmt.mask_words
        past = self.less(self.place, self.content)
        m.d.comb += [
            Assert(awaits | ((-fmt.block_words <= there) & (there <= most))),
            Assert(awaits | ~end.is_known | (past <= fmt.block_words)),
        ]
        # Address registers of the fetcher.
        number, at_row = self.dut.number_bits, Signal(ROW_BITS)
        ahead = Mux(state.end.is_known, state.end.row, rows_in) - at_row
        held_ahead = self.inside(m, "ahead", signed(number))
        m.d.comb += at_row.eq(at >> lane_bits)
        with m.If(~state.awaits):
            m.d.comb += [
                Assert(self.inside(m, "lane", lane_bits) == at[:lane_bits]),
                Assert(
                    self.inside(m, "index", self.dut.index.shape)
                    == self.coded(self.index_of(m, at_row))
                ),
                Assert(held_ahead == ahead[:number].as_signed()),
                Assert(self.inside(m, self.is_stored, 1) == (held_ahead > 0)),
            ]
        self._hold_ends(m, state.end)
        if fmt.ends_itself:  # the end has come before the empty block is given
            m.d.comb += Assert(~awaits & ~is_short)
        else:
            self._hold_command(m, state)

    def _hold_ends(self, m, end):
        """Invariants of the stored ends of this packet and of later packets."""
        rows, lane_bits, number, rows_in = (
            self.rows,
            self.lane_bits,
            self.dut.number_bits,
            self.rows_in,
        )
        end_count = (end.content - ((end.row - 1) << lane_bits))[: lane_bits + 1]

        def end_at(row, count):
            index = Signal(range(rows))
            m.d.comb += index.eq(self.index_of(m, row))
            coded = Signal(self.dut.index.shape)
            m.d.comb += coded.eq(self.coded(index))
            return Cat(row[:number], Const(1, 1), count, coded)

        index_bits = len(Value.cast(self.dut.tail))
        held = self.inside(m, "ends.end", number + 1 + lane_bits + 1 + index_bits)
        m.d.comb += [
            Assert(self.inside(m, "ends.rows_in", number) == rows_in[:number]),
            Assert(held[number] == end.is_known),
            Assert(held[:number] == Mux(end.is_known, end.row, rows_in)[:number]),
        ]
        with m.If(end.is_known):
            m.d.comb += Assert(held == end_at(end.row, end_count))
        entries, level = self._queued_ends(m, len(held))
        rank = None  # number of packets that end before the row
        for k in range(rows):
            row, index = Signal(ROW_BITS, name=f"row{k}"), Signal(range(rows), name=f"index{k}")
            is_end = Signal(name=f"is_end{k}")
            is_there = k < (rows_in - end.row)[:ROW_BITS]
            m.d.comb += [
                row.eq(end.row + k),
                index.eq(self.index_of(m, row)),
                is_end.eq(end.is_known & is_there & Array(self.are_last)[index]),
            ]
            with m.If(is_end):
                count = Array(self.counts)[index]
                expected = end_at((row + 1)[:ROW_BITS], count)
                m.d.comb += Assert((Array(entries)[rank] if k else entries[0]) == expected)
            before, rank = rank, Signal(range(rows + 1), name=f"rank{k}")
            m.d.comb += rank.eq((before + is_end) if k else is_end)
        m.d.comb += Assert(level == rank)

    def _queued_ends(self, m, bits):
        """The stored ends, the oldest first, and their number."""
        rows, one_hot = self.rows, self.dut.index.one_hot
        name = "ends.queue.row{}" if one_hot else "ends.queue.memory[{}]"
        stored = Array(self.inside(m, name.format(row), bits) for row in range(rows))
        empty = (1 << (rows - 1).bit_length()) - rows
        level = self.inside(m, "ends.queue.level", range(empty + rows + 1)) - empty
        ends = ("head", "tail") if one_hot else ("read__addr", "tail")
        head, tail = (
            self.inside(m, f"ends.queue.{end}", rows if one_hot else range(rows)) for end in ends
        )
        first = Signal(range(rows), name="first_end")
        if one_hot:
            m.d.comb += first.eq(sum(Mux(head[row], row, 0) for row in range(rows)))
            m.d.comb += Assert(head == 1 << first)
        else:
            m.d.comb += first.eq(head)
        behind = (first + level) % rows
        m.d.comb += [
            Assert(first < rows),
            Assert((level >= 0) & (level <= rows)),
            Assert(tail == (1 << behind if one_hot else behind)),
        ]
        return [stored[(first + k) % rows] for k in range(rows)], level

    def _hold_command(self, m, state):
        """Invariants of the count of remaining words."""
        active, awaits, rest = state.active, state.awaits, state.rest
        low = (3 * self.config.format.block_words - 1).bit_length()
        m.d.comb += [
            Assert(self.inside(m, "control.active", 1) == (active | awaits)),
            Assert(self.inside(m, "control.awaiting_end", 1) == awaits),
        ]
        # The upper bits are a cycle late, and not used after the last step.
        is_last, borrow = (
            self.inside(m, f"control.left.{name}", 1) for name in ("is_last", "borrow")
        )
        size = self.config.format.block_words
        m.d.comb += [
            Assert((active & ~awaits) | is_last),
            Assert(~borrow | ~is_last),
        ]
        with m.If(active & ~awaits & borrow):
            m.d.comb += Assert(rest[:low] >= (1 << low) - size)
        with m.If(active & ~awaits):
            m.d.comb += [
                Assert(self.inside(m, "control.left.words", low) == rest[:low]),
                Assert(
                    self.inside(m, "control.left.is_last", 1)
                    == (rest <= self.config.format.block_words)
                ),
                Assert(self.inside(m, "control.left.is_zero", 1) == (rest == 0)),
            ]
        upper = Signal(COUNT_BITS - low)
        m.d.comb += upper.eq(rest[low:] + borrow)
        with m.If(active & ~awaits & ~is_last):
            for start in range(0, len(upper), PART_BITS):
                part = upper[start : start + PART_BITS]
                name = f"{start + low}"
                m.d.comb += [
                    Assert(self.inside(m, f"control.left.part{name}", len(part)) == part),
                    Assert(self.inside(m, f"control.left.is_zero{name}", 1) == (part == 0)),
                ]
