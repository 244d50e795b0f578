import numpy as np
import pytest

from cdma.golden import Format
from cdma.golden.zvc.stages import (
    _table_popcount,
    compact,
    expand,
    nonzero_bits,
    pack_masks,
    popcount,
    unpack_masks,
)

FORMATS = [Format(8), Format(8, 8), Format(16), Format(32), Format(32, 96), Format(64)]


def random_blocks(fmt, blocks=7):
    random = np.random.default_rng(fmt.block_words)
    words = random.integers(1, 2**fmt.word_bits, (blocks, fmt.block_words), dtype=np.uint64)
    words[random.random(words.shape) < 0.5] = 0
    words[0], words[-1] = 0, 2**fmt.word_bits - 1
    return words.astype(fmt.dtype)


@pytest.mark.parametrize("dtype", ["<u1", "<u2", "<u4", "<u8"])
@pytest.mark.parametrize("count", [popcount, _table_popcount])
def test_popcount(dtype, count):
    words = np.random.default_rng(0).integers(0, 256, (5, 64), dtype=np.uint8).view(dtype)
    counts = count(words)
    assert counts.shape == words.shape
    assert counts.tolist() == [[int(word).bit_count() for word in row] for row in words]


def test_nonzero_bits_go_by_pattern():
    words = np.array([0.0, -0.0, 1e-45, np.nan], "<f4").view("<u4")
    assert nonzero_bits(words, Format(words.itemsize * 8)).tolist() == [False, True, True, True]


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_masks(fmt):
    bits = nonzero_bits(random_blocks(fmt), fmt)
    masks = pack_masks(bits, fmt)
    assert masks.shape == (len(bits), fmt.mask_words)
    as_ints = [sum(1 << i for i, bit in enumerate(row) if bit) for row in bits]
    assert [int.from_bytes(mask.tobytes(), "little") for mask in masks] == as_ints
    assert np.array_equal(unpack_masks(masks, fmt), bits)


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_compact_and_expand(fmt, reference_encode):
    blocks = random_blocks(fmt)
    bits = nonzero_bits(blocks, fmt)
    out = np.zeros(blocks.size + len(blocks) * fmt.mask_words, fmt.dtype)
    written = compact(blocks, bits, pack_masks(bits, fmt), out)
    stream = out[:written]
    assert stream.tobytes() == reference_encode(blocks.reshape(-1).tolist(), fmt)
    assert not out[written:].any()
    assert np.array_equal(expand(stream, bits, fmt), blocks)
