"""Words and their fields: what is sent of a word, and what is made of it, for all inputs."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.zvcplus.compressor.fields import FloatFields, IntFields
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.payload.words import AS_IS, WordBuilder
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.stream_rules import leave_open
from cdma.verify.proofs.proof import Proof, faults
from cdma.verify.proofs.zvcplus.places import delayed


class IntFieldsAreLess(Elaboratable):
    """The field of any word that is sent is its value less 1, raw its value; of others zero."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        lane, value = Signal(range(dut.config.lanes)), Signal(dut.config.word.bits)
        field = Signal(dut.config.word.bits, name="field")
        leave_open(m, dut, "enable", "words", "mask", "coding")
        m.d.comb += [lane.eq(AnyConst(len(lane))), value.eq(dut.words[lane])]
        with m.If(dut.mask.bit_select(lane, 1)):
            m.d.comb += field.eq(value - ~dut.coding.is_raw)
        expected, valid = delayed(m, dut.enable, field, dut.LATENCY)
        with m.If(valid):
            m.d.comb += [Assert(dut.fields[lane] == expected), Cover(expected == 0xFF)]
        return m


class Builds(Elaboratable):
    """Any word of a beat follows from its field, and the flag from the raw words past the end.

    A field of a float is read from its lowest bit on: mantissa, k bits of an offset, sign.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        config, tags = dut.config, dut.tags
        lane = Signal(range(config.lanes))
        field, made = Signal(config.word.bits), Signal(config.word.bits)
        leave_open(m, dut, "enable", "fields", "tags")
        m.d.comb += [
            lane.eq(AnyConst(len(lane))),
            field.eq(dut.fields[lane]),
            Assume(tags.words <= config.lanes),
        ]
        if config.word.is_float:
            self._make_float(m, config.word, tags.code, field, made)
        else:
            width = tags.widths[lane // (config.lanes // config.beat_groups)]
            m.d.comb += [
                Assume(width <= config.word.bits),
                # Raw words are whole.
                *(Assume(~tags.code.raw | (each == config.word.bits)) for each in tags.widths),
                made.eq((field & ((1 << width) - 1)) + 1),
            ]
        expected = Signal(config.word.bits)
        with m.If(tags.mask.bit_select(lane, 1) & (lane < tags.words)):
            m.d.comb += expected.eq(Mux(tags.code.raw, field, made))
        past = [(other >= tags.words) & (dut.fields[other] != 0) for other in range(config.lanes)]
        known = Signal(len(expected) + 1)
        m.d.comb += known.eq(Cat(expected, tags.code.raw & (sum(past) != 0)))
        was, valid = delayed(m, dut.enable, known, dut.LATENCY)
        was_tags, _ = delayed(m, dut.enable, tags.as_value(), dut.LATENCY)
        m.d.comb += dut.o_tags.eq(was_tags)
        with m.If(valid):
            m.d.comb += [
                Assert(dut.words[lane] == was[:-1]),
                Assert(dut.is_past == was[-1]),
                Cover(~dut.o_tags.code.raw & was[-2]),
                Cover(dut.is_past),
            ]
        return m

    def _make_float(self, m, word, code, field, made):
        bits, sent = Signal(4), Signal(word.exponent)
        m.d.comb += [
            Assume((code.k == AS_IS) | (code.k <= word.exponent)),
            # No base is added to exponents as they are, and raw words have these and a sign.
            Assume((code.k != AS_IS) | (code.base == 0)),
            Assume(~code.raw | ((code.k == AS_IS) & code.wide)),
            bits.eq(Mux(code.k == AS_IS, word.exponent, code.k)),
            sent.eq((field >> word.mantissa) & ((1 << bits) - 1)),
            made[: word.mantissa].eq(field),
            made[word.mantissa : -1].eq(Mux(code.k == AS_IS, sent, code.base - sent)),
            made[-1].eq(code.wide & (field >> (word.mantissa + bits))),
        ]


class ComesBack(Elaboratable):
    """A word that is sent comes back: fields of the compressor are those of the decompressor.

    Of a block's words, the base is the largest exponent, offsets fit into k bits, and a sign is
    only set where signs are sent.
    """

    def __init__(self, name):
        self.config = Config(name)

    def elaborate(self, platform):
        m = Module()
        config, word = self.config, self.config.word
        m.submodules.sender = fields = FloatFields(config)
        m.submodules.receiver = builder = WordBuilder(config)
        lane, value = Signal(range(config.lanes)), Signal(word.bits)
        base, k, is_wide = Signal(word.exponent), Signal(3), Signal()
        exponent = value[word.mantissa : -1]
        leave_open(m, fields, "enable", "words")
        m.d.comb += [
            lane.eq(AnyConst(len(lane))),
            base.eq(AnyConst(len(base))),
            k.eq(AnyConst(len(k))),
            is_wide.eq(AnyConst(1)),
            fields.mask.eq((1 << config.lanes) - 1),
            fields.coding.base.eq(base),
            fields.coding.k.eq(k),
            fields.coding.is_wide.eq(is_wide),
            value.eq(fields.words[lane]),
            Assume((k == AS_IS) | (k <= word.exponent)),
            Assume((k == AS_IS) | (exponent <= base)),
            Assume((k == AS_IS) | (((base - exponent) >> k) == 0)),
            Assume(is_wide | ~value[-1]),
        ]
        sent, valid = delayed(m, fields.enable, value, fields.LATENCY)
        m.d.comb += [
            builder.enable.eq(1),
            builder.fields.eq(fields.fields),
            builder.tags.mask.eq(fields.mask),
            builder.tags.code.wide.eq(is_wide),
            builder.tags.code.k.eq(k),
            builder.tags.code.base.eq(Mux(k == AS_IS, 0, base)),
            builder.tags.words.eq(config.lanes),
            builder.o_tags.eq(builder.tags),
        ]
        was_sent, was_valid = Signal.like(sent), Signal()
        m.d.sync += [was_sent.eq(sent), was_valid.eq(valid)]
        with m.If(was_valid):
            m.d.comb += [
                Assert(builder.words[lane] == was_sent),
                Cover((was_sent != 0) & (k == 3)),
            ]
        return m


FLOATS = {name: name for name in ("fp32", "fp16", "bf16")}

PROOFS = (
    Proof(
        name="int_fields",
        promise="A field of int8 is the value less 1, or the value of a raw block",
        components=(IntFields,),
        design=lambda name: IntFieldsAreLess(IntFields(Config(name))),
        sizes={"int8": "int8"},
        slow=("int8",),
        depth=3,
        broken=faults("int8", 6, late("dut.held5"), inverted("dut.held3", 0)),
    ),
    Proof(
        name="word_builder",
        promise="A word is its mantissa, its base less the offset, and its sign; or value and 1",
        components=(WordBuilder,),
        design=lambda name: Builds(WordBuilder(Config(name))),
        sizes={name: name for name in ("fp32", "fp16", "bf16", "int8")},
        depth=2,
        broken=(
            *faults("fp32", 4, stuck_at(0, "dut.held2", 25), inverted("dut.held3", 30)),
            *faults("int8", 4, stuck_at(1, "dut.held5", 1)),
        ),
    ),
    Proof(
        name="words_come_back",
        promise="A word that fits the coding of its block comes back from its field",
        components=(FloatFields, WordBuilder),
        design=ComesBack,
        sizes=FLOATS,
        slow=tuple(FLOATS),
        depth=4,
        broken=faults("bf16", 6, stuck_at(0, "sender.below", 3), inverted("receiver.held2", 8)),
    ),
)
