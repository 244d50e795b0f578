"""The checker of descriptors against the rules of the golden engine."""

import pytest

from cdma.engine_codes import Op
from cdma.engine_config import EngineConfig
from cdma.golden.engine.descriptor import Descriptor
from cdma.golden.engine.rules import Bounds, Window, capacity, refusal, stream_address
from cdma.hdl.engine.front.records import Descriptor as Layout
from cdma.hdl.engine.front.ring.check import Checker

CONFIGS = [
    EngineConfig(channels=2),
    EngineConfig(channels=1, lanes=4, word_bits=16, address_bits=40),
    EngineConfig(channels=8, word_bits=8, lanes=32, stripe_bytes=65536, address_bits=33),
    EngineConfig(channels=1, lanes=2, stripe_bytes=1024, address_bits=64),
]


async def check(ctx, dut, ring, descriptor, bounds):
    """Whether the descriptor is bad, whether it is empty, and how many cycles that took."""
    bits = int.from_bytes(descriptor.pack(1).tobytes(), "little")
    ctx.set(dut.ring, ring)
    ctx.set(dut.descriptor, Layout().from_bits(bits))
    ctx.set(dut.host, stream_address(descriptor, bounds))
    ctx.set(dut.limit, capacity(descriptor, bounds))
    ctx.set(dut.window.device_base, bounds.device.base)
    ctx.set(dut.window.device_end, bounds.device.limit)
    ctx.set(dut.window.host_base, bounds.host.base)
    ctx.set(dut.window.host_end, bounds.host.limit)
    ctx.set(dut.idle, 1)
    ctx.set(dut.start, 1)
    for cycle in range(1, 100):
        done = ctx.get(dut.done)
        await ctx.tick()
        ctx.set(dut.idle, 0)
        ctx.set(dut.start, 0)
        if done:
            return ctx.get(dut.is_bad), ctx.get(dut.is_empty), cycle
    raise AssertionError("not done")


@pytest.mark.parametrize("ring", [0, 1])
@pytest.mark.parametrize(
    "config",
    [CONFIGS[0], *(pytest.param(each, marks=pytest.mark.slow) for each in CONFIGS[1:])],
    ids=lambda config: config.name,
)
def test_random_descriptors(simulate, rng, descriptor_of, bounds_of, config, ring):
    async def bench(ctx):
        bad = 0
        for number in range(250):
            bounds = bounds_of(config, rng)
            descriptor = descriptor_of(rng, config, bounds, number % 2 == 1)
            reason = refusal(descriptor, ring, config, bounds)
            is_bad, is_empty, cycles = await check(ctx, dut, ring, descriptor, bounds)
            assert is_bad == (reason is not None), (descriptor, bounds, reason)
            if reason is None:
                assert is_empty == (descriptor.op == Op.NOP or not descriptor.raw_bytes)
                if not is_empty:
                    stripes = descriptor.raw_bytes // config.stripe_bytes
                    assert ctx.get(dut.stripes) == stripes
            steps = descriptor.rows.bit_length() if descriptor.rows > 1 else 0
            assert cycles >= 2 + 2 * steps
            assert cycles == 2 or cycles <= 2 + 2 * (steps + 7)
            bad += is_bad
        assert 60 < bad < 240, "both kinds are met"

    dut = Checker(config)
    simulate(dut, bench)


OFFLOAD = {"op": Op.OFFLOAD, "device": 0x10000, "host": 0x40000, "index": 0x50000}
OFFLOAD |= {"row_bytes": 0x4000, "limit": 0x4200, "with_index": True}
ALL = {"rows": (1 << 18) + 1, "with_index": False}
#: What is changed of a good descriptor, and whether it is good still.
EDGES = {
    "good": ({}, True),
    "device window ends one byte earlier": ({"row_bytes": 0x10000 - 0x4}, False),
    "device window to its last byte": ({"row_bytes": 0xFFFC}, True),
    "stream to the last byte of the window": ({"limit": 0x20000}, True),
    "stream one word past the window": ({"limit": 0x20004}, False),
    "stream wraps": ({"limit": (1 << 64) - 4}, False),
    "limit zero": ({"limit": 0}, True),
    "index ends with the window": ({"index": 0x60000 - 32}, True),
    "index one entry past the window": ({"index": 0x60000 - 24}, False),
    "index wraps": ({"index": (1 << 64) - 8}, False),
    "rows": ({"rows": 3, "pitch": 0x5000}, True),
    "rows leave the window upwards": ({"rows": 4, "pitch": 0x5000}, False),
    "rows downwards": ({"rows": 3, "pitch": -0x4000, "device": 0x18000}, True),
    "rows leave the window downwards": ({"rows": 4, "pitch": -0x4000, "device": 0x18000}, False),
    "rows over all addresses downwards": (ALL | {"pitch": -(1 << 30)}, False),
    "rows over all addresses upwards": (ALL | {"pitch": 1 << 30}, False),
    "pitch zero": ({"rows": 9, "pitch": 0}, True),
    "pitch not of one row": ({"rows": 0, "pitch": 12}, True),
    "pitch not whole stripes": ({"rows": 2, "pitch": 12}, False),
    "2**32 stripes": ({"rows": 1 << 30, "pitch": 0}, False),
    "no bytes anywhere": ({"row_bytes": 0, "device": 0, "host": 0, "limit": 64}, True),
    "device beyond the address bits": ({"device": (1 << 48) + 0x10000}, False),
    "unaligned host": ({"host": 0x40020}, False),
    "unaligned index": ({"index": 0x50004}, False),
    "wrong word": ({"word_bytes": 2}, False),
    "a NOP has no words": ({"op": Op.NOP, "word_bytes": 2, "with_index": False}, True),
    "a NOP with INDEX": ({"op": Op.NOP}, False),
    "an operation of the other ring": ({"op": Op.PREFETCH}, False),
    "AUTO without INDEX": ({"raw": 1, "with_index": False}, False),
    "raw policy 3": ({"raw": 3}, False),
    "reserved": ({"reserved": 1}, False),
    "codec": ({"codec": 128}, False),
    "MEASURE ignores the stream": ({"op": Op.MEASURE, "host": 1, "limit": 3}, True),
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(simulate, name):
    changes, is_good = EDGES[name]
    config = EngineConfig(channels=4)
    if "last byte" in name or "one byte earlier" in name:
        changes = {**changes, "index": 0x40000}
    bounds = Bounds(Window(0x10000, 0x20000), Window(0x40000, 0x60000))
    if name == "device window ends one byte earlier":
        bounds = Bounds(Window(0x10000, 0x1FFFB), bounds.host)
    descriptor = Descriptor(**{**OFFLOAD, **changes})
    assert (refusal(descriptor, 0, config, bounds) is None) == is_good

    async def bench(ctx):
        return (await check(ctx, dut, 0, descriptor, bounds))[0]

    dut = Checker(config)
    assert simulate(dut, bench) == (not is_good)


def test_an_abandoned_check_gives_nothing(simulate):
    config = EngineConfig()
    bounds = Bounds(Window(0, 1 << 48), Window(0, 1 << 48))

    async def bench(ctx):
        bits = int.from_bytes(Descriptor(Op.OFFLOAD, rows=99).pack(1).tobytes(), "little")
        ctx.set(dut.descriptor, Layout().from_bits(bits))
        ctx.set(dut.idle, 1)
        ctx.set(dut.start, 1)
        await ctx.tick()
        ctx.set(dut.idle, 0)
        ctx.set(dut.start, 0)
        await ctx.tick()
        ctx.set(dut.abandon, 1)
        await ctx.tick()
        ctx.set(dut.abandon, 0)
        for _ in range(50):
            assert not ctx.get(dut.done)
            await ctx.tick()
        nop = Descriptor(Op.NOP)
        assert await check(ctx, dut, 0, nop, bounds) == (0, 1, 2)

    dut = Checker(config)
    simulate(dut, bench)
