"""The queue of rows, against a list."""

import pytest

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.rows import RowQueue

CONFIG = Config("fp32")
SIZE = CONFIG.beat_bytes


def beat(content: bytes, *, last: bool) -> dict:
    """A beat with rubbish behind its bytes; before the last, ``keep`` is ignored."""
    padded = content.ljust(SIZE, b"\xff")
    words = [int.from_bytes(padded[k : k + 4], "little") for k in range(0, SIZE, 4)]
    return {"words": words, "keep": (1 << len(content)) - 1 if last else 0, "last": last}


@pytest.mark.parametrize(
    "last_bytes", [0, *(pytest.param(each, marks=pytest.mark.slow) for each in (1, 31, 32))]
)
def test_rows_move_up_and_the_end_is_known(simulate, rng, last_bytes):
    depth, number = 5, 40
    rows = [rng.bytes(SIZE) for _ in range(number - 1)] + [rng.bytes(last_bytes)]
    queue = RowQueue(CONFIG, depth)

    async def bench(ctx):
        came = passed = waits = 0
        met = set()
        while passed < number + 2:
            level = max(came - passed, 0)
            assert ctx.get(queue.valid) == (1 << level) - 1
            for k in range(level):
                expected = int.from_bytes(rows[passed + k].ljust(SIZE, b"\0"), "little")
                assert ctx.get(queue.rows[k]) == expected
            assert ctx.get(queue.ended) == (came == number)
            if came == number:
                end = SIZE * (number - 1 - passed) + last_bytes
                assert SIZE * ctx.get(queue.end_row) + ctx.get(queue.end_byte) == end
            assert ctx.get(queue.i.ready) == (level < depth and came < number)
            most = 2 if came == number else min(2, level)
            passes = int(rng.integers(most + 1)) if rng.random() < 0.6 else 0
            valid = came < number and rng.random() < 0.8
            ctx.set(queue.passes, passes)
            ctx.set(queue.i.valid, valid)
            if came < number:
                ctx.set(queue.i.payload, beat(rows[came], last=came == number - 1))
            enters = valid and level < depth
            met.add((level, passes, bool(enters)))
            await ctx.tick()
            came, passed, waits = came + enters, passed + passes, waits + 1
            assert waits < 500
        ctx.set(queue.passes, 0)
        ctx.set(queue.restart, 1)
        await ctx.tick()
        assert ctx.get(queue.valid) == 0
        assert not ctx.get(queue.ended)
        return met

    met = simulate(queue, bench)
    assert {passes for _, passes, _ in met} == {0, 1, 2}
    assert {level for level, *_ in met} >= {0, 1, 2, 3}


def test_drained_rows_are_dropped(simulate, rng):
    queue = RowQueue(CONFIG, 4)

    async def bench(ctx):
        ctx.set(queue.drain, 1)
        ctx.set(queue.i.valid, 1)
        for number in range(6):
            ctx.set(queue.i.payload, beat(rng.bytes(SIZE), last=number == 5))
            assert ctx.get(queue.i.ready)
            await ctx.tick()
            assert ctx.get(queue.valid) == 0
        assert ctx.get(queue.ended)
        assert not ctx.get(queue.i.ready)

    simulate(queue, bench)


def test_depth_is_too_small():
    with pytest.raises(ValueError, match=r"^Depth of a row queue must be at least 4, not 3$"):
        RowQueue(CONFIG, 3)
