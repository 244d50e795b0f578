"""Bits of repeats behind a control: cut out, counted, and compared with the control's number."""

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Signal

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.repeats import PART, RepeatReader
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import leave_open, take
from cdma.verify.proofs.proof import Proof, faults


class ReadsRepeats(Elaboratable):
    """The bits behind a control are those of the stream, and leave once. Of floats, the flag
    compares how many of them are set with a number. The number in the control stands behind its
    nibbles.

    The caller loads when there is room, and no more often than in every third cycle.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut, word = self.dut, self.dut.config.word
        m.submodules.dut = elaborated(dut, platform)
        counts = ["count", "repeated"] if word.is_float else []
        leave_open(m, dut, "header", "bits", "shift", "load", "uses", *counts)
        leaves = take(m, dut.o, "o")
        self._field(m)

        size = word.block_words
        bits, is_due, is_used = Signal(size), Signal(), Signal()
        m.d.comb += Assume(~dut.load | dut.has_room)
        with m.If(dut.load):
            m.d.sync += [bits.eq(dut.bits >> dut.shift), is_due.eq(dut.uses), is_used.eq(dut.uses)]
        with m.Elif(leaves):
            m.d.sync += is_due.eq(0)
        m.d.comb += [
            Assert(dut.has_room == (~is_due | dut.o.ready)),
            Assert(dut.o.valid == is_due),
            Assert(~is_due | (dut.o.payload == bits)),
            Cover(leaves & (bits == 5)),
            # Invariant: whether the payload has bits of repeats.
            Assert(probe(m, "dut.is_used", 1) == is_used),
        ]
        is_known = Signal()
        with m.If(dut.load):
            m.d.sync += is_known.eq(1)
        with m.If(is_known):
            m.d.comb += Assert(dut.o.payload == bits)
        if word.is_float:
            self._count(m, bits, is_used, is_known)
        return m

    def _count(self, m, bits, is_used, is_known):
        """The flag, three cycles after the bits are loaded."""
        dut, size = self.dut, self.dut.config.word.block_words
        loaded, counted, told = Signal(), Signal(), Signal()
        m.d.comb += [Assume(dut.count <= size), Assume(~dut.load | ~(loaded | counted))]
        m.d.sync += [loaded.eq(dut.load), counted.eq(loaded), told.eq(counted | told)]
        counts = []
        for at in range(0, size, PART):
            part = Signal(range(PART + 1), name=f"count{at}")
            own = [bits[k] & (dut.count > k) for k in range(at, at + PART)]
            m.d.sync += part.eq(sum(own))
            counts.append(part)
        is_wrong = Signal()
        with m.If(counted):
            m.d.sync += is_wrong.eq(is_used & (sum(counts) != dut.repeated))
        m.d.comb += [
            Assert(dut.is_wrong == is_wrong),
            Cover(dut.is_wrong),
            Cover(told & ~dut.is_wrong & is_used),
            # Invariants: the registers of both cycles.
            Assert(probe(m, "dut.was_loaded", 1) == loaded),
            Assert(probe(m, "dut.is_counted", 1) == counted),
        ]
        with m.If(counted):
            m.d.comb += [
                Assert(is_known),
                *(
                    Assert(probe(m, f"dut.part{at}", len(part)) == part)
                    for at, part in zip(range(0, size, PART), counts, strict=True)
                ),
            ]
        with m.If(loaded):
            m.d.comb += Assert(is_known)

    def _field(self, m):
        """The number in a control, two cycles later."""
        dut, word, header = self.dut, self.dut.config.word, self.dut.header
        field, known = Signal(1 + word.count_bits), Signal(2)
        was = Signal.like(field)
        place = header.nibbles << 2
        m.d.comb += Assume(header.nibbles <= word.flags)
        m.d.sync += [
            field.eq(Cat(header.has_repeats, (header.body >> place)[: word.count_bits])),
            was.eq(field),
            known.eq(known << 1 | 1),
        ]
        with m.If(known[0]):
            m.d.comb += [
                Assert(probe(m, "dut.was_field", word.count_bits) == field[1:]),
                Assert(probe(m, "dut.had_repeats", 1) == field[0]),
            ]
        with m.If(known[1]):
            sent = was[1:] + word.is_float  # of int8 a length, not a number of words less 1
            m.d.comb += [Assert(dut.used == was[0]), Assert(dut.sent == sent)]


SIZES = {f"{name}-left": Config(name, "left") for name in ("fp32", "bf16", "int8")}

PROOFS = (
    Proof(
        name="repeat_reader",
        promise="Bits of repeats are those behind the control, and their number is compared",
        components=(RepeatReader,),
        design=lambda config: ReadsRepeats(RepeatReader(config)),
        sizes=SIZES,
        slow=("bf16-left", "int8-left"),
        broken=faults(
            SIZES["fp32-left"],
            8,
            inverted("dut.was_field", 2),
            late("dut.is_counted"),
            stuck_at(0, "dut.part8", 1),
            stuck_at(1, "dut.is_used"),
        ),
    ),
)
