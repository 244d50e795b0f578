"""The counts that software writes."""

from cdma.hdl.engine.front.ring.counts import Counts


async def write(ctx, dut, ring, is_read, value):
    """Write a count; give whether it was wrong, and whether some completions are unread."""
    ctx.set(dut.ring, ring)
    ctx.set(dut.is_read, is_read)
    ctx.set(dut.written, value)
    ctx.set(dut.writes, 1)
    await ctx.tick()
    ctx.set(dut.writes, 0)
    assert ctx.get(dut.doorbell) == (not is_read)
    assert ctx.get(dut.doorbell_ring) == ring
    await ctx.tick()
    assert ctx.get(dut.doorbell) == (not is_read)
    found = ctx.get(dut.is_error), ctx.get(dut.has_read)
    assert not (found[0] | found[1]) & ~(1 << ring)
    await ctx.tick()
    assert not ctx.get(dut.is_error)
    return bool(found[0]), bool(found[1])


def test_counts_against_plain_arithmetic(simulate, rng):
    dut = Counts()

    async def bench(ctx):
        heads, tails, reads, wrongs = [0, 0], [0, 0], [0, 0], 0
        sizes = [3, 15]
        for ring in range(2):
            ctx.set(dut.log2[ring], sizes[ring])
        for turn in range(600):
            ring = int(rng.integers(2))
            for _ in range(int(rng.integers(4)) if turn < 500 else 40):
                ctx.set(dut.completes, 1 << ring)
                heads[ring] = (heads[ring] + 1) & 0xFFFF
                await ctx.tick()
            ctx.set(dut.completes, 0)
            is_read = bool(rng.integers(2))
            unread = (heads[ring] - reads[ring]) & 0xFFFF
            size = unread if is_read else 1 << sizes[ring]
            step = int(rng.choice([0, 1, size - 1, size, size + 1, int(rng.integers(1 << 16))]))
            value = (heads[ring] + (-step if is_read else step)) & 0xFFFF
            is_wrong, has_read = await write(ctx, dut, ring, is_read, value)
            assert is_wrong == (step & 0xFFFF > size), (step, size)
            assert has_read == (is_read and not is_wrong and step != 0)
            wrongs += is_wrong
            if not is_wrong:
                (reads if is_read else tails)[ring] = value
            for each in range(2):
                assert ctx.get(dut.head[each]) == heads[each]
                assert ctx.get(dut.tail[each]) == tails[each]
                assert ctx.get(dut.completion_head[each]) == reads[each]
        assert 100 < wrongs < 500
        ctx.set(dut.clear, 1)
        await ctx.tick()
        for port in (*dut.head, *dut.tail, *dut.completion_head):
            assert ctx.get(port) == 0

    simulate(dut, bench)
