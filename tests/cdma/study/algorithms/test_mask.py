"""Density, uniform blocks and the entropy bound, counted slowly beside."""

import math

import numpy as np
import pytest

from cdma.golden import Format
from cdma.golden.zvc.words import to_words
from cdma.study.algorithms.mask import Mask, entropy_bound
from cdma.study.chunks import PIECE_BYTES, chunks


def test_counts_are_those_of_a_loop(array):
    mask = Mask(array.itemsize * 8)
    for words in chunks(array, PIECE_BYTES):
        mask.update(words)
    words = to_words(array).tolist()
    length = Format(array.itemsize * 8).block_words
    blocks = [words[at : at + length] for at in range(0, len(words), length)]
    assert mask.words == len(words)
    assert mask.nonzeros == sum(word != 0 for word in words)
    assert mask.blocks == len(blocks)
    assert mask.zero_blocks == sum(not any(block) for block in blocks)
    assert mask.full_blocks == sum(len(block) == length and all(block) for block in blocks)


@pytest.mark.parametrize(
    ("words", "nonzeros", "size"),
    [
        (0, 0, 0),
        (1000, 0, 0),
        (1000, 1000, 4000),  # a mask of one symbol costs nothing
        (1000, 500, 125 + 2000),  # one bit a word
        (1024, 128, math.ceil(1024 * 0.543564 / 8) + 512),  # H(1/8)
    ],
)
def test_bound(words, nonzeros, size):
    assert entropy_bound(words, nonzeros, 4) == size


def test_zvc_of_random_zeros_is_not_below_it():
    bits = np.random.default_rng(0).random(1 << 16) < 0.3
    nonzeros = int(bits.sum())
    bound = entropy_bound(bits.size, nonzeros, 4)
    assert bound < Format(32).stream_bytes(bits.size, nonzeros) < 1.02 * bound
