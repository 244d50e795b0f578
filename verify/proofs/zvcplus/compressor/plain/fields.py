"""Fields of floats: of each word, mantissa, offset and sign, through both registers."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal
from amaranth.lib import data

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvcplus.compressor.plain.fields import SplitFields
from cdma.hdl.zvcplus.compressor.plain.records import FieldCoding
from cdma.hdl.zvcplus.config import Config
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import leave_open
from cdma.verify.proofs.proof import Proof, faults


class SplitsFields(Elaboratable):
    """The field of a word is its mantissa, the bits of the offset that are sent, and its sign.

    The model keeps the beat of the first registers, and the fields of the second.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        config = dut.config
        lanes, size = config.lanes, config.word.exponent
        leave_open(m, dut, "load", "advance", "sends", "words", "mask", "coding")
        held, known, given = Signal(_Beat(config), name="held"), Signal(), Signal()
        with m.If(dut.load):
            m.d.sync += [
                held.words.eq(dut.words),
                held.mask.eq(dut.mask),
                held.coding.eq(dut.coding),
                known.eq(1),
            ]
        with m.If(dut.advance):
            m.d.sync += given.eq(known | ~dut.sends)
        coding = dut.coding
        # The bits that are sent are the lowest, and exponents that are sent have no base.
        m.d.comb += Assume((coding.sent & (coding.sent + 1)) == 0)
        for lane in range(lanes):
            m.d.comb += Assume(coding.changes[lane] | ~dut.mask[lane] | (coding.base == 0))
        with m.If(known):
            m.d.comb += [
                Assert(probe(m, "dut.mask", lanes) == held.mask),
                Assert(probe(m, "dut.below", size) == held.coding.sent),
                Assert(
                    probe(m, "dut.upper_base", size - size // 2) == held.coding.base[size // 2 :]
                ),
                Assert((held.coding.sent & (held.coding.sent + 1)) == 0),
            ]
        for lane in range(lanes):
            self._check(m, lane, held, known, given)
        return m

    def _check(self, m, lane, held, known, given):
        """Both registers of a lane."""
        dut, word = self.dut, self.dut.config.word
        size, sign, coding = word.exponent, word.bits - 1, held.coding
        value, turns, half = held.words[lane], coding.changes[lane], word.exponent // 2
        register = probe(m, f"dut.held{lane}", word.bits)
        carry = probe(m, f"dut.carry{lane}", 1)
        exponent = Signal(size, name=f"exponent{lane}")
        lower = Signal(half + 1, name=f"lower{lane}")
        m.d.comb += [
            exponent.eq(value[word.mantissa : sign] ^ turns.replicate(size)),
            lower.eq(coding.base[:half] + exponent[:half] + turns),
        ]
        with m.If(known):
            m.d.comb += [
                Assert(turns | ~held.mask[lane] | (coding.base == 0)),
                Assert(register[: word.mantissa] == value[: word.mantissa]),
                Assert(register[word.mantissa : word.mantissa + half] == lower[:half]),
                Assert(carry == lower[half]),
                Assert(register[word.mantissa + half : sign] == exponent[half:]),
                Assert(register[sign] == (value[sign] & coding.is_wide)),
            ]
        offset, field = Signal(size, name=f"offset{lane}"), Signal(word.bits, name=f"field{lane}")
        number = value[word.mantissa : sign]
        m.d.comb += offset.eq(Mux(turns, coding.base - number, number))
        with m.If(dut.advance):
            place = popcount(m, coding.sent)
            sent = (offset & coding.sent) | ((value[sign] & coding.is_wide) << place)
            m.d.sync += field.eq(
                Mux(
                    held.mask[lane] & dut.sends,
                    value[: word.mantissa] | (sent << word.mantissa),
                    0,
                )
            )
        with m.If(given):
            m.d.comb += [Assert(dut.fields[lane] == field), Cover(field[sign])]


class _Beat(data.StructLayout):
    """What the first registers hold."""

    def __init__(self, config: Config):
        super().__init__(
            {
                "words": data.ArrayLayout(config.word.bits, config.lanes),
                "mask": config.lanes,
                "coding": FieldCoding(config),
            }
        )


PROOFS = (
    Proof(
        name="split_fields",
        promise="A field is the mantissa, the bits of the offset that are sent, and the sign",
        components=(SplitFields,),
        design=lambda name: SplitsFields(SplitFields(Config(name))),
        sizes={name: name for name in ("fp32", "fp16", "bf16")},
        slow=("fp16", "bf16"),
        broken=faults(
            "fp32", 6, late("dut.held3"), inverted("dut.below", 0), stuck_at(1, "dut.carry2")
        ),
    ),
)
