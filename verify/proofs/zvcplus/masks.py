"""Masks of a stream and the length of what they mark, compared nibble by nibble."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.zvcplus.decompressor.length import PayloadLength
from cdma.hdl.zvcplus.decompressor.mask import MaskDecoder
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import leave_open
from cdma.verify.proofs.proof import Proof, faults


class DecodesMasks(Elaboratable):
    """Nibbles are taken from the body one after the other, and differences added bit by bit."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        names = ("flags", "body", "load_spread", "differences", "dense", "load_mask")
        leave_open(m, dut, *names)
        spread, mask = Signal(4 * dut.groups), Signal(4 * dut.groups)
        body = dut.body
        for group in range(dut.groups):
            behind = Signal(len(dut.body), name=f"behind{group}")
            m.d.comb += behind.eq(Mux(dut.flags[group], body >> 4, body))
            with m.If(dut.load_spread):
                m.d.sync += spread.word_select(group, 4).eq(Mux(dut.flags[group], body[:4], 0))
            body = behind
        before = 0
        with m.If(dut.load_mask):
            for bit in range(len(mask)):
                one = Signal(name=f"one{bit}")
                m.d.comb += one.eq((spread[bit] ^ (before & dut.differences)) | dut.dense)
                m.d.sync += mask[bit].eq(one)
                # Differences are of a mask that is coded, which a dense one is not.
                before = one & ~dut.dense
        m.d.comb += [
            Assert(probe(m, "dut.spread", len(spread)) == spread),
            Assert(dut.mask == mask),
            Cover(mask == (1 << dut.groups) + 5),
            Cover(dut.mask.all()),
        ]
        return m


class AddsUp(Elaboratable):
    """The length is the sum of the widths of the marked words, and of what repeats take.

    A width is added once for each marked word, in two steps as the registers load.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        size = dut.words // dut.groups
        has_repeats = hasattr(dut, "repeats")
        names = ["mask", "widths", "load_count", "load_length"]
        leave_open(m, dut, *names, *(["has_repeats", "repeats"] if has_repeats else []))
        counts = [Signal(range(size + 1), name=f"ones{group}") for group in range(dut.groups)]
        widths = [Signal(len(width), name=f"width{k}") for k, width in enumerate(dut.widths)]
        more, less = Signal(range(dut.words + 1)), Signal(range(dut.words + 1))
        is_counted, is_known = Signal(), Signal()  # registers have been loaded
        m.d.sync += [
            is_counted.eq(is_counted | dut.load_count),
            is_known.eq(Mux(dut.load_length, is_counted, is_known)),
        ]
        m.d.comb += [Assume(width <= dut.word_bits) for width in dut.widths]
        for group, (count, width) in enumerate(zip(counts, widths, strict=True)):
            ones = sum(dut.mask[group * size + k] for k in range(size))
            with m.If(dut.load_count):
                m.d.sync += [count.eq(ones), width.eq(dut.widths[group])]
            new = (count - less)[: len(count)]  # without those that are repeated
            same = [
                probe(m, f"dut.count{group}", len(count)) == new,
                probe(m, f"dut.held_width{group}", len(width)) == width,
            ]
            m.d.comb += [Assert(~is_counted | each) for each in same]
            m.d.comb += [Assert(count <= size), Assert(width <= dut.word_bits)]
        if has_repeats:
            (count,) = counts
            ones, wanted = sum(dut.mask), Mux(dut.has_repeats, dut.repeats, 0)
            is_many = Signal(name="was_many")
            with m.If(dut.load_count):
                m.d.sync += [
                    is_many.eq(wanted > ones),
                    more.eq(Mux(dut.has_repeats, ones, 0)),
                    less.eq(Mux(wanted > ones, ones, wanted)),
                ]
            m.d.comb += [
                Assert(dut.is_many == is_many),
                Assert(dut.count == count),
                Assert(dut.repeat_bits == more),
                Assert(dut.repeated == less),
                Assert(less <= count),
                Assert((more == 0) | (more == count)),
            ]
        total, length = more, Signal.like(dut.length, name="total")
        for count, width in zip(counts, widths, strict=True):
            for word in range(size):
                total = total + Mux(word < count - less, width, 0)
        with m.If(dut.load_length):
            m.d.sync += length.eq(total)
        m.d.comb += [
            Assert(~is_known | (dut.length == length)),
            Cover(is_known & (length == dut.word_bits + 1)),
        ]
        return m


PROOFS = (
    Proof(
        name="mask_decoder",
        promise="A mask has its nibbles at their places, and differences are added up",
        components=(MaskDecoder,),
        design=lambda groups: DecodesMasks(MaskDecoder(groups)),
        sizes={f"{groups} nibbles": groups for groups in (4, 8, 16)},
        slow=("16 nibbles",),
        broken=faults(
            4, 5, late("dut.spread"), stuck_at(0, "dut.xor1", 9), stuck_at(1, "dut.xor3", 2)
        ),
    ),
    Proof(
        name="payload_length",
        promise="The length of a payload is the sum of the widths of its words",
        components=(PayloadLength,),
        design=lambda size: AddsUp(PayloadLength(*size[:3], has_repeats=size[3])),
        sizes={
            "8 words": (8, 8, 1, False),
            "16 words, 4 widths": (16, 8, 4, False),
            "8 words, repeats": (8, 8, 1, True),
        },
        slow=("16 words, 4 widths", "8 words, repeats"),
        broken=faults((8, 8, 1, False), 5, late("dut.held_width0"), stuck_at(0, "dut.count0", 3)),
    ),
)
