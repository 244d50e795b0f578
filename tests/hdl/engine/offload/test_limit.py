"""Words up to a limit."""

import pytest

from cdma.hdl.engine.offload.limit import Limit


@pytest.mark.parametrize("most", [1, 4, 8])
@pytest.mark.parametrize("limit", [0, 1, 5, 63, 64, 65, 200, 4096, 4103, 70_000, (1 << 20) - 1])
def test_words_pass_up_to_the_limit(simulate, rng, most, limit):
    dut = Limit(20, most)

    async def bench(ctx):
        ctx.set(dut.start, 1)
        ctx.set(dut.limit, limit)
        await ctx.tick()
        ctx.set(dut.start, 0)
        await ctx.tick().repeat(2)
        left, found, expected = limit, [], []
        rows = min(limit // most, 12_000) + 20
        for _ in range(rows):
            count = most if rng.random() < 0.98 else int(rng.integers(1, most + 1))
            takes = rng.random() < 0.95
            ctx.set(dut.takes, takes)
            ctx.set(dut.count, count)
            found.append((ctx.get(dut.kept), ctx.get(dut.cut)))
            expected.append((min(count, left), int(count > left)))
            left -= min(count, left) if takes else 0
            await ctx.tick()
        return found, expected

    found, expected = simulate(dut, bench)
    assert found == expected
