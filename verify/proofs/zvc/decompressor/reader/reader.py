"""The reader: reads each word from its place, frees each row once, drains each packet."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Array, Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data

from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.reader import PayloadReader
from cdma.hdl.zvc.decompressor.reader.place import BeatPlace, rows_of_beat
from cdma.hdl.zvc.decompressor.reader.window import RowWindow
from cdma.hdl.zvc.decompressor.ring import RowInfo
from cdma.hdl.zvc.decompressor.rows import RowIndex
from cdma.hdl.zvc.decompressor.unit import Decompressor
from cdma.hdl.zvc.network import routes
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, offer
from cdma.verify.proofs.proof import Proof, faults, named

ROW_BITS = 4  # bits of row numbers: only their differences are used, so they may wrap


class Reads(Elaboratable):
    """Unconstrained beats read from a ring that receives unconstrained rows.

    The lengths of packets do not depend on the commands. The model follows each packet twice: by
    the places of the words that the beats read, and by the rows that the reader passes. Both agree
    unless a packet is shorter or longer than its beats need. Assumptions: the proven properties of
    :class:`StreamRing`; the places of beats follow each other; the mask before a beat has arrived.
    With a tail of ones, the last beat of a packet is a beat of its own, behind the last row.
    """

    def __init__(self, dut):
        self.dut = dut
        self.config = dut.config
        self.lanes, self.rows = dut.config.lanes, dut.rows
        self.reach = rows_of_beat(dut.config)

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        lanes, reach = self.lanes, self.reach
        passed = probe(m, "dut.window.step", reach + 3)  # one-hot, see `_Step`
        passes = Signal(range(reach + 1))
        m.d.comb += passes.eq(sum(Mux(passed[k], k, 0) for k in range(reach + 1)))
        m.d.comb += Assert((passed[: reach + 1] != 0) & self._is_one_hot(passed[: reach + 1]))
        self._ring(m, passes)
        beat, has_beat = self._beats(m)

        # Rows from the head that a beat may reach: which have arrived and belong to the packet
        # (`ours`), and which lie after the end of the packet (`over`).
        is_past, drains = Signal(), Signal()  # the rows, or the beats, are one packet ahead
        self.is_past, self.drains = is_past, drains
        over = [is_past]
        for k in range(1, reach):
            over.append(over[-1] | ((self.known >= k) & self.infos[k - 1].last))
        self.ours = [(k < self.known) & ~over[k] for k in range(reach)]
        self.over = over
        readable = Cat(ours | past for ours, past in zip(self.ours, over, strict=True))
        if self.config.format.ends_itself:
            # The last beat is made of the packet's last row, which has no whole mask.
            ends = (ours & info.last for ours, info in zip(self.ours, self.infos, strict=False))
            m.d.comb += Assume(~(has_beat & beat.tags.last) | is_past | Cat(ends).any())
        with m.If(has_beat & beat.tags.first):
            mask_end = Array(readable)[(self.first - 1) >> self.lane_bits]
            m.d.comb += Assume(mask_end)

        # A beat is read when all of its words have arrived or the packet has ended. In its first
        # cycle, the exact last row is not yet known: the beat waits for the farthest possible row.
        behind = self.behind
        last_row, last_bank = (behind - 1) >> self.lane_bits, (behind - 1) % lanes
        waited = Signal()
        m.d.sync += waited.eq(has_beat & ~dut.launch)
        farthest = readable[-1] if reach == 2 else Array(readable)[self._row_of(0, self.first)]
        may_read = (beat.total == 0) | farthest | (waited & Array(readable)[last_row])
        m.d.comb += [
            Cover(dut.launch & waited & ~readable[-1] & (beat.total != 0)),
            dut.enable.eq(anything(m, 1, "enable")),
            Assume(~(dut.enable & drains)),
            Assert(dut.launch == (dut.enable & has_beat & may_read)),
            Assert(dut.drains == drains),
        ]
        bank = Signal(range(lanes))
        m.d.comb += bank.eq(AnyConst(len(bank)))
        with m.If(dut.launch):
            row = self._row_of(bank, self.first)
            place = row * lanes + bank
            info = Array(self.infos)[row]
            is_there = Array(self.ours)[row] & (info.count > bank)
            with m.If(place < behind):
                index = (self.head + row) % self.rows
                m.d.comb += [
                    Assert(dut.has_word.bit_select(bank, 1) == is_there),
                    Assert(~is_there | (dut.bank_rows[bank] == self._index(index))),
                    Cover(is_there & (row == reach - 1)),
                    Cover(~is_there & (beat.total == lanes)),
                ]
            to_lanes = routes(m, beat.ranks, self.first % lanes).as_value()
            m.d.comb += [
                Assert(dut.mask == beat.mask),
                Assert(beat.is_empty | (dut.routes.as_value() == to_lanes)),
            ]

        # Position in the packet: rows passed by the reader, and row and lane of the beats.
        finishes = dut.launch & beat.tags.last
        passed = [k < passes for k in range(reach)]
        closes = Cat(p & info.last for p, info in zip(passed, self.infos, strict=False)).any()
        place_row, rows_passed = Signal(ROW_BITS), Signal(ROW_BITS)
        with m.If(dut.launch):
            m.d.sync += place_row.eq(Mux(beat.tags.last, 0, place_row + (behind >> self.lane_bits)))
            m.d.sync += self.lane.eq(Mux(beat.tags.last, 0, behind % lanes))
        m.d.sync += [
            rows_passed.eq(Mux(closes, 0, rows_passed + passes)),
            is_past.eq((is_past | (closes & ~drains)) & ~finishes),
            drains.eq((drains | (finishes & ~is_past)) & ~closes),
        ]
        m.d.comb += [
            Assert(passes <= self.known),
            *(
                Assert(~(passed[k + 1] & info.last))
                for k, info in enumerate(self.infos[: reach - 1])
            ),
            Assert(~(closes & is_past)),
            Assert(~(is_past & drains)),
            Assert(is_past | drains | (rows_passed == place_row)),
            Assert(~is_past | (rows_passed == 0)),
            Assert(~drains | ((place_row == 0) & (self.lane == 0))),
            # A packet that is longer than its beats is drained at one row per cycle.
            Assert(~drains | (passes == (self.known != 0))),
            *self._if_drained(drains & (rows_passed == reach + 1)),
            Cover(is_past & (rows_passed == 0) & (self.known == 2)),
            # A row that is partly read has arrived.
            Assert(is_past | drains | (self.lane == 0) | (self.known != 0)),
        ]
        self._report(m, beat, last_row, last_bank, passes)
        self._inside(m)
        return m

    def _ring(self, m, passes):
        """A ring that receives rows at any time. The reader sees a row one cycle later."""
        dut, rows = self.dut, self.rows
        self.head, level = Signal(range(rows)), Signal(range(rows + 1))
        self.known = known = Signal(range(rows + 1))
        stored = [Signal(RowInfo(self.config), name=f"info{row}") for row in range(rows)]
        arrives = anything(m, 1, "arrives")
        info = Signal(RowInfo(self.config))
        m.d.comb += info.as_value().eq(anything(m, len(info.as_value()), "any_info"))
        m.d.comb += [
            dut.accept.eq(arrives),
            dut.info.eq(info),
            Assert(dut.has_room == (level != rows)),
            Assume(~arrives | dut.has_room),
            *map(Assume, self._is_info(info)),
        ]
        ahead = [Signal(range(rows), name=f"ahead{row}") for row in range(rows)]
        m.d.comb += [ahead[row].eq((row + rows - self.head) % rows) for row in range(rows)]
        m.d.sync += [
            self.head.eq((self.head + passes) % rows),
            level.eq(level + arrives - passes),
            known.eq(level - passes),
        ]
        for row in range(rows):
            with m.If(arrives & (ahead[row] == level)):
                m.d.sync += stored[row].eq(info)
            with m.If(ahead[row] < level):
                m.d.comb += [Assert(rule) for rule in self._is_info(stored[row])]
        m.d.comb += [
            Assert(self.head < rows),
            Assert((level <= rows) & ((level == known) | (level == known + 1))),
        ]
        self.infos = [Signal.like(info, name=f"ahead_info{k}") for k in range(rows)]
        for k, value in enumerate(self.infos):
            m.d.comb += value.eq(Array(stored)[(self.head + k) % rows])
        m.d.comb += Assert(probe(m, "dut.window.came", 1) == (level != known))
        with m.If(level != known):
            newest = Array(self.infos)[known].as_value()
            m.d.comb += Assert(probe(m, "dut.window.came_info", len(newest)) == newest)

    def _is_info(self, info):
        """Rules of a row: only the last row of a packet may be partial, and a row with a partial
        word is not full."""
        lanes = self.lanes
        return [
            info.last | ((info.count == lanes) & ~info.ragged),
            info.count <= lanes,
            ~info.ragged | (info.count != lanes),
        ]

    def _beats(self, m):
        """Beats of the blocks. Returns the beat at the input and whether it is valid."""
        dut, beat = self.dut, self.dut.i.payload
        mask_words = self.config.format.mask_words
        self.lane_bits = self.lanes.bit_length() - 1
        self.lane = Signal(self.lane_bits)  # lane after the words of earlier beats
        self.begins = begins = Signal(init=1)  # the beat begins a block
        is_new = Signal(init=1)  # the beat begins a packet
        self.first = Signal(range(self.lanes + mask_words))
        self.behind = Signal(range(2 * self.lanes + mask_words))
        offer(m, dut.i, "i")
        with m.If(dut.launch):
            m.d.sync += [begins.eq(beat.tags.final), is_new.eq(beat.tags.last)]
        m.d.comb += [
            self.first.eq(self.lane + Mux(beat.tags.first, mask_words, 0)),
            self.behind.eq(self.first + beat.total),
            Assert(dut.i.ready == dut.launch),
            Assert(begins | ~is_new),
            Assert(~is_new | (self.lane == 0)),
        ]
        is_void = beat.tags.last & beat.tags.final & beat.is_empty
        if self.config.format.ends_itself:  # the last beat of each packet, and no other
            m.d.comb += Assume(~dut.i.valid | (beat.tags.last == (is_void & ~beat.tags.first)))
            m.d.comb += Assume(~dut.i.valid | begins | ~beat.tags.last)
        else:
            is_void &= is_new
        with m.If(dut.i.valid):
            m.d.comb += [
                Assume(beat.total <= self.lanes),
                Assume(beat.is_empty == (beat.total == 0)),
                Assume(~beat.tags.last | beat.tags.final),
                Assume(begins | ~beat.tags.first),
                Assume(~begins | beat.tags.first | is_void),
            ]
        return beat, dut.i.valid

    @staticmethod
    def _is_one_hot(bits):
        return (bits & (bits - 1)) == 0

    def _index(self, row):
        """Index of a row as the ring has it."""
        return 1 << row if RowIndex.of(self.config, self.rows).one_hot else row

    def _row_of(self, bank, start):
        """Row of a bank's word, counted from the head: the bank's first place at or after start."""
        return (start >> self.lane_bits) + (start % self.lanes > bank)

    def _if_drained(self, condition):
        """A condition that only a unit reaches that drains packets."""
        return [] if self.config.format.ends_itself else [Cover(condition)]

    def _report(self, m, beat, last_row, last_bank, passes):
        """The report on a beat: whether its last word is missing. On the last beat of a packet
        also: whether words follow, in the rows passed with the beat or in drained rows."""
        dut, lanes, out = self.dut, self.lanes, self.dut.o
        has_reported, reported = Signal(), Signal.like(beat)
        behind, reported_behind = self.behind, Signal.like(self.behind)
        is_missing, is_short, was_short = Signal(), Signal(), Signal()
        extra, offset = Signal(), Signal(range(lanes))
        info = Array(self.infos)[last_row]
        misses = ~(Array(self.ours)[last_row] & (info.count > last_bank))
        # A packet without all its words and masks has no trailing words.
        lacks = is_short | ((behind > self.lane) & misses)
        complete = behind >> self.lane_bits
        is_seen = Signal()  # the row after the last words had arrived when they were read
        with m.If(dut.enable):
            m.d.sync += [has_reported.eq(dut.launch), reported.eq(beat), is_missing.eq(misses)]
            m.d.sync += reported_behind.eq(behind)
        with m.If(dut.launch):
            m.d.sync += [
                is_short.eq(lacks & ~beat.tags.last),
                was_short.eq(lacks),
                extra.eq(
                    Cat(
                        (k < passes) & ((k * lanes + info.count > behind) | info.ragged)
                        for k, info in enumerate(self.infos)
                    ).any()
                ),
                offset.eq(behind % lanes),
                is_seen.eq((complete < self.reach) & (complete < self.known)),
            ]
        with m.Elif(self.drains & (passes != 0)):
            first = self.infos[0]
            m.d.sync += [extra.eq(extra | (first.count > offset) | first.ragged)]
            m.d.sync += [offset.eq(0), is_seen.eq(0)]
        is_left_over = (out.behind < out.there) | out.has_more
        m.d.comb += Assert(dut.o_valid == has_reported)
        with m.If(has_reported):
            m.d.comb += [
                Assert(
                    out.used
                    == reported.total + Mux(reported.tags.first, self.config.format.mask_words, 0)
                ),
                Assert(out.has_words == (reported.total != 0)),
                Assert(out.behind == reported_behind),
                Assert(out.tags.as_value() == reported.tags.as_value()),
            ]
            with m.If(out.has_words):
                m.d.comb += Assert((out.behind > out.there) == is_missing)
            with m.If(reported.tags.last & ~was_short):
                m.d.comb += Assert(is_left_over == (extra | (self.drains & is_seen)))
                m.d.comb += [
                    Cover(is_left_over & ~self.drains),
                    *self._if_drained(~is_left_over & self.drains),
                ]
        with m.If(self.drains):
            m.d.comb += Assert(has_reported & reported.tags.last)
            m.d.comb += Assert(~is_seen | ((self.known != 0) & ~self.infos[0].last))
            m.d.comb += Assert((offset == 0) | is_seen | was_short)

    def _inside(self, m):
        """Invariants of the registers: the reader sees the rows that are known."""

        def inside(name, shape):
            return probe(m, f"dut.{name}", shape)

        m.d.comb += [
            Assert(inside("window.is_past", 1) == self.is_past),
            Assert(inside("place.begins", 1) == self.begins),
        ]
        if self.config.format.ends_itself:
            m.d.comb += Assert(inside("place.ended", self.lane_bits) == self.lane)
        coded = Value.cast(self.dut.bank_rows[0])
        indices = inside("window.indices", self.reach * len(coded))
        is_known = inside("window.is_known", self.rows)
        for k, info in enumerate(self.infos):
            known_info = inside(f"window.info{k}", len(info.as_value()))
            m.d.comb += [
                Assert(is_known[k] == (k < self.known)),
                Assert(~is_known[k] | (known_info == info.as_value())),
            ]
        is_ours, may_read = (
            inside("window.is_ours", self.reach),
            inside("window.may_read", self.reach),
        )
        ends = inside("window.ends", self.reach)
        for k in range(self.reach):
            index = indices.word_select(k, len(coded))
            m.d.comb += [
                Assert(is_ours[k] == self.ours[k]),
                Assert(may_read[k] == (self.ours[k] | self.over[k])),
                Assert(index == self._index((self.head + k) % self.rows)),
                Assert(ends[k] == (self.ours[k] & self.infos[k].last)),
            ]
        # Place of the first data word of the beat: after the mask, if the beat begins a block.
        start = Signal(range(self.lanes + self.config.format.mask_words))
        m.d.comb += start.eq(self.lane + Mux(self.begins, self.config.format.mask_words, 0))
        rows = Signal(data.ArrayLayout(range(self.reach), 1 + self.lanes))
        m.d.comb += [
            rows[0].eq(start >> self.lane_bits),
            *(rows[1 + bank].eq(self._row_of(bank, start)) for bank in range(self.lanes)),
        ]
        places = Cat(start[: self.lane_bits], rows.as_value())
        m.d.comb += Assert(inside("place.start", len(places)) == places)


def reads(config):
    return Reads(PayloadReader(config, Decompressor.rows(config)))


PROOFS = (
    Proof(
        name="payload_reader",
        promise="Each word is read from its place and each row is freed once",
        components=(PayloadReader,),
        parts=(BeatPlace, RowWindow),
        design=reads,
        sizes=named(
            Config.of(2, 8, 8),
            Config.of(4, 8, 16),  # a mask is half a beat
            Config.of(8, 32),
            Config.of(2, 8, 32),
            Config.parse("4x8b16-asic"),
            Config.parse("8x32-asic"),
            Config.parse("2x8b8-ones"),
            Config.parse("4x8b16-ones"),
            *(Config.parse("2x8b8-ones-asic"), Config.parse("4x8b16-ones-asic")),
        ),
        slow=(
            *("4x8b16", "8x32", "2x8b32", "4x8b16-asic", "8x32-asic", "4x8b16-ones"),
            *("2x8b8-ones-asic", "4x8b16-ones-asic"),
        ),
        broken=(
            *faults(
                Config.of(2, 8, 8),
                8,
                stuck_at(1, "dut.has_word", 0),
                late("dut.place.carry"),
                stuck_at(0, "dut.window.is_past"),
                stuck_at(0, "dut.window.hold", 4),
                late("dut.window.to_end"),
                late("dut.window.came"),
                stuck_at(1, "dut.window.has_room"),
                stuck_at(0, "dut.window.leftover"),
                stuck_at(1, "dut.known_needs", 0),
                stuck_at(1, "dut.o_valid"),
            ),
            *faults(
                Config.parse("2x8b8-ones"),
                8,
                stuck_at(0, "dut.place.ended"),
                stuck_at(0, "dut.window.is_past"),
                late("dut.window.to_end"),
            ),
        ),
    ),
)
