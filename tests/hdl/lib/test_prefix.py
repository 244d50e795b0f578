"""Prefix sums and counts, against NumPy."""

from itertools import pairwise

import numpy as np
import pytest
from amaranth.hdl import Cat, Value

from cdma.hdl.lib.prefix import PrefixSum, add, popcount, tree


def bits_of(masks, width):
    """Array of shape (n, width)."""
    return np.array([[mask >> i & 1 for i in range(width)] for mask in masks])


def random_masks(rng, width, count):
    """Masks of every density, and the two plain ones."""
    density = rng.random((count, 1))
    bits = rng.random((count, width)) < density
    drawn = [
        int.from_bytes(np.packbits(row, bitorder="little").tobytes(), "little") for row in bits
    ]
    return [0, (1 << width) - 1, *drawn]


def check(play, width, masks, **options):
    """All of ``masks``, one a cycle, their counts after the promised latency."""
    latency = PrefixSum.latency(width, **options)
    rows = [{"mask": mask, "enable": 1} for mask in masks] + [{"mask": 0}] * latency
    seen = play(PrefixSum(width, **options), rows, ["ranks", "total"])
    inclusive = bits_of(masks, width).cumsum(axis=1)
    assert np.array_equal(seen["total"][latency:], inclusive[:, -1])
    exclusive = np.hstack([np.zeros((len(masks), 1), int), inclusive[:, :-1]])
    assert np.array_equal(seen["ranks"][latency:], exclusive)


@pytest.mark.parametrize("width", [2, 3, 5, 8])
def test_prefix_sum_of_every_mask(play, width):
    check(play, width, range(1 << width))


@pytest.mark.parametrize("width", [16, 17, 32, 64])
def test_prefix_sum_of_random_masks(play, rng, width):
    check(play, width, random_masks(rng, width, 60))


@pytest.mark.parametrize(("width", "latency"), [(8, 0), (16, 1), (17, 1), (32, 1)])
def test_fewer_bits_are_counted_in_a_cycle(play, rng, width, latency):
    assert PrefixSum.latency(width, most=8) == latency
    check(play, width, random_masks(rng, width, 60), most=8)


def test_the_register_waits_while_not_enabled(play):
    rows = [{"mask": 7, "enable": 1}, {"mask": 1, "enable": 0}, {"mask": 0}, {"enable": 1}, {}]
    assert play(PrefixSum(32), rows, ["total"])["total"][1:] == [3, 3, 3, 0]


@pytest.mark.parametrize(("width", "rank_bits", "total_bits"), [(2, 1, 2), (8, 3, 4), (33, 6, 6)])
def test_sums_have_just_the_bits_they_need(width, rank_bits, total_bits):
    prefix = PrefixSum(width)
    assert len(prefix.ranks[0]) == rank_bits
    assert len(prefix.total) == total_bits


@pytest.mark.parametrize("width", [1, 0, -4])
def test_width_is_too_small(width):
    with pytest.raises(
        ValueError, match=rf"^Width of a prefix sum must be at least 2, not {width}$"
    ):
        PrefixSum(width)


@pytest.mark.parametrize("width", [1, 2, 7, 8])
def test_popcount_of_every_mask(compute, width):
    masks = range(1 << width)
    assert compute(popcount, width, masks) == [mask.bit_count() for mask in masks]


@pytest.mark.parametrize("width", [32, 64, 96])
def test_popcount_of_random_masks(compute, rng, width):
    masks = random_masks(rng, width, 100)
    assert compute(popcount, width, masks) == [mask.bit_count() for mask in masks]


@pytest.mark.parametrize("widths", [[1], [3, 1], [2, 2, 2], [4, 1, 3, 2, 5]])
def test_tree_adds_numbers_of_any_width(compute, rng, widths):
    starts = np.cumsum([0, *widths]).tolist()
    values = [0, (1 << starts[-1]) - 1, *rng.integers(1 << starts[-1], size=60).tolist()]

    def terms(value):
        return [value[a:b] for a, b in pairwise(starts)]

    sums = compute(lambda m, value: Value.cast(tree(m, terms(value))), starts[-1], values)
    fields = [[value >> a & (1 << b - a) - 1 for a, b in pairwise(starts)] for value in values]
    assert sums == [sum(numbers) for numbers in fields]


@pytest.mark.parametrize(("a_bits", "b_bits"), [(1, 1), (3, 3), (4, 1), (2, 5)])
def test_sum_never_overflows(compute, a_bits, b_bits):
    pairs = range(1 << a_bits + b_bits)

    def total(m, both):
        result = add(m, both[:a_bits], both[a_bits:])
        assert len(result) == max(a_bits, b_bits) + 1
        return Cat(result)

    sums = compute(total, a_bits + b_bits, pairs)
    assert sums == [(pair & (1 << a_bits) - 1) + (pair >> a_bits) for pair in pairs]
