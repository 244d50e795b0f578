"""Words packed densely into frames."""

import numpy as np
import pytest

from cdma.hdl.engine.offload.write.ring import WordRing

FRAMES = 8


@pytest.mark.parametrize(("row", "frame"), [(1, 1), (1, 4), (4, 4), (2, 8), (8, 8)])
def test_words_leave_as_they_came(simulate, rng, row, frame):
    """Streams of rows of any length; a frame is loaded at any time after it is complete."""
    dut = WordRing(16, row, frame, FRAMES)
    streams = [
        (int(rng.integers(frame)), rng.integers(0, row + 1, rng.choice([0, 1, 30, 60])).tolist())
        for _ in range(12)
    ]

    async def bench(ctx):
        value, expected, found, loads, level, has_words = 0, [], [], 0, 0, False
        complete, loading = 0, False
        tight = []

        async def tick(valid=0, align=0):
            nonlocal loads, loading, complete
            load = loads < complete and rng.random() < 0.6
            ctx.set(dut.load, load)
            ctx.set(dut.valid, valid)
            ctx.set(dut.align, align)
            if loading:
                found.append([ctx.get(dut.o[k]) for k in range(frame)])
            completes = ctx.get(dut.completes)
            tight.append(ctx.get(dut.is_tight))
            await ctx.tick()
            loads, loading = loads + load, load
            complete += completes

        for first, counts in streams:
            ctx.set(dut.first, first)
            if has_words and level:
                complete += 1  # what is left of the last frame is loaded, too
                expected += [None] * (frame - level)
            elif level:
                del expected[-level:]
            await tick(align=1)
            expected += [None] * first
            level, has_words = first, False
            for count in counts:
                while tight[-1]:
                    await tick()
                words = [(value + k) % 65536 for k in range(count)]
                junk = [0xDEAD] * (row - count)
                assert ctx.get(dut.level) == level
                ctx.set(dut.i.count, count)
                for k, word in enumerate(words + junk):
                    ctx.set(dut.i.words[k], word)
                await tick(valid=1)
                has_words = level + count > frame or (has_words or count > 0)
                value, level = value + count, (level + count) % frame
                expected += words
        for _ in range(80):
            await tick()
        return expected, found

    expected, found = simulate(dut, bench)
    assert len(found) == len(expected) // frame
    words = np.array(found).reshape(-1).tolist()
    assert [w for w, e in zip(words, expected, strict=False) if e is not None] == [
        e for e in expected[: len(words)] if e is not None
    ]


def test_room(simulate):
    """All frames but those on the way are in use before the ring is tight."""
    dut = WordRing(8, 2, 2, 16)

    async def bench(ctx):
        ctx.set(dut.valid, 1)
        ctx.set(dut.i.count, 2)
        frames = 0
        while not ctx.get(dut.is_tight):
            await ctx.tick()
            frames += 1
        return frames

    assert 10 <= simulate(dut, bench) <= 16


def test_clear(simulate):
    dut = WordRing(8, 2, 2, 8)

    async def bench(ctx):
        ctx.set(dut.valid, 1)
        ctx.set(dut.i.count, 1)
        for _ in range(5):
            await ctx.tick()
        ctx.set(dut.valid, 0)
        ctx.set(dut.clear, 1)
        await ctx.tick()
        ctx.set(dut.clear, 0)
        level = ctx.get(dut.level)
        ctx.set(dut.valid, 1)
        ctx.set(dut.i.count, 2)
        ctx.set(dut.i.words[0], 7)
        ctx.set(dut.i.words[1], 9)
        await ctx.tick()
        ctx.set(dut.valid, 0)
        ctx.set(dut.load, 1)
        await ctx.tick()
        return level, ctx.get(dut.o[0]), ctx.get(dut.o[1])

    assert simulate(dut, bench) == (0, 7, 9)
