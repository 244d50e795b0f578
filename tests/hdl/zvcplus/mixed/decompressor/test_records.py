"""Tags of all types, and the places of bytes."""

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from cdma.hdl.zvcplus.decompressor.layouts import BeatTags, most_crossed, most_passed, reach
from cdma.hdl.zvcplus.decompressor.payload.unpacker import FieldUnpacker, halves_of
from cdma.hdl.zvcplus.mixed.config import NAMED
from cdma.hdl.zvcplus.mixed.decompressor.records import (
    ByteRows,
    TypedTags,
    byte_places,
    typed,
    untyped,
)

ALL = NAMED["zvcplus-all-left"]
PARTS = pytest.mark.parametrize("number", range(4))


def test_sizes_are_the_largest_of_all_types():
    for config in NAMED.values():
        size, parts = ByteRows(config), config.parts.values()
        for measure in (reach, most_crossed, most_passed):
            assert measure(size) >= max(measure(part) for part in parts)
        assert (size.lanes, size.beat_bits) == (32, 256)


@PARTS
def test_tags_come_back(number, rng):
    size = ByteRows(ALL)
    part = list(size.parts.values())[number]
    m, given, back = Module(), Signal(BeatTags(part)), Signal(BeatTags(part))
    shared = Signal(TypedTags(size))
    m.d.comb += [typed(shared, given, part, 1 << number), untyped(back, shared, part)]
    layout = BeatTags(part)

    async def check(ctx):
        for _ in range(50):
            bits = int.from_bytes(rng.bytes(16), "little") & ((1 << layout.size) - 1)
            ctx.set(given.as_value(), bits)
            ctx.set(given.words, int(rng.integers(part.lanes + 1)))
            assert ctx.get(back.as_value()) == ctx.get(given.as_value())
            assert ctx.get(shared.select) == 1 << number

    simulator = Simulator(m)
    simulator.add_testbench(check)
    simulator.run()


@PARTS
def test_a_network_of_bytes_moves_words_of_any_type(simulate, rng, number):
    """Words of a row, from fields of any widths, each to its bytes."""
    size = ByteRows(ALL)
    part = list(size.parts.values())[number]
    lanes, bits = part.lanes, part.word.bits
    dut = FieldUnpacker(size.lanes, 8)
    select = Signal(4, init=1 << number)
    starts = [Signal(8, name=f"start{lane}") for lane in range(lanes)]

    m = Module()
    m.submodules.dut = dut
    shared = [starts[lane * lanes // size.lanes] for lane in range(size.lanes)]
    m.d.comb += [
        dut.enable.eq(1),
        dut.crossing.eq(halves_of(shared[size.lanes // 2])),
        *(
            place.eq(start)
            for place, start in zip(dut.starts, byte_places(shared, select, size), strict=True)
        ),
    ]

    async def check(ctx):
        for _ in range(30):
            widths = rng.integers(bits + 1, size=lanes)
            row, at = int.from_bytes(rng.bytes(32), "little"), int(rng.integers(256))
            expected = []
            ctx.set(dut.bits, row)
            for start, width in zip(starts, widths.tolist(), strict=True):
                ctx.set(start, at % 256)
                turned = row >> at % 256 | row << 256 - at % 256
                expected.append((turned & ((1 << width) - 1), width))
                at += width
            await ctx.tick()
            words = int(ctx.get(dut.words.as_value()))
            for lane, (field, width) in enumerate(expected):
                assert words >> lane * bits & ((1 << width) - 1) == field

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(check)
    simulator.run()
