"""The mask fetcher for long blocks: counts the ones of each mask to find the next mask."""

from dataclasses import replace

from amaranth.hdl import Assert, Cat, Const, Cover, Mux, Signal

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.fetch import CountingFetcher
from cdma.hdl.zvc.decompressor.fetch.base import reads_of
from cdma.hdl.zvc.decompressor.fetch.control import FetchControl
from cdma.hdl.zvc.decompressor.fetch.ends import PacketEnds
from cdma.hdl.zvc.decompressor.fetch.window import MaskWindow
from cdma.hdl.zvc.decompressor.unit import Decompressor
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.proofs.proof import Proof, faults, named
from cdma.verify.proofs.zvc.decompressor.fetch.registers import FetcherState, Registers, banks_read
from cdma.verify.proofs.zvc.decompressor.fetch.walks import ROW_BITS


class Counts(Registers):
    """Invariants of the counting variant. A mask is counted after its fetch: the fetcher remains at
    the mask of the block at its output."""

    is_stored = "is_stored"

    def elaborate(self, platform):
        m = super().elaborate(platform)
        fmt, first_words = self.config.format, self.dut.first_words
        reads = reads_of(self.config)
        awaits, is_short, content = self.awaits, self.is_short, self.content

        # While the ones of a mask are counted, the fetcher keeps its old position.
        stages, old_place, has_run = Signal(3), self.word("old_place"), Signal()
        m.d.sync += [stages.eq(Cat(self.is_moving, stages[:2])), has_run.eq(1)]
        with m.If(self.is_moving):
            m.d.sync += old_place.eq(self.place)
        is_second = self.inside(m, "window.is_second", 1) if reads > 1 else Const(0, 1)
        begin, at = self.word("begin"), self.word("at")
        has_first = self.less(content, begin + first_words) >= 0
        is_on = (stages.any() | is_second | is_short) & has_first
        may_fetch = self.active & ~awaits & ~stages.any()
        m.d.comb += [
            begin.eq(Mux(stages.any(), old_place, self.place)),
            at.eq(begin + Mux(is_on, fmt.mask_words, first_words) - 1),
            Assert(self.inside(m, "stages", 3) == stages),
            Assert((stages & (stages - 1)) == 0),
            Assert(~stages.any() | (self.active & ~awaits & ~is_short & ~is_second)),
            Assert(~stages[0] | self.was_handed),
            Assert(~self.waits),
            Assert(has_run | ~self.active),
            Assert(self.inside(m, "control.may_fetch", 1) == may_fetch),
            Assert(self.inside(m, "control.goes", 1) == (may_fetch & self.dut.o.ready)),
            Assert(self.idle <= Mux(may_fetch, 3 + is_second, Mux(stages[2], 2, stages[1]))),
        ]
        self.hold(m, FetcherState(self.active, awaits, self.rest, self.place, self.end), at)
        index = self.inside(m, "index", self.dut.index.shape)
        with m.If(~awaits):
            lane = at[: self.lane_bits]
            m.d.comb += Assert(self.inside(m, "banks", self.lanes) == banks_read(lane, self.config))
            if first_words > 1:
                wraps = self.inside(m, "wraps", first_words - 1)
                m.d.comb += Assert(wraps == Cat(lane < k for k in range(1, first_words)))
        if not self.dut.index.one_hot:
            with m.If(has_run):
                m.d.comb += [
                    Assert(self.inside(m, f"index_{k}", range(self.rows)) == index) for k in "abc"
                ]
        with m.If(stages.any()):
            counted = self.less(self.place, old_place) - fmt.mask_words
            m.d.comb += Assert((counted >= 0) & (counted <= fmt.block_words))
            m.d.comb += Assert(self.less(content, begin) >= fmt.mask_words)
        # Position of the next mask, counted from the row in which the current mask ends.
        to = self.place + first_words - 1 - (at >> self.lane_bits << self.lane_bits)
        size = self.dut.group_bits
        bits = size.bit_length()
        ones = [
            self.inside(m, f"ones{k}", bits if k else bits + 1)
            for k in range(0, fmt.block_words, size)
        ]
        with m.If(stages[0]):
            ones_of = popcount(m, self.handed)
            m.d.comb += Assert(self.less(self.place, old_place) == fmt.mask_words + ones_of)
        with m.If(stages[1]):
            m.d.comb += Assert(sum(ones) == to[:ROW_BITS])
        with m.If(stages[2]):
            place = self.inside(m, "place", 4 + len(ones).bit_length())
            m.d.comb += Assert(place == to[:ROW_BITS])
        if reads > 1:
            earlier = Cat(self.word_at(m, begin + k) for k in range(first_words))
            cut = self.dut.o.valid & ~self.is_whole & has_first & (self.rest != 0)
            m.d.comb += Cover(cut)  # the packet ends inside the mask, after the first read
            with m.If(is_second):
                held = self.inside(m, "window.earlier", len(earlier))
                m.d.comb += [
                    Assert(self.active & (self.rest != 0)),
                    Assert(has_first | self.end.is_known),
                    Assert(is_short | ~has_first | (held == earlier)),
                ]
        return m


def walks(config):
    return Counts(CountingFetcher(config, Decompressor.rows(config)))


SMALL, TWO_READS, TWO_WORDS = Config.of(2, 8, 8), Config.of(2, 8, 24), Config.of(4, 8, 16)
CELLS = [replace(config, target="asic") for config in (SMALL, TWO_READS, TWO_WORDS)]

ENDS_ITSELF = [Config.parse("2x8b8-ones"), Config.parse("2x8b8-ones-asic")]
SIZES = named(SMALL, Config.of(8, 32), TWO_READS, TWO_WORDS, *CELLS, *ENDS_ITSELF)

PROOFS = (
    Proof(
        name="counting_fetcher",
        promise="Each block has the mask at its place in the stream",
        components=(CountingFetcher,),
        parts=(FetchControl, MaskWindow, PacketEnds),
        design=walks,
        sizes=SIZES,
        slow=tuple(SIZES),
        broken=(
            *faults(
                SMALL,
                9,
                stuck_at(1, "dut.is_stored"),
                late("dut.ends.end"),
                stuck_at(0, "dut.control.awaiting_end"),
                stuck_at(0, "dut.place", 1),
            ),
            *faults(TWO_READS, 9, stuck_at(0, "dut.window.is_second")),
            *faults(
                ENDS_ITSELF[0],
                9,
                stuck_at(0, "dut.control.switch"),
                stuck_at(1, "dut.control.is_complete"),
            ),
        ),
    ),
)
