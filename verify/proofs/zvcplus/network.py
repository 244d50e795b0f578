"""Fields of any widths go to consecutive places and come back, at any lane and bit."""

from amaranth.asserts import AnyConst
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Signal, Value

from cdma.hdl.zvcplus.decompressor.payload.unpacker import FieldUnpacker, halves_of
from cdma.hdl.zvcplus.network import BitPacker, levels_of
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.stream_rules import anything, leave_open
from cdma.verify.proofs.proof import Proof, faults
from cdma.verify.proofs.zvcplus.places import delayed


class Moves(Elaboratable):
    """The bit of any field is at its place in the row, cyclically, on one side and the other.

    Fields of any widths up to a word follow each other from any place on; together they are at most
    a row long. A word has one lane of the network or several, whose places follow each other, also
    where the field ends before. Of the unpacker, bits of the place are inverted in place of a sum.
    """

    def __init__(self, network, *, packs: bool, word_lanes: int = 1):
        self.network = network
        self.packs = packs
        self.word_lanes = word_lanes

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.network
        lanes, size, parts = dut.lanes, dut.word_bits, self.word_lanes
        words, word_bits = lanes // parts, size * parts
        place_bits = levels_of(lanes, size)
        word, bit = Signal(range(words)), Signal(range(word_bits))
        leave_open(m, dut, "enable", "words" if self.packs else "bits")
        widths = [anything(m, range(word_bits + 1), f"width{each}") for each in range(words)]
        at, start = Signal(place_bits), anything(m, place_bits, "start")
        width, moved, first = Signal(range(word_bits + 1)), Signal(), Signal(place_bits)
        for each, own in enumerate(widths):
            m.d.comb += Assume(own <= word_bits)
            for part in range(parts):
                inside = start + part * size if self.packs else start ^ (part * size)
                m.d.comb += dut.starts[each * parts + part].eq(inside)
            with m.If(word == each):
                m.d.comb += [width.eq(own), first.eq(start)]
            start = start + own
        place = Signal(place_bits)
        m.d.comb += [
            word.eq(AnyConst(len(word))),
            bit.eq(AnyConst(len(bit))),
            Assume(sum(widths) <= lanes * size),
            place.eq(first + bit),
            at.eq(place),
        ]
        if self.packs:
            m.d.comb += moved.eq(dut.words.as_value().bit_select(Cat(bit, word), 1))
        else:
            m.d.comb += moved.eq(dut.bits.bit_select(place, 1))
        known = Signal(place_bits + 2, name="known")
        m.d.comb += known.eq(Cat(moved, bit < width, at))
        if isinstance(dut, FieldUnpacker):
            latency = dut.LATENCY
            # An input, so that the cells behind it are those in the unit.
            crossing = anything(m, len(Value.cast(dut.crossing)), "crossing")
            m.d.comb += [
                Assume(crossing == halves_of(dut.starts[lanes // 2])),
                dut.crossing.eq(crossing),
            ]
        else:
            latency = dut.latency(lanes, size)
        expected, valid = delayed(m, dut.enable, known, latency)
        if self.packs:
            found = dut.bits.bit_select(expected[2:], 1)
        else:
            found = dut.words.as_value().bit_select(Cat(bit, word), 1)
        with m.If(valid & expected[1]):
            m.d.comb += [
                Assert(found == expected[0]),
                Cover(expected[0] & (word == words - 1) & (expected[2:] < 2)),
            ]
        return m


def joined(network, word_lanes: int) -> Moves:
    """The promise for words of several lanes."""
    return Moves(network, packs=isinstance(network, BitPacker), word_lanes=word_lanes)


#: Words of two lanes, and of four; the last as of bytes in a row of 256 bits.
JOINED = {
    "4x4, words of 2": (4, 4, 2),
    "8x4, words of 4": (8, 4, 4),
    "32x8, words of 4": (32, 8, 4),
}
SIZES = {"2x4": (2, 4), "4x4": (4, 4), "8x8": (8, 8), "8x32": (8, 32)}

PROOFS = (
    Proof(
        name="bit_packer",
        promise="Each bit of a field reaches its place in the row",
        components=(BitPacker,),
        design=lambda size: Moves(BitPacker(*size), packs=True),
        sizes=SIZES,
        slow=("8x8", "8x32"),
        depth=4,
        # Only rows of more than 32 bits have a register between the levels.
        broken=(
            *faults((4, 4), 6, inverted("dut.level3", 9)),
            *faults((8, 8), 6, late("dut.after4_bits")),
        ),
    ),
    Proof(
        name="field_unpacker",
        promise="Each word gets its bits of the row, lowest first",
        components=(FieldUnpacker,),
        design=lambda size: Moves(FieldUnpacker(*size), packs=False),
        sizes=SIZES | {"16x16": (16, 16)},
        slow=("8x8", "8x32", "16x16"),
        depth=3,
        broken=faults((4, 4), 6, stuck_at(1, "dut.level3", 2), inverted("dut.level1", 3)),
    ),
    Proof(
        name="bit_packer_joined",
        promise="Each bit of a field of several lanes reaches its place in the row",
        components=(BitPacker,),
        design=lambda size: joined(BitPacker(*size[:2]), size[2]),
        sizes=JOINED,
        slow=("32x8, words of 4",),
        depth=4,
        broken=faults((4, 4, 2), 6, inverted("dut.level3", 9)),
    ),
    Proof(
        name="field_unpacker_joined",
        promise="Each word of several lanes gets its bits of the row, lowest first",
        components=(FieldUnpacker,),
        design=lambda size: joined(FieldUnpacker(*size[:2]), size[2]),
        sizes=JOINED,
        slow=("32x8, words of 4",),
        depth=3,
        broken=faults((4, 4, 2), 6, stuck_at(1, "dut.level3", 2), inverted("dut.level1", 3)),
    ),
)
