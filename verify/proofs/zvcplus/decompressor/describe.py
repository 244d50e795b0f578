"""Blocks, as their controls describe them."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal, Value

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.describe import BlockDescriber
from cdma.hdl.zvcplus.decompressor.layouts import Block
from cdma.hdl.zvcplus.decompressor.payload.words import AS_IS
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.names import elaborated
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import leave_open
from cdma.verify.proofs.proof import Proof, faults

SENT = 7  # of d: the base follows
SAME = 3  # of d: the base of the block before


class Describes(Elaboratable):
    """A block has what its header says, from when it is kept until the next, with the base of all
    headers in front of it; and a word of its mask is past the packet's end or none is.

    Any word of the mask stands for all. The packet has no more words in the block than the block.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        dut, config = self.dut, self.dut.config
        m.submodules.dut = elaborated(dut, platform)
        header, word = dut.header, config.word
        names = ["header", "follow", "start", "keep", "mask", "last", "words", "parity"]
        leave_open(m, dut, *names, *(["failed"] if config.has_repeats else []))
        widths, is_known = Signal.like(dut.widths.as_value()), Signal()
        kept, is_kept = Signal(Block(config), name="the_block"), Signal()
        is_coded, is_reserved, length = Signal(), Signal(), Signal.like(dut.length)
        m.d.comb += Assume(dut.words <= word.block_words)
        m.d.sync += is_known.eq(1)
        self._base(m, kept)
        sent = []
        for group in range(config.block_groups):
            if word.is_float:
                own = word.mantissa + Mux(header.k == AS_IS, word.exponent, header.k) + header.wide
            else:
                own = header.widths[group] + header.wide
            sent.append(Mux(header.raw, word.bits, own))
        size = len(dut.widths[0])
        m.d.sync += [widths.word_select(group, size).eq(each) for group, each in enumerate(sent)]
        with m.If(dut.keep):
            m.d.sync += [
                is_kept.eq(is_known),
                kept.code.raw.eq(header.raw),
                kept.widths.eq(widths),
                kept.last.eq(dut.last),
                kept.words.eq(dut.words),
                kept.parity.eq(dut.parity),
                is_coded.eq(header.coded),
                is_reserved.eq(header.reserved),
                length.eq(header.length),
            ]
            if config.has_repeats:
                m.d.sync += [
                    kept.has_repeats.eq(header.has_repeats),
                    kept.failed.eq(dut.failed),
                ]
        with m.If(is_known):
            m.d.comb += Assert(dut.widths.as_value() == widths)
        with m.If(is_kept):
            m.d.comb += [
                *(
                    Assert(Value.cast(dut.block[name]) == Value.cast(kept[name]))
                    for name, _ in Block(config)
                    if name != "mask"
                ),
                Assert(dut.is_reserved == is_reserved),
                Assert(dut.length == length),
                Assert(probe(m, "dut.is_coded", 1) == is_coded),
                Assert(kept.words <= word.block_words),
                Cover(kept.code.raw & kept.last),
            ]
        m.d.comb += Assert(dut.block.mask == dut.mask)
        self._past(m, kept, is_kept, is_coded)
        return m

    def _past(self, m, kept, is_kept, is_coded):
        """The flag is set if any word is past the end; without it, none is."""
        dut, size = self.dut, self.dut.config.word.block_words
        place = Signal(range(size))
        m.d.comb += place.eq(AnyConst(len(place)))
        ends = is_kept & is_coded & kept.last
        was, others, was_kept = Signal(), Signal(), Signal()
        past = [dut.mask[k] & (kept.words <= k) for k in range(size)]
        m.d.sync += [
            was_kept.eq(is_kept),
            was.eq(ends & dut.mask.bit_select(place, 1) & (place >= kept.words)),
            others.eq(ends & (sum(past) != 0)),
        ]
        with m.If(was_kept):
            m.d.comb += [
                Assert(dut.is_past | ~was),
                Assert(~dut.is_past | others),
                Cover(dut.is_past),
            ]

    def _base(self, m, kept):
        """The base follows the differences of all coded headers since the start."""
        dut, header, word = self.dut, self.dut.header, self.dut.config.word
        if not word.is_float:
            return
        base, is_started = Signal(word.exponent, name="the_base"), Signal()
        with m.If(dut.start):
            m.d.sync += [base.eq(0), is_started.eq(1)]
        with m.Elif(dut.follow & header.coded):
            m.d.sync += base.eq(Mux(header.d == SENT, header.base, base + header.d - SAME))
        as_is = header.raw | (header.k == AS_IS)
        with m.If(dut.keep):
            m.d.sync += [
                kept.code.wide.eq(header.wide | header.raw),
                kept.code.k.eq(Mux(header.raw, AS_IS, header.k)),
                kept.code.base.eq(Mux(as_is, 0, base)),
            ]
        m.d.comb += [
            Assert(probe(m, "dut.base", word.exponent) == base),
            Cover(is_started & (base == (1 << word.exponent) - 1)),
        ]


SIZES = {
    "fp32": Config("fp32"),
    "fp16": Config("fp16"),
    "int8": Config("int8"),
    "fp32-left": Config("fp32", "left"),
    "int8-left": Config("int8", "left"),
}

PROOFS = (
    Proof(
        name="block_describer",
        promise="A block is as its header says, and follows the base of those in front of it",
        components=(BlockDescriber,),
        design=lambda config: Describes(BlockDescriber(config)),
        sizes=SIZES,
        broken=faults(
            SIZES["fp32-left"],
            6,
            late("dut.base"),
            inverted("dut.kept", 40),
            stuck_at(0, "dut.is_coded"),
            stuck_at(0, "dut.is_past"),
        ),
    ),
)
