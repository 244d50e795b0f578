import re

import pytest

from cdma.golden import Format


@pytest.mark.parametrize(
    ("word_bits", "block_words", "mask_words"),
    [(8, 128, 16), (16, 64, 4), (32, 32, 1), (64, 64, 1)],
)
def test_default_block(word_bits, block_words, mask_words):
    fmt = Format(word_bits)
    assert fmt.block_words == block_words
    assert fmt.mask_words == mask_words
    assert fmt.mask_bytes == block_words // 8
    assert fmt.dtype == f"<u{word_bits // 8}"


def test_formats_are_values():
    assert Format() == Format(32, 32)
    assert len({Format(8), Format(8, 128), Format(8, 64)}) == 2


@pytest.mark.parametrize(("words", "nonzeros", "size"), [(0, 0, 0), (1, 0, 4), (33, 2, 16)])
def test_stream_bytes(words, nonzeros, size):
    assert Format().stream_bytes(words, nonzeros) == size


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ((12,), ValueError, "Word width must be 8, 16, 32 or 64 bits, not 12"),
        (("32",), TypeError, "Word width must be an integer, not '32'"),
        ((True,), TypeError, "Word width must be an integer, not True"),
        ((32, 32.0), TypeError, "Block length must be an integer, not 32.0"),
        (
            (32, 48),
            ValueError,
            "Block length must be a positive multiple of the word width 32, not 48",
        ),
        (
            (8, 0),
            ValueError,
            "Block length must be a positive multiple of the word width 8, not 0",
        ),
    ],
)
def test_refusals(parameters, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        Format(*parameters)
