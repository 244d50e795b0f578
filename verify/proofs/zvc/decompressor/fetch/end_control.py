"""From block to block and from packet to packet, where the stream ends itself."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Signal

from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.fetch.end_control import EndControl
from cdma.verify.formal.fault import inverted, stuck_at
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults, named


class Decides(Elaboratable):
    """A block with a whole mask is handed on, and the fetcher moves on; without a whole mask, the
    packet has ended, an empty last block is handed on, and the next packet follows."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        inputs = ("is_there", "is_complete", "end_known", "is_last_read", "can_read")
        for name in (*inputs, "next_free", "is_busy"):
            m.d.comb += getattr(dut, name).eq(anything(m, 1, f"any_{name}"))
        m.d.comb += [
            Assume(dut.is_there | ~dut.is_complete),
            # A row without the mask's end is the packet's last.
            Assume(dut.end_known | ~dut.is_there | dut.is_complete),
        ]
        is_known, is_free = Signal(), Signal()
        m.d.sync += [is_known.eq(~dut.is_busy), is_free.eq(~dut.is_busy & dut.next_free)]
        is_ready = dut.is_complete | dut.end_known
        block = dut.block
        m.d.comb += [
            Assert(dut.fetch == (is_known & dut.can_read & is_ready)),
            Assert(dut.done == (is_free & dut.is_last_read & is_ready)),
            Assert(dut.moves_on == (dut.done & dut.is_complete)),
            Assert(dut.switch == (dut.done & ~dut.is_complete)),
            Assert(~dut.switch | dut.end_known),
            Cover(dut.switch),
            Cover(dut.moves_on & dut.end_known),
        ]
        with m.If(dut.done):
            m.d.comb += [
                Assert(block.last == dut.switch),
                Assert(block.void == dut.switch),
                Assert(dut.switch | (block.beats == dut.config.block_beats - 1)),
                Assert(~dut.switch | (block.beats == 0)),
            ]
        return m


PROOFS = (
    Proof(
        name="end_control",
        promise="A packet without a whole mask left ends with an empty block",
        components=(EndControl,),
        design=lambda config: Decides(EndControl(config)),
        sizes=named(
            *(Config.of(8, 32, None, "ones"), Config.of(8, 8, 8, "ones")),
            *(Config.parse("8x32-ones-asic"), Config.parse("8x8b8-ones-asic")),
        ),
        broken=faults(
            Config.of(8, 32, None, "ones"),
            3,
            stuck_at(1, "dut.may_fetch"),
            inverted("dut.switch"),
            stuck_at(0, "dut.moves_on"),
        ),
    ),
)
