"""Words regrouped."""

import numpy as np
import pytest

from cdma.hdl.engine.common.words import WordShifter

SIZES = [(2, 2), (4, 2), (2, 4), (8, 1), (1, 8)]


@pytest.mark.parametrize(("take", "give"), SIZES)
@pytest.mark.parametrize("stall", [pytest.param("never", marks=pytest.mark.slow), "bernoulli:0.5"])
def test_words_keep_their_order(exchange, begin, words_of, take, give, stall):
    rng = np.random.default_rng([take, give])
    counts = [int(count) for count in rng.integers(0, take + 1, 60)]
    words = iter(range(1, 1 + sum(counts)))
    groups = [
        {"words": [next(words) for _ in range(n)] + [0] * (take - n), "count": n} for n in counts
    ]
    needs, left = [], sum(counts)
    while left:
        needs.append(min(left, int(rng.integers(1, give + 1))))
        left -= needs[-1]
    dut = WordShifter(16, take, give)

    def need(ctx, cycle, passed):
        done = len(passed["o"].cycles)
        ctx.set(dut.need, needs[done] if done < len(needs) else 1)

    each = begin(dut, need)
    passed = exchange(dut, {"i": groups}, {"o": len(needs)}, stalls=stall, each=each)
    assert [item["count"] for item in passed["o"].payloads] == needs
    assert words_of(passed["o"].payloads) == list(range(1, 1 + sum(counts)))
    for item in passed["o"].payloads:
        assert not any(item["words"][item["count"] :])


@pytest.mark.parametrize(("take", "give"), [(4, 2), (4, 4), (8, 2)])
def test_throughput_of_whole_groups(exchange, begin, take, give):
    groups = [{"words": [k] * take, "count": take} for k in range(20)]
    count = 20 * take // give
    dut = WordShifter(16, take, give)
    passed = exchange(dut, {"i": groups}, {"o": count}, each=begin(dut, need=give))
    cycles = passed["o"].cycles
    assert cycles == list(range(cycles[0], cycles[0] + count))


@pytest.mark.parametrize("odd", [0, 1, 3])
@pytest.mark.parametrize(("take", "give"), [(4, 8), (2, 8), (4, 4)])
def test_nothing_waits_before_a_reader_of_the_same_rate(simulate, take, give, odd):
    """The reader takes a transfer in its last cycle, as the CRC takes a row in pieces."""
    dut, cycles = WordShifter(16, take, give), give // take

    async def bench(ctx):
        seen = waited = taken = 0
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.i.payload.count, odd or take)
        ctx.set(dut.need, give)
        for _ in range(60):
            seen = seen + 1 if ctx.get(dut.o.valid) else 0
            ctx.set(dut.o.ready, seen == cycles)
            waited += not ctx.get(dut.i.ready)
            taken += seen == cycles
            seen %= cycles
            await ctx.tick()
            ctx.set(dut.i.payload.count, take)
        return waited, taken

    waited, taken = simulate(dut, bench)
    assert waited == 0
    assert taken >= 60 // cycles - 2


def test_clear(simulate):
    dut = WordShifter(16, 2, 2)

    async def bench(ctx):
        ctx.set(dut.need, 2)
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.i.payload, {"words": [1, 0], "count": 1})
        await ctx.tick()
        before = ctx.get(dut.level)
        ctx.set(dut.i.valid, 0)
        ctx.set(dut.clear, 1)
        await ctx.tick()
        ctx.set(dut.clear, 0)
        cleared = ctx.get(dut.level)
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.i.payload, {"words": [2, 3], "count": 2})
        await ctx.tick()
        ctx.set(dut.i.valid, 0)
        assert ctx.get(dut.o.valid)
        return before, cleared, [ctx.get(dut.o.payload.words[k]) for k in range(2)]

    assert simulate(dut, bench) == (1, 0, [2, 3])
