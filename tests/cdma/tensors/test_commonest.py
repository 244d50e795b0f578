"""The commonest word, of all widths, and the ratio if it were the zero value."""

import numpy as np
import pytest

from cdma.golden import Format, compress
from cdma.tensors.commonest import Commonest, hint


@pytest.mark.parametrize("itemsize", [1, 2, 4, 8])
def test_the_ratio_is_that_of_the_words_less_the_commonest(itemsize):
    rng = np.random.default_rng(0)
    words = rng.integers(1, 100, 4096).astype(f"u{itemsize}")
    words[rng.random(4096) < 0.6] = 101
    words[:7] = 0
    counter = Commonest(itemsize)
    for chunk in np.split(words, 4):
        counter.update(chunk)
    found = counter.finish()
    assert found["word"] == f"0x{101:0{2 * itemsize}x}"
    assert found["share"] == np.mean(words == 101)
    shifted = words - words.dtype.type(101)
    assert found["ratio"] == words.nbytes / len(compress(shifted, Format(8 * itemsize)))


@pytest.mark.parametrize("fmt", [None, Format(8, 8), Format(8, 256)])
def test_the_ratio_counts_the_whole_mask_of_a_partial_block(fmt):
    words = np.where(np.arange(77) % 7, 1, 0).astype("u1")
    counter = Commonest(1)
    counter.update(words)
    shifted = compress(words - 1, fmt or Format(8))
    assert counter.finish(fmt)["ratio"] == words.nbytes / len(shifted)


@pytest.mark.parametrize("itemsize", [1, 4])
@pytest.mark.parametrize(
    "words",
    [[], [0, 0, 0, 5], list(range(1, 100)), [0] * 50 + [1] * 40 + [2] * 10],
    ids=["empty", "zero is the commonest", "all differ", "zero has more"],
)
def test_no_hint_where_another_zero_gains_nothing(itemsize, words):
    counter = Commonest(itemsize)
    counter.update(np.array(words, f"u{itemsize}"))
    assert counter.finish() is None


def test_sentences():
    word = {"word": "0x80", "share": 0.7, "ratio": 2.35}
    expected = "the commonest word is 0x80 (70%); ratio 2.35 if it were zero"
    assert hint(word, 1.0) == expected
    assert hint(None, 0.98).startswith("dense: 98% of the words are not zero")
    assert hint(None, 0.5) is None
    assert hint(None, None) is None
