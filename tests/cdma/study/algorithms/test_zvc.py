"""ZVC sizes are those of the golden model's streams."""

import numpy as np
import pytest

from cdma.golden import Format, compress
from cdma.golden.zvc.words import to_words
from cdma.study.algorithms.zvc import ZeroValue
from cdma.study.chunks import PIECE_BYTES, chunks


@pytest.mark.parametrize("word_bits", [8, 16, 32, 64])
def test_size_is_that_of_the_stream(array, word_bits):
    sizer = ZeroValue(word_bits)
    for words in chunks(array, PIECE_BYTES):
        sizer.update(words)
    data = to_words(array).tobytes()
    data += bytes(-len(data) % (word_bits // 8))
    words = np.frombuffer(data, f"<u{word_bits // 8}")
    assert sizer.finish() == len(compress(words, Format(word_bits)))
