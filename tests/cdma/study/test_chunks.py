"""Chunks follow each other in C order, whatever the array."""

import numpy as np
import pytest

from cdma.golden.zvc.words import to_words
from cdma.study.chunks import PIECE_BYTES, chunks


@pytest.mark.parametrize("pieces", [1, 3, 100])
def test_together_they_are_the_array(array, pieces):
    parts = list(chunks(array, pieces * PIECE_BYTES))
    np.testing.assert_array_equal(np.concatenate([*parts, []]), to_words(array))
    assert all(part.nbytes == pieces * PIECE_BYTES for part in parts[:-1])
    assert all(len(part) for part in parts)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 3, 1), (1, 2, 3, 0), (3, 2, 1, 0)])
def test_of_a_transposed_view(order):
    array = np.arange(3 * 50 * 31 * 29, dtype=np.uint32).reshape(3, 50, 31, 29).transpose(order)
    parts = list(chunks(array, PIECE_BYTES))
    assert len(parts) == -(-array.nbytes // PIECE_BYTES)
    np.testing.assert_array_equal(np.concatenate(parts), array.reshape(-1))


@pytest.mark.parametrize("size", [0, -PIECE_BYTES, PIECE_BYTES + 4])
def test_refuses_a_size(size):
    with pytest.raises(
        ValueError, match=rf"^Chunk must be a multiple of {PIECE_BYTES} bytes, not {size}$"
    ):
        next(chunks(np.zeros(3), size))
