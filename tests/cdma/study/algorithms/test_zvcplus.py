import numpy as np
import pytest
from zvcplus_cases import random_words

from cdma.golden import zvcplus
from cdma.study.algorithms.zvcplus import ZeroValuePlus
from cdma.study.chunks import PIECE_BYTES, chunks
from cdma.zvcplus import Format


@pytest.mark.parametrize(
    "fmt",
    [
        Format(),
        Format("fp32", "left"),
        Format("fp32", "above", 1000, 2),
        Format("bf16", "above", 3),
        Format("int8", "above", 4096),
    ],
    ids=str,
)
@pytest.mark.parametrize("count", [0, 1, 100_001])
def test_size_is_that_of_the_stream_in_chunks_of_any_size(fmt, count):
    words = random_words(np.random.default_rng(count), fmt, count)
    sizer = ZeroValuePlus(fmt)
    for chunk in chunks(words, PIECE_BYTES):
        sizer.update(chunk)
    assert sizer.finish() == len(zvcplus.compress(words, fmt))
