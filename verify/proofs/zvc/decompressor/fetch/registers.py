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
                Assert(self.inside(m, "index", range(rows)) == self.index_of(m, at_row)),
                Assert(held_ahead == ahead[:number].as_signed()),
                Assert(self.inside(m, "control.is_there", 1) == (held_ahead > 0)),
            ]
        self._hold_ends(m, state.end)
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
            return Cat(row[:number], Const(1, 1), count, index)

        held = self.inside(m, "ends.end", number + 1 + lane_bits + 1 + len(self.tail))
        m.d.comb += [
            Assert(self.inside(m, "ends.rows_in", number) == rows_in[:number]),
            Assert(held[number] == end.is_known),
            Assert(held[:number] == Mux(end.is_known, end.row, rows_in)[:number]),
        ]
        with m.If(end.is_known):
            m.d.comb += Assert(held == end_at(end.row, end_count))
        valid = self.inside(m, "ends.queue.valid", rows)
        entries = [self.inside(m, f"ends.queue.entry{k}", len(held)) for k in range(rows)]
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
        m.d.comb += Assert(valid == Cat(k < rank for k in range(rows)))

    def _hold_command(self, m, state):
        """Invariants of the count of remaining words."""
        active, awaits, rest = state.active, state.awaits, state.rest
        low = (2 * self.config.format.block_words).bit_length()
        m.d.comb += [
            Assert(self.inside(m, "control.active", 1) == (active | awaits)),
            Assert(self.inside(m, "control.awaiting_end", 1) == awaits),
        ]
        with m.If(active & ~awaits):
            m.d.comb += [
                Assert(self.inside(m, "control.left.words", low) == rest[:low]),
                Assert(
                    self.inside(m, "control.left.is_last", 1)
                    == (rest <= self.config.format.block_words)
                ),
                Assert(self.inside(m, "control.left.is_zero", 1) == (rest == 0)),
            ]
            for start in range(low, COUNT_BITS, PART_BITS):
                part = rest[start : start + PART_BITS]
                m.d.comb += Assert(self.inside(m, f"control.left.part{start}", len(part)) == part)
                m.d.comb += Assert(self.inside(m, f"control.left.is_zero{start}", 1) == (part == 0))
