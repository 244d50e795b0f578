"""Zero detection."""

import pytest

from cdma.hdl.zvc.compressor.zeros import MaskGenerator


@pytest.mark.parametrize(("lanes", "word_bits"), [(8, 32), (2, 8), (4, 64), (64, 8), (16, 16)])
def test_one_bit_anywhere_makes_a_word_non_zero(play, lanes, word_bits):
    everything = (1 << lanes) - 1
    rows, expected = [{"words": [0] * lanes, "keep": everything}], [0]
    for lane in range(lanes):
        for bit in range(word_bits):
            rows.append({"words": [1 << bit if i == lane else 0 for i in range(lanes)]})
            expected.append(1 << lane)
    seen = play(MaskGenerator(lanes, word_bits), rows, ["mask"], clocked=False)
    assert seen["mask"] == expected


def test_only_the_all_zero_pattern_is_zero(play):
    special = [0x80000000, 0x00000001, 0x7F800000, 0x7FC00001, 0xFFFFFFFF, 0, 0x3F800000, 0]
    seen = play(MaskGenerator(8, 32), [{"words": special, "keep": 0xFF}], ["mask"], clocked=False)
    assert seen["mask"] == [0b01011111]


def test_words_that_are_not_kept_count_as_zero(play):
    words = [1, 0, 0xFF, 0x80]
    rows = [{"words": words, "keep": keep} for keep in range(16)]
    seen = play(MaskGenerator(4, 8), rows, ["mask"], clocked=False)
    assert seen["mask"] == [keep & 0b1101 for keep in range(16)]
