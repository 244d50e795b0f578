"""The golden models behind one set of functions."""

import numpy as np
import pytest

from cdma import zvcplus
from cdma.format import Format
from cdma.golden.codecs import codec_of

FORMATS = [Format(8, 16), Format(32), Format(16, 64, "ones"), zvcplus.Format("fp32")]
FORMATS += [zvcplus.Format("bf16"), zvcplus.Format("int8", "left")]


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_sizes_and_places_are_those_of_the_stream(fmt):
    rng = np.random.default_rng(1)
    codec = codec_of(fmt)
    words = rng.integers(0, 200, 5 * fmt.block_words // 2).astype(fmt.dtype)
    words[rng.random(words.size) < 0.5] = 0
    assert codec.words_of(words.reshape(1, -1), fmt).tolist() == words.tolist()
    stream = codec.compress(words, fmt)
    bits = codec.block_bits(words, fmt)
    assert bits.shape == (3,)
    assert -(-int(bits.sum()) // 8) == len(stream) <= fmt.most_bytes(words.size)
    places = [codec.place_of(byte, words, fmt) for byte in range(len(stream) + 2)]
    assert [place.startswith("block ") for place in places] == [True] * len(stream) + [False] * 2
    assert places[0].startswith("block 0, ")
    assert places[len(stream) - 1].startswith("block 2, ")
    assert len(set(places[: len(stream)])) == len(stream)
    assert codec.block_bits(words[:0], fmt).size == 0
    assert codec.place_of(0, words[:0], fmt) == "behind the last block"


@pytest.mark.parametrize("fmt", FORMATS[:-1], ids=str)
def test_a_good_stream_is_salvaged_whole(fmt):
    rng = np.random.default_rng(1)
    codec = codec_of(fmt)
    words = rng.integers(1, 200, fmt.block_words + 3).astype(fmt.dtype)
    stream = codec.compress(words, fmt)
    count = None if fmt.ends_itself else words.size
    found, consumed, code = codec.salvage(stream, count, fmt)
    assert (found.tolist(), consumed, int(code)) == (words.tolist(), stream.size, 0)


def test_other_words_are_refused():
    with pytest.raises(
        ValueError, match=r"^Element size must be 4 bytes to be a word of fp32, not"
    ):
        codec_of(zvcplus.Format()).words_of(np.zeros(3, np.uint16), zvcplus.Format())
    with pytest.raises(ValueError, match=r"^Element size must be 4 bytes to be a word of 32 bits,"):
        codec_of(Format()).words_of(np.zeros(3, np.uint16), Format())
