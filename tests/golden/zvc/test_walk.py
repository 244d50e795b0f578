from itertools import pairwise

import numpy as np
import pytest

from cdma.golden import Format, compress
from cdma.golden.zvc.walk import block_starts, gather_masks, lockstep_starts
from cdma.golden.zvc.words import whole_words

FORMATS = [Format(8), Format(8, 8), Format(16), Format(32), Format(32, 96), Format(64)]
BLOCKS = 60


def stream_and_starts(fmt, density):
    random = np.random.default_rng(0)
    words = random.integers(1, 200, BLOCKS * fmt.block_words).astype(fmt.dtype)
    words[random.random(len(words)) >= density] = 0
    kept = np.count_nonzero(words.reshape(BLOCKS, -1), axis=1)
    starts = np.append(0, np.cumsum(fmt.mask_words + kept))
    return whole_words(compress(words, fmt), fmt), starts


def walk(words, blocks, fmt):
    runs = list(block_starts(words, blocks, fmt))
    for run, following in pairwise(runs):
        assert run[-1] == following[0]
    return np.concatenate([run[:-1] for run in runs] + [runs[-1][-1:]])


@pytest.mark.parametrize("density", [0, 0.1, 0.5, 1])
@pytest.mark.parametrize("fmt", FORMATS, ids=str)
@pytest.mark.parametrize("window", [1, 50, 1 << 16])
def test_starts(fmt, density, window, monkeypatch):
    monkeypatch.setattr("cdma.golden.zvc.walk._WINDOW_WORDS", window)
    words, starts = stream_and_starts(fmt, density)
    assert np.array_equal(walk(words, BLOCKS, fmt), starts)
    assert np.array_equal(walk(words, 7, fmt), starts[:8])


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
@pytest.mark.parametrize("window", [50, 1 << 16])
def test_ends_before_the_mask_that_is_not_whole(fmt, window, monkeypatch):
    monkeypatch.setattr("cdma.golden.zvc.walk._WINDOW_WORDS", window)
    words, starts = stream_and_starts(fmt, 0.5)
    for length in range(fmt.mask_words, len(words), 5):
        found = walk(words[:length], BLOCKS, fmt)
        whole_masks = np.count_nonzero(starts[:-1] + fmt.mask_words <= length)
        assert np.array_equal(found, starts[: whole_masks + 1])


def test_no_block():
    assert list(block_starts(np.zeros(8, "<u4"), 0, Format())) == []
    assert list(block_starts(np.zeros(0, "<u4"), 3, Format())) == []
    assert list(block_starts(np.zeros(3, "<u1"), 3, Format(8))) == []


@pytest.mark.parametrize("density", [0, 0.5, 1])
@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_lockstep(fmt, density):
    words, starts = stream_and_starts(fmt, density)
    found, ends = lockstep_starts(words, starts[:-1:10].copy(), 10, fmt)
    assert np.array_equal(found.reshape(-1), starts[:-1])
    assert np.array_equal(ends, starts[10::10])


def test_lockstep_stays_inside_a_stream_that_ends_early():
    words = np.full(5, 2**32 - 1, "<u4")
    _, ends = lockstep_starts(words, np.array([0, 3]), 4, Format())
    assert (ends > len(words)).all()


def test_gather_masks():
    words = np.arange(10, dtype="<u1")
    assert gather_masks(words, np.array([0, 5]), Format(8, 32)).tolist() == [
        [0, 1, 2, 3],
        [5, 6, 7, 8],
    ]
