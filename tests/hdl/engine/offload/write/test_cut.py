"""Where bursts begin and end."""

import pytest

from cdma.hdl.engine.offload.write.cut import BurstCutter

BLOCK, PART = 32, 8


def _expected(first, counts, early, block, part):
    """Bursts as (begins, first, last), each place in its block, and the rows that open one."""
    place, start, bursts, opens = first, None, [], []
    for row, (count, is_early) in enumerate(zip(counts, early, strict=True)):
        is_opened = False
        for _ in range(count):
            if start is None:
                start, is_opened = place, True
            place += 1
            if place % block == 0 or (is_early and place % part == 0):
                bursts.append((start % block, (place - 1) % block))
                start = None
        opens.append(is_opened)
        assert not (is_opened and start is None and count and row and count > part)
    if start is not None:
        bursts.append((start % block, (place - 1) % block))
    return [(int(k == 0), *burst) for k, burst in enumerate(bursts)], opens


@pytest.mark.parametrize("first", [0, 4, 28])
@pytest.mark.parametrize("chance", [0, 0.5, 1], ids=["whole", "some early", "early"])
def test_bursts(simulate, rng, first, chance):
    dut = BurstCutter(4, BLOCK, PART)
    # From the first place on, full rows up to the border: then a burst that opens does not end.
    counts = [4, 4, *rng.integers(0, 5, 120).tolist()]
    early = (rng.random(len(counts)) < chance).tolist()

    async def bench(ctx):
        bursts, opens = [], []
        ctx.set(dut.start, 1)
        ctx.set(dut.place, first)
        await ctx.tick()
        ctx.set(dut.start, 0)

        def note():
            if ctx.get(dut.o.valid):
                piece = dut.o.payload
                bursts.append(tuple(ctx.get(piece[name]) for name in ("begins", "first", "last")))

        for count, is_early in zip(counts, early, strict=True):
            ctx.set(dut.valid, 1)
            ctx.set(dut.count, count)
            ctx.set(dut.is_early, is_early)
            note()
            opens.append(bool(ctx.get(dut.opens)))
            await ctx.tick()
        ctx.set(dut.valid, 0)
        ctx.set(dut.flush, 1)
        note()
        await ctx.tick()
        return bursts, opens, ctx.get(dut.is_open)

    expected, opens = _expected(first, counts, early, BLOCK, PART)
    assert simulate(dut, bench) == (expected, opens, 0)


def test_a_part_that_is_too_short():
    with pytest.raises(
        ValueError, match=r"^Part of a block must have two rows of 4 words or more, not 4 words$"
    ):
        BurstCutter(4, 32, 4)
