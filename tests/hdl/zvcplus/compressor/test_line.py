"""The line of beats that wait."""

import pytest

from cdma.hdl.zvcplus.compressor.line import ElasticLine


@pytest.mark.parametrize(
    "depth", [3, *(pytest.param(each, marks=pytest.mark.slow) for each in (1, 11))]
)
@pytest.mark.parametrize("stalls", ["never", "bernoulli:0.5"])
def test_what_comes_in_goes_out_in_order(exchange, depth, stalls):
    items = list(range(60))
    passed = exchange(ElasticLine(8, depth), {"i": items}, {"o": 60}, stalls=stalls)
    assert passed["o"].payloads == items
    if stalls == "never":
        assert passed["o"].cycles == [cycle + depth for cycle in passed["i"].cycles]
        assert passed["i"].cycles == list(range(passed["i"].cycles[0], passed["i"].cycles[0] + 60))


def test_it_fills_up_and_is_ready_when_one_leaves(simulate):
    line = ElasticLine(8, 3)

    async def bench(ctx):
        ctx.set(line.i.valid, 1)
        for number in range(3):
            ctx.set(line.i.payload, number)
            assert ctx.get(line.i.ready)
            await ctx.tick()
        assert not ctx.get(line.i.ready)
        ctx.set(line.o.ready, 1)
        assert ctx.get(line.i.ready)
        assert ctx.get(line.o.payload) == 0

    simulate(line, bench)


def test_depth_is_too_small():
    with pytest.raises(ValueError, match=r"^Depth of a line must be at least 1, not 0$"):
        ElasticLine(8, 0)
