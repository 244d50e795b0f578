"""The coder of all types and of repeats: its parts take the same beats, plans and items."""

from amaranth.hdl import Assert, Elaboratable, Module, Mux, Signal

from cdma.hdl.zvcplus.compressor import coder, landing
from cdma.hdl.zvcplus.compressor.coder import BlockCoder
from cdma.hdl.zvcplus.compressor.control import ControlCoder
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.stream_rules import anything, offer
from cdma.verify.proofs.parts import with_parts
from cdma.verify.proofs.proof import Proof, faults
from cdma.verify.proofs.zvcplus.compressor.landing import FollowedItem, PlainCounter, follow_items
from cdma.verify.proofs.zvcplus.compressor.plans import AnyRepeats, follow_plans, names_of


class FitsItsParts(Elaboratable):
    """Beats that come in go to the line and to the survey at once. Plans pass as
    :func:`follow_plans` says. An item takes the beat that is there, and comes to the assembler in
    the same cycle as its place. Behind a packet's last item, the assembler has the words of all its
    beats.

    What the parts do is proven of each. Instead of the coder of repeats there is one that gives any
    bits at any time, so that nothing depends on its latency.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut, config = self.dut, self.dut.config
        m.submodules.dut, parts = with_parts(
            *(dut, platform, (coder, landing)),
            (*names_of(config), "ElasticLine", "BitAssembler", "Counter"),
            {"Counter": PlainCounter, "RepeatCoder": AnyRepeats},
        )
        line, counter, order, assembler = (
            parts[name] for name in ("ElasticLine", "PayloadCounter", "StreamOrder", "BitAssembler")
        )
        enters = offer(m, dut.i, "i")
        sends = follow_plans(m, config, parts, enters, assembler.ready)
        now, valid = Signal(FollowedItem(config), name="item"), Signal(name="item_valid")
        m.d.comb += [
            dut.o.ready.eq(anything(m, 1, "o_ready")),
            Assert((line.i.valid & line.i.ready) == enters),
            # A payload leaves with its beat.
            Assert(~sends | line.o.valid),
            Assert((line.o.valid & line.o.ready) == sends),
            valid.eq(order.has_control | order.has_payload),
            now.last.eq(order.last),
            now.words.eq(Mux(order.has_payload, counter.o.payload.words, 0)),
        ]
        follow_items(m, config, ControlCoder.latency(config), assembler, now, valid)
        return m


SIZES = {
    "int8": Config("int8"),
    **{f"{name}-left": Config(name, "left") for name in ("fp32", "fp16", "bf16", "int8")},
}

PROOFS = (
    Proof(
        name="block_coder",
        promise="Beats, plans and items of a coder of repeats pass all parts once, side by side",
        components=(BlockCoder,),
        design=lambda config: FitsItsParts(BlockCoder(config)),
        sizes=SIZES,
        slow=tuple(SIZES),
        depth=2,
        broken=faults(
            SIZES["fp32-left"],
            20,
            stuck_at(0, "dut.is_coded"),
            late("dut.placer.placed.value0"),
        ),
    ),
)
