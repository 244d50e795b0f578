"""The arena's pointer and room."""

import pytest

from cdma.hdl.engine.front.ring.arena import Arena

BASE = 0x12_3456_7FC0


async def settle(ctx, dut):
    for _ in range(30):
        if ctx.get(dut.is_free):
            return
        await ctx.tick()
    raise AssertionError("not free")


async def place(ctx, dut, pointer, end):
    """Software writes the registers, and the ring runs."""
    ctx.set(dut.end, end)
    for half, value in (("low", pointer & 0xFFFF_FFFF), ("high", pointer >> 32)):
        ctx.set(dut.write_data, value)
        ctx.set(getattr(dut, f"write_{half}"), 1)
        await ctx.tick()
        ctx.set(getattr(dut, f"write_{half}"), 0)
    ctx.set(dut.run, 1)


@pytest.mark.parametrize("room", [0, 64, 1 << 20, -64])
def test_streams_follow_each_other(simulate, rng, room):
    dut = Arena(48)

    async def bench(ctx):
        pointer, end = BASE, BASE + room
        await place(ctx, dut, pointer, end)
        for _ in range(20):
            await settle(ctx, dut)
            assert ctx.get(dut.pointer) == pointer
            assert ctx.get(dut.room) == max(0, end - pointer)
            ctx.set(dut.takes, 1)
            await ctx.tick()
            ctx.set(dut.takes, 0)
            for _ in range(20):
                assert not ctx.get(dut.is_free)
                assert ctx.get(dut.pointer) == pointer
                await ctx.tick()
            size, advances = int(rng.integers(1 << 40)), int(rng.integers(2))
            ctx.set(dut.ends, 1)
            ctx.set(dut.advances, advances)
            ctx.set(dut.size, size)
            await ctx.tick()
            ctx.set(dut.ends, 0)
            ctx.set(dut.advances, 0)
            if advances:
                pointer += -(-size // 64) * 64
        ctx.set(dut.clear, 1)
        await ctx.tick()
        assert ctx.get(dut.pointer) == 0

    simulate(dut, bench)
