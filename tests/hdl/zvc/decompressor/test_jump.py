"""The jump table, against a walk through the words."""

import pytest

from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.fetch import LookupFetcher, fetcher_of
from cdma.hdl.zvc.decompressor.fetch.jump import JumpTable

CASES = [
    (Config.of(16, 16, 32), 6),  # a block of two beats, a mask of two words
    (Config.of(16, 8, 32), 5),  # a mask of four words
    (Config.of(16, 16, 16), 5),  # a block a beat
    (Config.of(8, 8, 8), 4),
    (Config.of(8, 8, 24), 7),
]


@pytest.mark.parametrize(
    ("config", "rows"),
    [
        pytest.param(*case, id=case[0].name, marks=[pytest.mark.slow] * (case[0].lanes == 16))
        for case in CASES
    ],
)
def test_every_word_has_the_end_of_the_next_mask(simulate, rng, config, rows):
    assert fetcher_of(config) is LookupFetcher
    fmt, lanes = config.format, config.lanes
    table = JumpTable(config, rows)
    count = 25
    beats = rng.integers(1 << fmt.word_bits, size=(count, lanes))
    beats[rng.random(beats.shape) < 0.2] = 0
    beats[rng.random(beats.shape) < 0.2] = (1 << fmt.word_bits) - 1
    ones = [int(word).bit_count() for word in beats.reshape(-1)]

    async def bench(ctx):
        taken, age = 0, 0  # beats taken, cycles since the last of them
        while taken < count:
            accept = bool(rng.random() < 0.6)
            ctx.set(table.accept, accept)
            ctx.set(table.tail, taken % rows if accept else int(rng.integers(rows)))
            junk = rng.integers(1 << fmt.word_bits, size=lanes)
            ctx.set(table.words, (beats[taken] if accept else junk).tolist())
            # A row can be read two cycles after its beat came in; the first has no words before.
            newest = taken - (age < 2)
            rows_there = range(max(newest - rows + 1, 1), newest)
            for row in {*rows_there[-1:], *rng.permutation(rows_there)[:1].tolist()}:
                for lane in rng.permutation(lanes)[:3].tolist():
                    ctx.set(table.row, row % rows)
                    ctx.set(table.lane, lane)
                    end = row * lanes + lane  # of a mask
                    to = end + fmt.mask_words + sum(ones[end - fmt.mask_words + 1 : end + 1])
                    found = ctx.get(table.rows_on), ctx.get(table.to_lane)
                    assert found == (to // lanes - row, to % lanes)
            await ctx.tick()
            taken, age = taken + accept, 1 if accept else age + 1

    simulate(table, bench)
