"""What all surveys of blocks have in common: their beats in order, and the mask of a block."""

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal
from amaranth.lib import data

from cdma.hdl.zvcplus.compressor.records import Extent
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, leave_open


class Surveyed(Elaboratable):
    """A survey, its beats in order, and the mask of a block.

    A beat's own record passes as many registers as the survey has in front of the last, and is then
    joined with those of the block's beats before.
    """

    def __init__(self, dut):
        self.dut = dut
        self.config = dut.config

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        config = self.config
        leave_open(m, dut, "enable", "valid", "words", "keep", "extent")
        ends = anything(m, 1, "ends")
        index = Signal(2, name="index")
        m.d.comb += [
            dut.index.eq(index),
            dut.end.eq(ends | (index == 3)),
            Assume((dut.keep & (dut.keep + 1)) == 0),
            # Only a packet's last beat has fewer words, and a block ends with it.
            Assume(dut.keep.all() | dut.extent.last),
            Assume(~dut.extent.last | dut.end),
        ]
        with m.If(dut.enable & dut.valid):
            m.d.sync += index.eq(Mux(dut.end, 0, index + 1))
        layout = data.StructLayout(
            {
                "valid": 1,
                "index": 2,
                "end": 1,
                "extent": Extent(config),
                "mask": config.lanes,
                "own": self.layout(),
            }
        )
        beat = Signal(layout, name="beat")
        mask = Signal(config.lanes, name="nonzero")
        m.d.comb += [
            mask.eq(Cat(each.any() for each in dut.words) & dut.keep),
            beat.valid.eq(dut.valid),
            beat.index.eq(index),
            beat.end.eq(dut.end),
            beat.extent.eq(dut.extent),
            beat.mask.eq(mask),
        ]
        self.describe(m, beat.own, mask)
        stages = []
        for stage in range(dut.latency(config) - 1):
            later = Signal(layout, name=f"beat{stage}")
            with m.If(dut.enable):
                m.d.sync += later.eq(beat)
            beat = later
            stages.insert(0, later)
        self._join(m, index, stages, beat)
        return m

    def _join(self, m, index, stages, beat):
        """The beats of a block together."""
        dut, lanes, words = self.dut, self.config.lanes, self.config.word.block_words
        has_ended, begun = Signal(name="has_ended"), Signal(name="begun")
        at, following = Signal(2, name="at"), Signal(2, name="following")
        extent, mask = Signal(Extent(self.config), name="extent"), Signal(words, name="mask")
        joins, is_first = Signal(name="joins"), Signal(name="is_first")
        m.d.comb += [joins.eq(dut.enable & beat.valid), is_first.eq(beat.index == 0)]
        with m.If(dut.enable):
            m.d.sync += [has_ended.eq(beat.valid & beat.end), extent.eq(beat.extent)]
        before = Mux(is_first, 0, mask)
        with m.If(joins):
            m.d.sync += [
                begun.eq(1),
                at.eq(beat.index),
                following.eq(Mux(beat.end, 0, beat.index + 1)),
                mask.eq(before | (beat.mask << (beat.index * lanes))),
            ]
        # Beats are in order in all registers.
        due = following
        for stage in stages:
            m.d.comb += Assert(~stage.valid | (stage.index == due))
            due = Mux(stage.valid, Mux(stage.end, 0, stage.index + 1)[:2], due)
        m.d.comb += [
            Assert(index == due),
            Assert(begun | (following == 0)),
            Assert((following == 0) | (following == (at + 1)[:2])),
            Assert(dut.o_valid == has_ended),
            Assert(~has_ended | begun),
        ]
        differences = mask ^ (mask << 1)[:words]
        with m.If(begun):
            m.d.comb += [
                Assert(dut.o.masks.mask == mask),
                *(
                    Assert(marked[group] == bits[4 * group : 4 * group + 4].any())
                    for marked, bits in (
                        (dut.o.masks.as_is, mask),
                        (dut.o.masks.differences, differences),
                    )
                    for group in range(words // 4)
                ),
                *(Assert((at != beat) | ((mask >> lanes * (beat + 1)) == 0)) for beat in range(3)),
                *(
                    Assert((at != beat) | (probe(m, "dut.masks.before", 1) == last))
                    for beat, last in enumerate(mask[lanes - 1 :: lanes])
                ),
                Cover(has_ended & (at == 3) & ~mask.all() & mask[0] & mask[-1]),
            ]
        with m.If(has_ended):
            m.d.comb += Assert(dut.o.extent == extent)
        self.join(m, joins, is_first, beat, begun, at)

    def layout(self):
        """Of a beat, what is known beside its mask."""
        raise NotImplementedError

    def describe(self, m, own, mask):
        """Assign what is known of a beat."""
        raise NotImplementedError

    def join(self, m, joins, is_first, beat, begun, at):
        """Compare what is known of a block up to a beat."""
        raise NotImplementedError
