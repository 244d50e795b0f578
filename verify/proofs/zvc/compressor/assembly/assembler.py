"""Beat assembly: each word is at its place in its row, each row has its keep, last and count."""

from amaranth.asserts import AnyConst
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
)

from cdma.hdl.zvc.compressor.assembly.account import RowAccount
from cdma.hdl.zvc.compressor.assembly.assembler import Assembler
from cdma.hdl.zvc.compressor.assembly.mask import turned_ahead
from cdma.hdl.zvc.compressor.assembly.place import Place, rows_of_ring, rows_reached
from cdma.hdl.zvc.compressor.assembly.plan import LandingPlan
from cdma.hdl.zvc.compressor.assembly.store import AssembledRow, RowStore, RowTags
from cdma.hdl.zvc.config import Config
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, take
from cdma.verify.proofs.proof import Proof, faults, named


class Assembles(Elaboratable):
    """The output rows agree with a list: beats are appended at one end, rows leave at the other.

    The places of the beats follow each other, as the placer's proof shows. Words and masks are
    unconstrained. One lane, picked by the solver, is compared. Unused places of a row are zero. A
    beat stalls if and only if the ring has no room for the beat.
    """

    def __init__(self, dut):
        self.dut = dut
        self.config = dut.config
        self.depth = rows_of_ring(dut.config)
        lanes, depth = self.config.lanes, self.depth
        # The accepted beat. Its words arrive one cycle later, in this cycle.
        self.is_held, self.held = Signal(), Signal(Place(self.config))
        self.mask, self.kept = Signal.like(dut.mask), Signal.like(dut.kept)
        # Rows from the head of the ring; the first `level` of them are complete. The next row is
        # partial: it holds `behind` words, and `uncounted` data words not yet in a row's count.
        self.level, self.behind = Signal(range(depth + 1)), Signal(range(lanes))
        self.rows = [Signal(AssembledRow(self.config), name=f"row{k}") for k in range(depth)]
        self.words = [Signal(self.config.format.word_bits, name=f"word{k}") for k in range(depth)]
        self.uncounted = Signal.like(dut.o.payload.kept)
        self.lane = Signal(range(lanes))
        words = self.config.format.block_words
        self.low = (words & -words).bit_length() - 1

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        held, is_held, level, depth = self.held, self.is_held, self.level, self.depth
        inputs = [dut.valid, dut.place, dut.first, dut.mask, dut.kept, dut.bank_words]
        self.closes = dut.closes if self.config.is_asic else Const(0, 1)
        inputs += [self.closes] if self.config.is_asic else []
        for k, value in enumerate(map(Value.cast, inputs)):
            m.d.comb += value.eq(anything(m, len(value), f"input{k}"))
        m.d.comb += self.lane.eq(AnyConst(len(self.lane)))
        leaves = take(m, dut.o, "o")

        # No beat arrives in the first cycle after reset.
        is_start = Signal(init=1)
        m.d.sync += is_start.eq(0)
        m.d.comb += [
            Assume(~(is_start & dut.valid)),
            Assert(~is_start | (~is_held & (level == 0) & ~dut.enable)),
            Assert(probe(m, "dut.account.lands", 1) == (dut.enable | is_start)),
        ]

        # Accept a beat. Its place follows the previous beat.
        with m.If(dut.enable):
            m.d.sync += [is_held.eq(dut.valid), held.eq(dut.place)]
            m.d.sync += held.last.eq(dut.place.last | self.closes)
            m.d.sync += [self.mask.eq(dut.mask), self.kept.eq(dut.kept)]
        lands = dut.enable & is_held
        behind = Mux(held.last, 0, held.end[: len(self.behind)])
        with m.If(dut.valid):
            offered = Mux(is_held, behind, self.behind)
            m.d.comb += [Assume(rule) for rule in self._follows(dut.place, dut.kept, offered)]
            m.d.comb += Assume(dut.first == self._first(dut.place))
            # A packet may end with a full row, before beats without words.
            m.d.comb += Assume(~self.closes | (dut.place.is_full & ~dut.place.last))
        if self.config.is_asic:
            self._end_packets(m)
        with m.If(is_held):
            m.d.comb += [Assert(rule) for rule in self._follows(held, self.kept, self.behind)]

        # Write the accepted beat into the list, and remove the first row.
        counted = self.uncounted + self.kept
        with m.If(lands):
            m.d.sync += self.behind.eq(behind)
            m.d.sync += self.uncounted.eq(Mux(held.rows == 0, counted, 0))
        m.d.sync += level.eq(level + Mux(lands, held.rows, 0) - leaves)
        after = [self._landed(m, k, lands, counted) for k in range(depth)]
        for k, (row, word) in enumerate(after):
            next_row, next_word = after[k + 1] if k + 1 < depth else (0, 0)
            m.d.sync += self.rows[k].eq(Mux(leaves, next_row, row))
            m.d.sync += self.words[k].eq(Mux(leaves, next_word, word))

        # The output is the first row. The only reason for a stall is a full ring.
        out, row, word = dut.o.payload, self.rows[0], self.words[0]
        m.d.comb += [
            Assert(level <= depth),
            Assert(dut.o.valid == (level != 0)),
            Assert(dut.enable == (~is_start & (~is_held | self._fits(level, held.end)))),
            Cover(is_held & ~dut.enable & (held.end > self.config.lanes) & (self.mask != 0)),
        ]
        with m.If(dut.o.valid):
            m.d.comb += [
                Assert(out.row.words[self.lane] == word),
                Assert(out.row.keep == row.row.keep),
                Assert(out.row.last == row.row.last),
                Assert(out.kept == row.kept),
                Cover(out.row.last & (word != 0) & (self.lane != 0) & (level == depth)),
                Cover(out.row.keep == 0),
            ]
        self._inside(m)
        return m

    def _end_packets(self, m):
        """Only a packet's last block has a number of words that is not that of whole blocks."""
        dut, low = self.dut, self.low
        is_partial = Signal()  # the packet's last block has begun
        is_accepted = dut.enable & dut.valid
        with m.If(is_accepted):
            m.d.comb += Assume(~is_partial | (dut.kept == 0))
            ends = dut.place.last | self.closes
            m.d.sync += is_partial.eq((is_partial | (dut.kept[:low] != 0)) & ~ends)
        completes = self.is_held & (self.held.rows != 0)
        tags = probe(m, "dut.store.tags", RowTags(self.config))
        m.d.comb += Assert(is_partial | completes | (tags.kept[:low] == 0))

    def _follows(self, place, kept, behind):
        """Rules for the place of a beat after ``behind`` words of the row."""
        lanes = self.config.lanes
        first = self._first(place)
        is_partial = (place.end % lanes != 0) | (place.end == 0)
        return [
            place.lane == behind,
            place.end >= first,
            place.end <= first + lanes,
            place.rows == place.end // lanes + (place.last & is_partial),
            place.is_full == ~is_partial,
            *(bit == (place.end > k * lanes) for k, bit in enumerate(place.reaches, 1)),
            *(bit == self._fits(k, place.end) for k, bit in enumerate(place.fits, 1)),
            kept <= Mux(place.has_mask, self.config.format.block_words, 0),
        ]

    def _first(self, place):
        return place.lane + Mux(place.has_mask, self.config.format.mask_words, 0)

    def _fits(self, level, end):
        """Whether the beat has room. With all rows complete, even an empty beat has none."""
        is_room = level * self.config.lanes + end <= self.depth * self.config.lanes
        return is_room & (level != self.depth)

    def _at(self, k, lane):
        """Place of a lane in row ``k``, counted from the row in which the held beat begins; and
        whether this place belongs to the beat, to its mask, and to its words or later."""
        place = k * self.config.lanes + lane
        first, begin = self._first(self.held), self.held.lane
        return place, place >= begin, (place >= begin) & (place < first), place >= first

    def _landed(self, m, index, lands, counted):
        """A row of the list and its word, after the held beat is written."""
        held, lanes = self.held, self.config.lanes
        row, word = Signal.like(self.rows[index]), Signal.like(self.words[index])
        m.d.comb += [row.eq(self.rows[index]), word.eq(self.words[index])]
        k = Signal(range(-self.depth, self.depth))
        m.d.comb += k.eq(index - self.level)
        place, is_here, is_mask, is_behind = self._at(k, self.lane)
        mask_index = Signal(range(self.config.format.mask_words + 1))
        m.d.comb += mask_index.eq(place - held.lane)
        with m.If(lands & is_here):
            m.d.comb += word.eq(0)
            with m.If(is_mask):
                m.d.comb += word.eq(self.mask.word_select(mask_index, len(word)))
            with m.Elif(is_behind & (place < held.end)):
                m.d.comb += word.eq(self.dut.bank_words[self.lane])
        with m.If(lands & (k >= 0) & (k < held.rows)):
            is_end = k == held.rows - 1
            m.d.comb += [
                row.row.keep.eq(Cat(k * lanes + lane < held.end for lane in range(lanes))),
                row.row.last.eq(is_end & held.last),
                row.kept.eq(Mux(is_end, counted, 0)),
            ]
        return row, word

    def _inside(self, m):
        """Invariants of the registers."""
        held, is_held, level, depth = self.held, self.is_held, self.level, self.depth
        lanes, fmt = self.config.lanes, self.config.format
        reach = rows_reached(self.config)

        def inside(name, shape):
            return probe(m, f"dut.{name}", shape)

        head = inside("store.head", range(depth))
        begins = Signal(range(depth))  # the ring's row in which the held beat begins
        held_rows = Mux(is_held, held.rows, 0)
        m.d.comb += [
            begins.eq((head + level) % depth),
            Assert(head < depth),
            Assert(inside("plan.at", depth) == 1 << ((head + level + held_rows) % depth)),
            Assert(inside("account.complete", depth + 1) == 1 << level),
            Assert(inside("account.held_rows", reach + 2) == 1 << held_rows),
            Assert(
                inside("account.held_fits", depth)
                == Cat(~is_held | self._fits(k, held.end) for k in range(1, depth + 1))
            ),
            Assert((level != depth) | (self.behind == 0)),
            # Each mask in the row takes words of the row, which bounds the number of its blocks.
            Assert(self.uncounted * fmt.mask_words <= fmt.block_words * self.behind),
        ]
        most = fmt.block_words * (lanes - 1 + fmt.mask_words)
        for k, row in enumerate(self.rows):
            m.d.comb += Assert((level <= k) | (row.kept * fmt.mask_words <= most))
        tags = inside("store.tags", RowTags(self.config))
        m.d.comb += Assert(tags.kept == self.uncounted + Mux(is_held, self.kept, 0))
        with m.If(is_held):
            is_whole = ~held.last | held.is_full
            keep = Cat(is_whole | (held.end % lanes > lane) for lane in range(lanes))
            mask = turned_ahead(m, self.config, self.mask, held.lane)
            m.d.comb += [
                Assert((tags.last == held.last) & (tags.keep == keep)),
                Assert(inside("plan.held_at", depth) == 1 << begins),
                Assert(inside("store.mask", len(mask)) == mask),
            ]
            if fmt.mask_words > 1:
                m.d.comb += Assert(inside("store.lane", len(self.lane)) == held.lane)
        ring = []
        for row in range(depth):
            k = Signal(range(depth), name=f"ahead{row}")
            m.d.comb += k.eq((row + depth - begins) % depth)
            is_near = k <= reach
            m.d.comb += [
                Assert(inside(f"plan.completes{row}", 1) == (is_held & (k < held.rows))),
                Assert(inside(f"plan.ends{row}", 1) == (is_held & (k + 1 == held.rows))),
            ]
            loads, takes_mask, takes_word = (
                inside(f"plan.{name}{row}", lanes) for name in ("loads", "takes_mask", "takes_word")
            )
            for lane in range(lanes):
                place, is_here, is_mask, is_behind = self._at(k, lane)
                is_reached = (k == 0) | (k * lanes < held.end)
                m.d.comb += Assert(loads[lane] == (is_held & is_here & is_reached))
                with m.If(is_held):
                    m.d.comb += [
                        Assert(takes_mask[lane] == (is_mask & is_near)),
                        Assert(takes_word[lane] == (is_behind & (place < held.end))),
                    ]
            word_bits = fmt.word_bits
            words = inside(f"store.row{row}", lanes * word_bits)
            tags = inside(f"store.tags{row}", len(Value.cast(self.rows[0])) - lanes * word_bits)
            ring.append((words.word_select(self.lane, word_bits), tags))

        tag = inside("store.tag", len(ring[0][1]))
        for k in range(depth):
            words, tags = (Array(values)[(head + k) % depth] for values in zip(*ring, strict=True))
            row = self.rows[k]
            expected = Cat(row.kept, row.row.last, row.row.keep)
            is_word = Signal(name=f"is_word{k}")
            m.d.comb += is_word.eq((k == level) & (self.lane < self.behind))
            with m.If(k < level):
                m.d.comb += [Assert(words == self.words[k]), Assert(tags == expected)]
                m.d.comb += is_word.eq(row.row.keep.bit_select(self.lane, 1))
            with m.If(is_word):
                m.d.comb += Assert(words == self.words[k])
            with m.Else():
                m.d.comb += Assert(self.words[k] == 0)
            if k == 0:
                with m.If(level != 0):
                    m.d.comb += Assert(tag == expected)


PROOFS = (
    Proof(
        name="assembler",
        promise="Each word is at its place in its row and all other places are zero",
        components=(Assembler,),
        parts=(RowAccount, LandingPlan, RowStore),
        design=lambda config: Assembles(Assembler(config)),
        sizes=named(
            *(Config.of(8, 32), Config.of(16, 16), Config.of(2, 8, 32), Config.of(4, 8, 24)),
            Config.of(8, 8, 64),  # a mask is rotated in two parts
            *map(Config.parse, ("8x32-asic", "2x8b32-asic", "4x8b24-asic")),
        ),
        slow=("8x32", "16x16", "2x8b32", "8x8b64", "8x32-asic", "2x8b32-asic", "4x8b24-asic"),
        broken=faults(
            Config.of(2, 8, 8),
            8,
            stuck_at(1, "dut.plan.takes_word0", 1),
            stuck_at(0, "dut.plan.takes_mask1", 0),
            late("dut.plan.at"),
            stuck_at(0, "dut.store.tags", 2),
            stuck_at(1, "dut.account.held_fits", 1),
            stuck_at(0, "dut.account.complete", 2),
        ),
    ),
)
