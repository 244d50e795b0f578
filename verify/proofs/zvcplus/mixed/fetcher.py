"""The fetcher of one of several types: what it gives is that of the type, for bytes."""

from unittest import mock

from amaranth.hdl import Assert, Cover, Elaboratable, Module, Signal, Value
from amaranth.lib.wiring import In

from cdma.hdl.lib.skid import Skid
from cdma.hdl.zvcplus.decompressor.fetcher import ControlFetcher
from cdma.hdl.zvcplus.decompressor.layouts import BeatTags, PayloadPlace
from cdma.hdl.zvcplus.decompressor.payload.beats import BlockBeats
from cdma.hdl.zvcplus.mixed.config import MixedConfig
from cdma.hdl.zvcplus.mixed.decompressor import fetcher
from cdma.hdl.zvcplus.mixed.decompressor.fetcher import GIVEN, TAKEN, TypeFetcher
from cdma.hdl.zvcplus.mixed.decompressor.records import ByteRows, untyped
from cdma.hdl.zvcplus.mixed.decompressor.unit import MixedDecompressor
from cdma.hdl.zvcplus.mixed.lanes import LANE_BITS
from cdma.verify.formal.stream_rules import joined, leave_ports_open
from cdma.verify.proofs.parts import AnyOutputs, with_parts
from cdma.verify.proofs.proof import Proof, swapped


class AnyFetcher(AnyOutputs, ControlFetcher):
    """Gives any blocks, places and ends."""


class AnyBeats(AnyOutputs, BlockBeats):
    """Gives any beats."""


class AnySkid(AnyOutputs, Skid):
    """Gives any bits of repeats."""


class PassesForBytes(Elaboratable):
    """All ports of the fetcher pass. Beats keep what belongs to them: each byte has the place of
    its word, the tags of the type come back from the tags of all types, and the select says the
    type.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut, config = self.dut, self.dut.config
        instead = {"ControlFetcher": AnyFetcher, "BlockBeats": AnyBeats, "Skid": AnySkid}
        names = tuple(instead) if config.has_repeats else tuple(instead)[:2]
        m.submodules.dut, parts = with_parts(dut, platform, (fetcher,), names, instead)
        own, beats = parts["ControlFetcher"], parts["BlockBeats"]
        leave_ports_open(m, dut, In)
        front, beat, given = dut.o_front.payload, dut.o.payload, beats.o.payload
        tags = Signal(BeatTags(config), name="the_tags")
        m.d.comb += [
            *(Assert(_bits(getattr(own, name)) == _bits(getattr(dut, name))) for name in TAKEN),
            *(Assert(_bits(getattr(dut, name)) == _bits(getattr(own, name))) for name in GIVEN),
            *joined(dut.i_command, own.i_command),
            *joined(own.o, beats.i),
            *joined(own.o_end, dut.o_end),
            Assert(dut.o_front.valid == own.o_front.valid),
            Assert(own.o_front.ready == dut.o_front.ready),
            *(
                Assert(_bits(front[name]) == _bits(own.o_front.payload[name]))
                for name, _ in PayloadPlace(config, dut.depth)
            ),
            Assert(dut.o.valid == beats.o.valid),
            Assert(beats.o.ready == dut.o.ready),
            *(
                Assert(_bits(beat[name]) == _bits(given[name]))
                for name in ("length", "first", "begins")
            ),
            untyped(tags, beat.tags, config),
            Assert(tags.as_value() == given.tags.as_value()),
            Assert(beat.tags.words == given.tags.words * (config.word.bits // LANE_BITS)),
            Assert(beat.tags.select == dut.select),
            Cover(dut.o.valid & beat.tags.final),
        ]
        for lane, start in enumerate(beat.starts):
            m.d.comb += Assert(start == given.starts[lane * LANE_BITS // config.word.bits])
        if config.has_repeats:
            m.d.comb += [
                *joined(own.o_repeats, parts["Skid"].i),
                *joined(parts["Skid"].o, beats.i_repeats),
            ]
        return m


def _bits(port):
    return Value.cast(port)


class _OtherType(TypeFetcher):
    """Says that its beats are of another type."""

    def elaborate(self, platform):
        with mock.patch.object(self, "select", self.select ^ 3):
            return super().elaborate(platform)


class _WiderWords(TypeFetcher):
    """Gives bytes the places of words of twice their size."""

    def elaborate(self, platform):
        with mock.patch.object(fetcher, "LANE_BITS", LANE_BITS // 2):
            return super().elaborate(platform)


def _sized(type_, *others, repeats="none"):
    config = MixedConfig.of_types((type_, *others), repeats)
    number = config.types.index(type_)
    part = list(config.parts.values())[number]
    return part, ByteRows(config), MixedDecompressor.rows(config), 1 << number


SIZES = {
    "bf16 beside fp32": _sized("bf16", "fp32"),
    "int8 beside fp32, left": _sized("int8", "fp32", repeats="left"),
    "fp32 beside int8, left": _sized("fp32", "int8", repeats="left"),
}
PROOFS = (
    Proof(
        name="type_fetcher",
        promise="Beats of a type keep their tags, their length and the place of each word among "
        "those of all types",
        components=(TypeFetcher,),
        design=lambda size: PassesForBytes(TypeFetcher(*size)),
        sizes=SIZES,
        broken=swapped(
            4,
            {
                "other type": lambda: PassesForBytes(_OtherType(*SIZES["bf16 beside fp32"])),
                "wider words": lambda: PassesForBytes(_WiderWords(*SIZES["bf16 beside fp32"])),
            },
        ),
    ),
)
