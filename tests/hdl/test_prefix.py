"""Prefix sums and counts, against NumPy."""

import numpy as np
import pytest
from amaranth.hdl import Cat

from cdma.hdl.prefix import PrefixSum, add, popcount


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


def check(play, width, masks):
    rows = [{"mask": mask} for mask in masks]
    seen = play(PrefixSum(width), rows, ["ranks", "total"], clocked=False)
    inclusive = bits_of(masks, width).cumsum(axis=1)
    assert np.array_equal(seen["total"], inclusive[:, -1])
    exclusive = np.hstack([np.zeros((len(masks), 1), int), inclusive[:, :-1]])
    assert np.array_equal(seen["ranks"], exclusive)


@pytest.mark.parametrize("width", [2, 3, 5, 8])
def test_prefix_sum_of_every_mask(play, width):
    check(play, width, range(1 << width))


@pytest.mark.parametrize("width", [16, 32, 64])
def test_prefix_sum_of_random_masks(play, rng, width):
    check(play, width, random_masks(rng, width, 100))


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


@pytest.mark.parametrize(("a_bits", "b_bits"), [(1, 1), (3, 3), (4, 1), (2, 5)])
def test_sum_never_overflows(compute, a_bits, b_bits):
    pairs = range(1 << a_bits + b_bits)

    def total(m, both):
        result = add(m, both[:a_bits], both[a_bits:])
        assert len(result) == max(a_bits, b_bits) + 1
        return Cat(result)

    sums = compute(total, a_bits + b_bits, pairs)
    assert sums == [(pair & (1 << a_bits) - 1) + (pair >> a_bits) for pair in pairs]
