"""Masks of a stream and the length of what they mark, compared nibble by nibble."""

from amaranth.hdl import Assert, Assume, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.zvcplus.decompressor.length import PayloadLength
from cdma.hdl.zvcplus.decompressor.mask import MaskDecoder
from cdma.verify.formal.fault import late, stuck_at
from cdma.verify.formal.prover import probe
from cdma.verify.formal.stream_rules import leave_open
from cdma.verify.proofs.proof import Proof, faults


def spread_mask(m: Module, flags, body, differences) -> Signal:
    """The mask whose nibbles with a flag are in ``body``, one after the other."""
    groups = len(flags)
    spread, mask = Signal(4 * groups), Signal(4 * groups)
    for group in range(groups):
        behind = Signal(4 * groups, name=f"behind{group}")
        own = spread.word_select(group, 4)
        m.d.comb += [
            behind.eq(Mux(flags[group], body >> 4, body)),
            own.eq(Mux(flags[group], body[:4], 0)),
        ]
        body = behind
    before = 0
    for bit in range(len(mask)):
        one = Signal(name=f"one{bit}")
        m.d.comb += [one.eq(spread[bit] ^ (before & differences)), mask[bit].eq(one)]
        before = one
    return mask


class DecodesMasks(Elaboratable):
    """Nibbles are taken from the body one after the other, and differences added bit by bit.

    ``counts`` are those of two cycles before, and so is the mask, when it is loaded.
    """

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        leave_open(m, dut, "flags", "body", "differences", "dense", "load")
        mask = spread_mask(m, dut.flags, dut.body, dut.differences)
        masks = [mask | dut.dense.replicate(len(mask))]
        for cycle in range(2):
            was = Signal(len(mask), name=f"mask{cycle}")
            m.d.sync += was.eq(masks[-1])
            masks.append(was)
        cycles, kept, is_kept = Signal(2), Signal(len(mask)), Signal()
        m.d.sync += cycles.eq(Mux(cycles == 2, 2, cycles + 1))
        with m.If(dut.load):
            m.d.sync += [kept.eq(masks[1]), is_kept.eq(cycles != 0)]
        with m.If(cycles == 2):
            for group, count in enumerate(dut.counts):
                ones = sum(masks[2][4 * group + k] for k in range(4))
                m.d.comb += Assert(count == ones)
            m.d.comb += [
                Cover(masks[2] == (1 << dut.groups) + 5),
                Cover(masks[2].all()),
            ]
        m.d.comb += [Assert(cycles != 3), Assert(~is_kept | (cycles != 0))]
        with m.If(is_kept):
            m.d.comb += Assert(dut.mask == kept)
        return m


class AddsUp(Elaboratable):
    """The sum of both numbers is behind the base and the widths of the marked words, and of what
    repeats take. A width is added once for each marked word. With several groups, the length of a
    payload with repeats is given."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        size = dut.words // dut.groups
        has_repeats = hasattr(dut, "repeats")
        names = ["counts", "widths", "base"]
        leave_open(m, dut, *names, *(["has_repeats", "repeats"] if has_repeats else []))
        counts = [Signal(range(size + 1), name=f"ones{group}") for group in range(dut.groups)]
        more, less = Signal(range(dut.words + 1)), Signal(range(dut.words + 1))
        cycles = Signal(2)
        m.d.sync += cycles.eq(Mux(cycles == 3, 3, cycles + 1))
        m.d.comb += [Assume(count <= 4) for count in dut.counts]
        m.d.comb += [Assume(width <= dut.word_bits) for width in dut.widths]
        for group, count in enumerate(counts):
            nibbles = [dut.counts[group * size // 4 + k] for k in range(size // 4)]
            m.d.sync += count.eq(sum(nibbles))
            with m.If(cycles != 0):
                new = (count - less)[: len(count)]  # without those that are repeated
                is_port = has_repeats and dut.groups > 1
                own = dut.ones[group] if is_port else probe(m, f"dut.count{group}", len(count))
                m.d.comb += Assert(own == new)
                m.d.comb += Assert(count <= size)
        given, is_given = Signal(len(dut.repeats) if has_repeats else 1), Signal()
        if has_repeats and dut.groups > 1:
            bits = Signal(range(dut.words + 1))
            m.d.sync += [
                is_given.eq(dut.has_repeats),
                given.eq(dut.repeats),
                bits.eq(Mux(dut.has_repeats, sum(dut.counts), 0)),
            ]
            with m.If(cycles != 0):
                m.d.comb += [
                    Assert(dut.repeat_bits == bits),
                    # Invariants: the length, if it is given.
                    Assert(probe(m, "dut.is_given", 1) == is_given),
                    Assert(probe(m, "dut.given", len(given)) == Mux(is_given, given, 0)),
                ]
        elif has_repeats:
            ones, wanted = sum(dut.counts), Mux(dut.has_repeats, dut.repeats, 0)
            is_many = Signal(name="was_many")
            m.d.sync += [
                is_many.eq(wanted > ones),
                more.eq(Mux(dut.has_repeats, ones, 0)),
                less.eq(Mux(wanted > ones, ones, wanted)),
            ]
            with m.If(cycles != 0):
                m.d.comb += [
                    Assert(dut.is_many == is_many),
                    Assert(dut.repeat_bits == more),
                    Assert(dut.repeated == less),
                    Assert(less <= counts[0]),
                    Assert((more == 0) | (more == counts[0])),
                    # Invariant: words that are not repeated.
                    Assert(probe(m, "dut.count0", len(counts[0]) + 1) == counts[0] - less),
                ]
        total = dut.base + more
        for count, width in zip(counts, dut.widths, strict=True):
            for word in range(size):
                total = total + Mux((word < count - less) & ~is_given, width, 0)
        total = total + Mux(is_given, given, 0)
        end, length = Signal(dut.place_bits, name="end"), Signal.like(dut.length, name="total")
        is_zero = Signal()  # of the base
        m.d.sync += [end.eq(total), is_zero.eq(dut.base == 0), length.eq(end)]
        was_zero = Signal()
        m.d.sync += was_zero.eq(is_zero)
        with m.If(cycles > 1):
            m.d.comb += Assert((dut.sum + dut.carry)[: dut.place_bits] == end)
        with m.If((cycles == 3) & was_zero):
            m.d.comb += [
                Assert(dut.length == length),
                Cover(length == dut.word_bits + 1),
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
        depth=3,
        broken=faults(
            4, 5, late("dut.rank2"), stuck_at(0, "dut.sent1", 5), stuck_at(1, "dut.inside3")
        ),
    ),
    Proof(
        name="payload_length",
        promise="The length of a payload is the sum of the widths of its words",
        components=(PayloadLength,),
        design=lambda size: AddsUp(PayloadLength(*size[:3], has_repeats=size[3])),
        sizes={
            "8 words": (8, 8, 1, False),
            "8 words, 2 widths": (8, 8, 2, False),
            "8 words, repeats": (8, 8, 1, True),
            "8 words, 2 widths, repeats": (8, 8, 2, True),
        },
        slow=("8 words, 2 widths", "8 words, repeats", "8 words, 2 widths, repeats"),
        broken=faults((8, 8, 1, False), 5, late("dut.count0"), stuck_at(0, "dut.carry", 3)),
    ),
)
