"""Bits of a mask that are found in its bytes are those of the unpacked mask."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.golden.zvc import mask

masks = st.lists(st.sampled_from([0, 1, 0x80, 0x7F, 0xFE, 0xFF]), min_size=1, max_size=6)


@given(masks, st.data())
def test_as_in_the_unpacked_mask(values, data):
    packed = np.array(values, np.uint8)
    bits = np.unpackbits(packed, bitorder="little").view(bool)
    ones = np.flatnonzero(bits).tolist()
    stop = data.draw(st.integers(0, len(bits)))
    assert mask.bits_before(packed, stop).tolist() == bits[:stop].tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mask, "_PIECE", data.draw(st.integers(1, 7)))
        assert [mask.nth_one(packed, n) for n in range(len(ones))] == ones
    assert mask.last_one(packed) == (ones[-1] if ones else None)
    start = data.draw(st.integers(0, len(bits)))
    zeros = np.flatnonzero(~bits[start:])
    assert mask.first_zero(packed, start) == (start + zeros[0] if len(zeros) else None)


@pytest.mark.parametrize("start", range(17))
def test_no_zero_behind_the_start(start):
    assert mask.first_zero(np.array([0xFF, 0xFF], np.uint8), start) is None
