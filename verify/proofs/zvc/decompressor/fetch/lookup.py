"""The mask fetcher for short blocks: a table gives the jump from each mask to the next."""

from amaranth.hdl import Array, Assert, Cat, Const, Cover, Mux, Signal, Value
from amaranth.lib import data

from cdma.hdl.lib.prefix import popcount, tree
from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.fetch import LookupFetcher
from cdma.hdl.zvc.decompressor.fetch.control import FetchControl
from cdma.hdl.zvc.decompressor.fetch.ends import PacketEnds
from cdma.hdl.zvc.decompressor.fetch.window import MaskWindow
from cdma.hdl.zvc.decompressor.ring import RowInfo
from cdma.hdl.zvc.decompressor.unit import Decompressor
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.proofs.proof import Proof, faults, named
from cdma.verify.proofs.zvc.decompressor.fetch.registers import FetcherState, Registers, banks_read
from cdma.verify.proofs.zvc.decompressor.fetch.walks import ROW_BITS, End


class Jumps(Registers):
    """Invariants of the lookup variant. The fetcher is one block ahead of the block at its output,
    possibly in the next packet. With blocks of two beats, it gets there one cycle after the block
    is offered. The table is part of the fetcher; invariants relate it to the words of the rows."""

    def _rows(self, m):
        """Store the number of ones of each byte beside the words, so that the solver need not
        count the ones of each mask again."""
        super()._rows(m)
        dut, fmt, lanes = self.dut, self.config.format, self.lanes
        in_bytes = data.ArrayLayout(data.ArrayLayout(4, fmt.word_bytes), lanes)
        self.noted = [Signal(in_bytes, name=f"noted{row}") for row in range(self.rows)]
        now = Cat(
            popcount(m, word[k : k + 8])
            for word in dut.beat_words
            for k in range(0, fmt.word_bits, 8)
        )
        for row, noted in enumerate(self.noted):
            with m.If(dut.accept & (dut.tail == row)):
                m.d.sync += noted.eq(now)
        words = [[tree(m, [*word]) for word in row] for row in self.noted]
        self.ones_up_to = []  # by row and word: ones of the mask that would end with this word
        for row in range(self.rows):
            line = [*words[row - 1], *words[row]]
            ends = range(lanes + 1, 2 * lanes + 1)
            self.ones_up_to.append([tree(m, line[end - fmt.mask_words : end]) for end in ends])

    def ones(self, m, mask):
        at = self.place + self.config.format.mask_words - 1
        row = Array(map(Array, self.ones_up_to))[self.index_of(m, at[self.lane_bits :])]
        return row[at[: self.lane_bits]]

    def elaborate(self, platform):
        m = super().elaborate(platform)
        fmt, dut, rows, lanes = self.config.format, self.dut, self.rows, self.lanes
        has_commands = not fmt.ends_itself
        end, is_ahead = self.end, dut.o.valid
        is_last = self.rest <= fmt.block_words if has_commands else self.is_last
        awaiting = self.inside(m, "control.awaiting_end", 1) if has_commands else Const(0, 1)
        # The position holds for the cycle in which the table is read.
        looks_up = self.inside(m, "moves", 1) if self.config.block_beats > 1 else Const(0, 1)
        is_past = Signal()  # the fetcher is in the next packet
        place, rest = self.word("next_place"), Signal(COUNT_BITS)
        m.d.comb += is_past.eq(is_ahead & is_last & ~awaiting)
        with m.If(is_past):
            m.d.comb += [place.eq(end.row << self.lane_bits), rest.eq(self.next_rest)]
        with m.Else():
            advances = is_ahead & self.is_whole & ~looks_up
            m.d.comb += place.eq(Mux(advances, self.behind, self.place))
            m.d.comb += rest.eq(self.rest - Mux(is_ahead, fmt.block_words, 0))
        state = FetcherState(
            Mux(is_past, self.waits, self.active) if has_commands else self.active,
            Mux(is_ahead, awaiting, self.awaits),
            rest,
            place,
            End(*(Mux(is_past, b, a) for a, b in zip(end, self.following, strict=True))),
        )
        may_fetch = state.active & ~state.awaits & ~looks_up
        m.d.comb += [
            Assert(
                ~looks_up | (is_ahead & self.active & self.is_whole & ~is_last & (self.rest != 0))
            ),
            Assert(~(is_ahead & awaiting) | is_last),
            Assert(~(is_ahead & awaiting & end.is_known) | (self.rows_in == end.row)),
            Assert(~is_past | end.is_known),
            Assert(~self.waits | is_past),
            Assert(self.inside(m, "control.may_fetch", 1) == may_fetch),
            Assert(self.inside(m, "control.goes", 1) == (may_fetch & (~is_ahead | dut.o.ready))),
            Assert(self.idle <= is_ahead),
            Cover(
                is_past
                & (self.waits if has_commands else 1)
                & dut.o.ready
                & self.following.is_known
            ),
        ]
        at = self.word("at")
        m.d.comb += at.eq(place + fmt.mask_words - 1)
        self.hold(m, state, at)
        if self.config.block_beats > 1:
            with m.If(looks_up):
                jump = self.inside(m, "place", jump_bits(self.config))
                ones_on = at[: self.lane_bits] + fmt.mask_words + self.ones(m, self.mask)
                m.d.comb += Assert(jump == ones_on)

        # The mask of the offered block is read until the transfer.
        read_at = self.word("read_at")
        m.d.comb += read_at.eq(self.place + fmt.mask_words - 1)
        lane, row = read_at[: self.lane_bits], read_at[self.lane_bits :]
        with m.If(is_ahead & (self.rest != 0) & self.is_whole):
            m.d.comb += Assert(self.inside(m, "window.at", lanes) == banks_read(lane, self.config))
            if fmt.mask_words > 1:
                m.d.comb += Assert(self.inside(m, "window.lane", self.lane_bits) == lane)
            m.d.comb += [
                Assert(self.inside(m, f"read_index_{k}", range(rows)) == self.index_of(m, row))
                for k in "abc"
            ]
            before = self.index_of(m, (row - 1)[:ROW_BITS])
            for below in range(1, fmt.mask_words):
                wrapped = self.dut.bank_rows[lanes - fmt.mask_words + below]
                m.d.comb += Assert(wrapped == Mux(lane < below, before, self.index_of(m, row)))
        if fmt.mask_words > 1:
            m.d.comb += Cover(is_ahead & self.is_whole & (lane == 0))  # a mask in two rows
        self._hold_arrival(m)
        self._hold_table(m)
        return m

    def _hold_arrival(self, m):
        """A row becomes visible one cycle after its beat."""
        info = self.inside(m, "ends.info", RowInfo(self.config))
        m.d.comb += Assert(self.inside(m, "ends.accept", 1) == self.arrives)
        with m.If(self.arrives):
            m.d.comb += [
                Assert(self.inside(m, "ends.tail", len(self.tail)) == self.tail),
                Assert(info.count == Array(self.counts)[self.tail]),
                Assert(info.last == self.arriving.is_known),
            ]

    def _hold_table(self, m):
        """The table has the correct jump for each word of each visible row."""
        fmt, rows, lanes, tail = self.config.format, self.rows, self.lanes, self.tail
        noted = [Value.cast(row) for row in self.noted]
        m.d.comb += Assert(self.inside(m, "jumps.accepted", 1) == self.arrives)
        with m.If(self.arrives):
            m.d.comb += Assert(self.inside(m, "jumps.tail", len(tail)) == tail)
            m.d.comb += Assert(self.inside(m, "jumps.now", len(noted[0])) == Array(noted)[tail])
        with m.If(self.held > 0):
            before = Array(noted)[(tail + rows - 1) % rows]
            m.d.comb += Assert(self.inside(m, "jumps.before", len(noted[0])) == before)
        for row in self.noted:
            m.d.comb += Assert(Cat(byte <= 8 for word in row for byte in word).all())
        bits = jump_bits(self.config)
        for row in range(rows):
            age = Signal(range(rows), name=f"age{row}")  # number of later rows
            m.d.comb += age.eq((tail + 2 * rows - 1 - row) % rows)
            found = self.inside(m, f"jumps.memory[{row}]", lanes * bits)
            for lane, ones in enumerate(self.ones_up_to[row]):
                is_split = lane < fmt.mask_words - 1  # the mask begins in the previous row
                with m.If(age + is_split < self.held):
                    jump = found[lane * bits :][:bits]
                    m.d.comb += Assert(jump == lane + fmt.mask_words + ones)


def jump_bits(config):
    """Number of bits of a table entry."""
    fmt = config.format
    return (config.lanes - 1 + fmt.mask_words + fmt.block_words).bit_length()


def walks(config):
    return Jumps(LookupFetcher(config, Decompressor.rows(config)))


SMALL, ONE_BEAT = Config.of(4, 8, 8), Config.of(8, 8, 8)
ENDS_ITSELF = Config.parse("4x8b8-ones")
SIZES = named(SMALL, ONE_BEAT, Config.of(16, 16, 32), ENDS_ITSELF)

PROOFS = (
    Proof(
        name="lookup_fetcher",
        promise="Each block has the mask at the place that the jump table gives",
        components=(LookupFetcher,),
        parts=(FetchControl, MaskWindow, PacketEnds),
        design=walks,
        sizes=SIZES,
        slow=tuple(SIZES),
        broken=(
            *faults(
                SMALL,
                9,
                stuck_at(0, "dut.place", 1),
                stuck_at(0, "dut.control.is_busy"),
                late("dut.read_index_a"),
                stuck_at(0, "dut.ends.end", 4),
            ),
            *faults(ENDS_ITSELF, 9, stuck_at(0, "dut.control.switch")),
        ),
    ),
)
