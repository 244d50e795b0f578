"""Words of several types: each beat becomes what a unit of its type alone makes of it."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Signal, Value
from amaranth.lib import data

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.zvc.beat import thermometer
from cdma.hdl.zvcplus.decompressor.layouts import BeatTags
from cdma.hdl.zvcplus.decompressor.payload.copy import LeftCopy
from cdma.hdl.zvcplus.decompressor.payload.words import WordBuilder
from cdma.hdl.zvcplus.mixed.config import MixedConfig
from cdma.hdl.zvcplus.mixed.decompressor.records import ByteRows, untyped
from cdma.hdl.zvcplus.mixed.decompressor.words import TypedWords
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import is_one_at_most, leave_open
from cdma.verify.proofs.proof import Proof, faults


class _OneType:
    """Words of the beats of one type, made by parts that see no other beat.

    Members
    -------
    tags, words, is_past : of the beat that is there
    copy : what repeats words, or None
    """

    def __init__(self, m, dut, number, config):
        size, tags = dut.size, Signal(BeatTags(config), name=f"i_{config.type}")
        is_here = dut.tags.select[number]
        m.submodules[f"builder{number}"] = builder = WordBuilder(config)
        m.submodules[f"built{number}"] = built = DelayLine(BeatTags(config), WordBuilder.LATENCY)
        m.d.comb += [
            untyped(tags, dut.tags, config),
            builder.enable.eq(dut.enable),
            Value.cast(builder.fields).eq(dut.fields),
            builder.tags.eq(tags),
            built.enable.eq(dut.enable),
            built.i_valid.eq(dut.i_valid & is_here),
            built.i.eq(tags),
            builder.o_tags.eq(built.o),
        ]
        self.copy = None
        if not size.has_repeats:
            self.valid, self.tags = built.o_valid, built.o
            self.words, self.is_past = builder.words, builder.is_past
            return
        held = data.StructLayout(
            {"tags": BeatTags(config), "words": config.beat_bits, "is_past": 1}
        )
        m.submodules[f"held{number}"] = line = DelayLine(held, 1)
        m.submodules[f"copy{number}"] = self.copy = copy = LeftCopy(config)
        repeated = built.o.repeated & thermometer(built.o.words, config.lanes)
        m.d.comb += [
            line.enable.eq(dut.enable),
            line.i_valid.eq(built.o_valid),
            line.i.tags.eq(built.o),
            line.i.tags.repeated.eq(repeated),
            line.i.words.eq(builder.words),
            line.i.is_past.eq(builder.is_past),
            Value.cast(copy.words).eq(line.o.words),
            copy.repeated.eq(line.o.tags.repeated),
            copy.final.eq(line.o.tags.final),
            copy.take.eq(line.o_valid & dut.take),
        ]
        self.valid, self.tags = line.o_valid, line.o.tags
        self.words, self.is_past = copy.o, line.o.is_past


class MakesWordsOfEach(Elaboratable):
    """Beats of any types follow each other. The words of each beat, its tags and its flag are those
    that parts of its type alone would give, which see no beat of another type: also the word that
    is carried from beat to beat is of the type.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        size, select, found = dut.size, dut.o_tags.select, dut.o_tags
        leave_open(m, dut, "enable", "i_valid", "tags", "fields")
        given = dut.tags.select
        m.d.comb += [
            # One bit of a select is set.
            Assume(~dut.i_valid | ((given != 0) & is_one_at_most(given))),
            # All registers load when a beat leaves.
            dut.take.eq(dut.o_valid & dut.enable),
        ]
        valid = []
        for number, part in enumerate(size.parts.values()):
            alone = _OneType(m, dut, number, part)
            own = Signal(BeatTags(part), name=f"o_{part.type}")
            m.d.comb += untyped(own, found, part)
            valid.append(alone.valid)
            with m.If(alone.valid):
                m.d.comb += [
                    Assert(select == 1 << number),
                    Assert(own.as_value() == alone.tags.as_value()),
                    Assert(dut.words == Value.cast(alone.words)),
                    Assert(dut.is_past == alone.is_past),
                    Cover(dut.is_past),
                ]
            if alone.copy is not None:
                carried = [
                    probe(m, f"{where}.carried", part.word.bits)
                    for where in (f"dut.{part.type}_copy", f"copy{number}")
                ]
                m.d.comb += [
                    Assert(carried[0] == carried[1]),
                    Cover(alone.valid & alone.tags.repeated[0] & (carried[0] != 0)),
                ]
        m.d.comb += Assert(dut.o_valid == sum(valid))
        return m


def _sized(*types, repeats="none"):
    return ByteRows(MixedConfig(types, repeats))


SIZES = {
    "fp32, bf16": _sized("fp32", "bf16"),
    "bf16, int8, left": _sized("bf16", "int8", repeats="left"),
    "all, left": _sized("fp32", "fp16", "bf16", "int8", repeats="left"),
}
PROOFS = (
    Proof(
        name="typed_words",
        promise="Words of a beat are those that a unit of its type alone makes, between beats of "
        "other types too",
        components=(TypedWords,),
        design=lambda size: MakesWordsOfEach(TypedWords(size)),
        sizes=SIZES,
        slow=("all, left",),
        depth=3,
        broken=faults(
            SIZES["bf16, int8, left"],
            6,
            late("dut.int8_copy.carried"),
            stuck_at(1, "dut.bf16_kept", 5),
            inverted("dut.built.value0", 1),
        ),
    ),
)
