"""The routing networks, against what their docstrings say of order and place."""

from itertools import product

import pytest
from amaranth.hdl import Module, Signal

from cdma.hdl.lib.prefix import PrefixSum
from cdma.hdl.zvc.network import Compactor, Expander, Routes, routes

WORD_BITS = 16
LANES = pytest.mark.parametrize(
    "lanes", [2, 4, *(pytest.param(lanes, marks=pytest.mark.slow) for lanes in (8, 16, 32))]
)


def ranks_of(mask, lanes):
    """Number of marked lanes below each."""
    return [(mask & (1 << lane) - 1).bit_count() for lane in range(lanes)]


def routes_of(mask, offset, lanes):
    """Destination of the first word of each group's upper half, modulo the group's size."""
    ranks = ranks_of(mask, lanes)
    return {
        f"level{level}": [
            (offset + ranks[first]) % (2 << level) for first in range(1 << level, lanes, 2 << level)
        ]
        for level in range(lanes.bit_length() - 1)
    }


def cases(lanes, rng):
    """Masks with offsets: all of both up to 8 lanes, else random."""
    if lanes <= 8:
        return list(product(range(1 << lanes), range(lanes)))
    drawn = [(0, 0), ((1 << lanes) - 1, 0), ((1 << lanes) - 1, lanes - 1)]
    for density in rng.random(80):
        mask = sum(1 << lane for lane in range(lanes) if rng.random() < density)
        drawn.append((mask, int(rng.integers(lanes))))
    return drawn


def random_words(lanes, count, rng):
    """Rows of words, those of a row all different and none of them zero."""
    return [(1 + rng.permutation(65535)[:lanes]).tolist() for _ in range(count)]


@LANES
def test_routes_follow_from_the_counts_at_the_middles_of_groups(simulate, rng, lanes):
    m = Module()
    m.submodules.prefix = prefix = PrefixSum(lanes)
    offset = Signal(range(lanes))
    result = routes(m, prefix.ranks, offset)
    m.d.comb += prefix.enable.eq(1)

    async def bench(ctx):
        for mask, first in cases(lanes, rng):
            ctx.set(prefix.mask, mask)
            ctx.set(offset, first)
            for _ in range(PrefixSum.latency(lanes)):
                await ctx.tick()
            for name, starts in routes_of(mask, first, lanes).items():
                assert [ctx.get(start) for start in result[name]] == starts

    simulate(m, bench)


@LANES
def test_routes_are_a_number_of_each_level_for_each_group(lanes):
    layout = Routes(lanes)
    levels = range(lanes.bit_length() - 1)
    assert layout.size == sum((level + 1) * (lanes >> level + 1) for level in levels)


@LANES
@pytest.mark.parametrize("ends_registered", [True, False], ids=["registered", "combinational"])
def test_compactor_sends_marked_words_to_consecutive_banks(play, rng, lanes, ends_registered):
    """Every mask and every offset at 8 lanes."""
    latency = Compactor.latency(lanes, ends_registered=ends_registered)
    network = Compactor(lanes, WORD_BITS, ends_registered=ends_registered)
    chosen = cases(lanes, rng)
    words = random_words(lanes, len(chosen), rng)
    rows = [
        {"words": beat, "routes": routes_of(mask, offset, lanes), "enable": 1}
        for beat, (mask, offset) in zip(words, chosen, strict=True)
    ]
    seen = play(network, rows + [{}] * latency, ["bank_words"])["bank_words"]
    # A new beat entered in each cycle, and each came out after just the promised latency.
    for beat, (mask, offset), banks in zip(words, chosen, seen[latency:], strict=True):
        marked = [word for lane, word in enumerate(beat) if mask >> lane & 1]
        assert [banks[(offset + rank) % lanes] for rank in range(len(marked))] == marked


@LANES
def test_expander_brings_words_that_are_there_to_marked_lanes_and_zeros_to_others(play, rng, lanes):
    latency = Expander.latency(lanes)
    chosen = cases(lanes, rng)
    words = random_words(lanes, len(chosen), rng)
    there = [int(rng.integers(1 << lanes)) for _ in chosen]
    rows = [
        {"bank_words": beat, "has_word": banks, "mask": mask, "enable": 1}
        | {"routes": routes_of(mask, offset, lanes)}
        for beat, banks, (mask, offset) in zip(words, there, chosen, strict=True)
    ]
    seen = play(Expander(lanes, WORD_BITS), rows + [{}] * latency, ["words"])["words"]
    every = zip(words, there, chosen, seen[latency:], strict=True)
    for beat, banks, (mask, offset), given in every:
        found = [(offset + rank) % lanes for rank in ranks_of(mask, lanes)]
        assert given == [
            beat[bank] if mask >> lane & banks >> bank & 1 else 0 for lane, bank in enumerate(found)
        ]


@pytest.mark.parametrize("lanes", [4, 16])
@pytest.mark.parametrize(
    ("network", "way_in", "way_out"),
    [(Compactor, "words", "bank_words"), (Expander, "bank_words", "words")],
)
def test_beats_wait_while_not_enabled(play, rng, lanes, network, way_in, way_out):
    """Stalled at random, what comes out is in cycles with enable what comes out without stalls."""
    dut = network(lanes, WORD_BITS)
    chosen = cases(lanes, rng)[-60:]
    words = random_words(lanes, len(chosen), rng)
    rows = [
        {way_in: beat, "routes": routes_of(mask, offset, lanes)}
        | ({"mask": mask, "has_word": mask ^ offset} if network is Expander else {})
        for beat, (mask, offset) in zip(words, chosen, strict=True)
    ]
    plain = play(network(lanes, WORD_BITS), [row | {"enable": 1} for row in rows], [way_out])
    stalled = []
    for row in rows:
        stalled += [row | {"enable": 0}] * int(rng.integers(3)) + [row | {"enable": 1}]
    seen = play(dut, stalled, [way_out])[way_out]
    taken = [value for value, row in zip(seen, stalled, strict=True) if row["enable"]]
    assert taken == plain[way_out]


@pytest.mark.parametrize(("lanes", "compactor", "expander"), [
    (2, 1, 1), (4, 1, 1), (8, 2, 1), (16, 2, 2), (32, 3, 2), (64, 3, 2),
])  # fmt: skip
def test_latencies(lanes, compactor, expander):
    """Two levels a cycle in the compactor, three in the expander."""
    assert (Compactor.latency(lanes), Expander.latency(lanes)) == (compactor, expander)
    shorter = compactor - 1 if lanes > 4 else compactor
    assert Compactor.latency(lanes, ends_registered=False) == shorter


@pytest.mark.parametrize("network", [Compactor, Expander])
@pytest.mark.parametrize("lanes", [0, 1, 3, 12])
def test_lanes_that_make_no_butterfly(network, lanes):
    message = f"^Number of lanes must be a power of two of at least 2, not {lanes}$"
    with pytest.raises(ValueError, match=message):
        network(lanes, 32)
