"""Items of several types become rows: fields, controls and places meet in the assembler."""

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Signal, Value

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.zvcplus.compressor import landing
from cdma.hdl.zvcplus.compressor.fields import FloatFields
from cdma.hdl.zvcplus.compressor.rotator import ControlRotator
from cdma.hdl.zvcplus.mixed.compressor import rows
from cdma.hdl.zvcplus.mixed.compressor.front import TypeFront
from cdma.hdl.zvcplus.mixed.compressor.records import ByteLanes
from cdma.hdl.zvcplus.mixed.compressor.rows import ItemRows
from cdma.hdl.zvcplus.mixed.config import MixedConfig
from cdma.hdl.zvcplus.network import BitPacker
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import anything, leave_open
from cdma.verify.proofs.parts import with_parts
from cdma.verify.proofs.proof import Proof, faults
from cdma.verify.proofs.zvcplus.compressor.landing import FollowedItem, PlainCounter, follow_items

#: Parts whose ports the model looks at.
PARTS = ("BitPacker", "ControlRotator", "BitAssembler", "Counter")
#: Cycles from an item to its fields.
_FIELDS = FloatFields.LATENCY


class LatePacker(BitPacker):
    """Bits of words leave as they are, as late as from the network."""

    def elaborate(self, platform):
        m = Module()
        bits = Value.cast(self.words)
        m.submodules.late = late = DelayLine(len(bits), self.latency(self.lanes, self.word_bits))
        m.d.comb += [late.enable.eq(self.enable), late.i.eq(bits), self.bits.eq(late.o)]
        return m


class LateRotator(ControlRotator):
    """A control leaves as it is, as late as from the rotator."""

    def elaborate(self, platform):
        m = Module()
        m.submodules.late = late = DelayLine(len(self.control), self.LATENCY)
        m.d.comb += [late.enable.eq(self.enable), late.i.eq(self.control), self.bits.eq(late.o)]
        return m


class MeetsItsBits(Elaboratable):
    """Each item comes to the assembler once, in order, with its place, the words of its packet so
    far, its fields and its control; it has its places in the network when its fields are there.

    What the parts do is proven of each: network and rotator only let their bits wait here. The
    lowest bit of fields and control says which item they belong to.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut = self.dut
        instead = {"BitPacker": LatePacker, "ControlRotator": LateRotator, "Counter": PlainCounter}
        m.submodules.dut, parts = with_parts(dut, platform, (rows, landing), PARTS, instead)
        network, rotator, assembler, _ = (parts[name] for name in PARTS)
        leave_open(m, dut, "item")
        now = Signal(FollowedItem(dut.size), name="now")
        m.d.comb += [
            dut.o.ready.eq(anything(m, 1, "o_ready")),
            now.last.eq(dut.item.last),
            now.words.eq(dut.item.words),
            now.mark.eq(anything(m, 1, "mark")),
        ]
        steps = follow_items(m, dut.size, dut.control_latency, assembler, now, dut.item.valid)
        fielded, coded = steps[_FIELDS][0], steps[dut.control_latency][0]
        landed, is_landed = steps[-1]
        m.d.comb += [
            dut.fields.eq(fielded.mark),
            dut.control.eq(coded.mark),
            Assert(dut.enable == assembler.ready),
            Assert(network.enable == assembler.ready),
            Assert(rotator.enable == assembler.ready),
            Assert(Value.cast(network.words)[0] == fielded.mark),
        ]
        with m.If(is_landed):
            m.d.comb += [
                Assert(assembler.payload[0] == landed.mark),
                Assert(assembler.control[0] == landed.mark),
                Cover(landed.mark & ~assembler.ready),
            ]
        self._keep(m, network, steps)
        return m

    def _keep(self, m, network, steps):
        """Invariants: the bits in the registers are those of the items beside them."""
        dut, size = self.dut, self.dut.size
        moved = network.latency(network.lanes, network.word_bits)
        bits = [f"network.late.value{k}" for k in range(moved)]
        bits += [f"bits{k}" for k in range(len(steps) - 1 - _FIELDS - moved)]
        controls = [f"rotator.late.value{k}" for k in range(ControlRotator.LATENCY)]
        for names, first, width in (
            (bits, _FIELDS, size.beat_bits),
            (controls, dut.control_latency, size.front_bits),
        ):
            for name, (step, is_step) in zip(names, steps[first + 1 :], strict=True):
                found = probe(m, f"dut.{name}", width)
                m.d.comb += Assert(~is_step | (found[0] == step.mark))


def _sized(*types, repeats="none"):
    config = MixedConfig(types, repeats)
    latency = max(TypeFront.control_latency(part) for part in config.parts.values())
    return ByteLanes.of(config), latency


SIZES = {
    "fp32, bf16": _sized("fp32", "bf16"),
    "all, left": _sized("fp32", "fp16", "bf16", "int8", repeats="left"),
}
PROOFS = (
    Proof(
        name="item_rows",
        promise="Items of all types meet their fields, their controls and the words of their "
        "packet in the assembler",
        components=(ItemRows,),
        design=lambda size: MeetsItsBits(ItemRows(*size)),
        sizes=SIZES,
        slow=("all, left",),
        depth=2,
        broken=faults(
            SIZES["fp32, bf16"],
            20,
            late("dut.bits0"),
            late("dut.coded.value0"),
            stuck_at(1, "dut.is_first"),
        ),
    ),
)
