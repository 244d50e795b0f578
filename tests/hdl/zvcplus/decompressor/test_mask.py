"""Masks out of their flags and nibbles, against sums bit by bit."""

from itertools import accumulate
from operator import xor

import pytest

from cdma.hdl.zvcplus.decompressor.mask import MaskDecoder


def decoded(flags: int, nibbles: list[int], groups: int, *, differences: bool, dense: bool) -> int:
    if dense:
        return (1 << 4 * groups) - 1
    left = iter(nibbles)
    coded = [next(left) if flags >> g & 1 else 0 for g in range(groups)]
    bits = [nibble >> b & 1 for nibble in coded for b in range(4)]
    bits = list(accumulate(bits, xor)) if differences else bits
    return sum(bit << place for place, bit in enumerate(bits))


@pytest.mark.parametrize(
    "groups", [8, *(pytest.param(each, marks=pytest.mark.slow) for each in (16, 32))]
)
def test_masks_are_spread_and_added_up(play, rng, groups):
    cases = []
    for number in range(150):
        flags = int(rng.integers(1 << groups)) if number else (1 << groups) - 1
        nibbles = rng.integers(16, size=groups).tolist()
        dense = number % 10 == 9  # then the mask is not coded
        cases.append((flags, nibbles, bool(number % 2) and not dense, dense))
    rows = []
    for flags, nibbles, differences, dense in cases:
        body = sum(nibble << 4 * place for place, nibble in enumerate(nibbles))
        row = {"flags": flags, "body": body, "differences": differences, "dense": dense}
        rows += [row | {"load": 0}, {"load": 1}, {"load": 0}]
    seen = play(MaskDecoder(groups), rows, ["mask", "counts"])
    masks = [
        decoded(flags, nibbles, groups, differences=differences, dense=dense)
        for flags, nibbles, differences, dense in cases
    ]
    assert seen["mask"][2::3] == masks
    assert seen["counts"][2::3] == [
        [(mask >> 4 * group & 15).bit_count() for group in range(groups)] for mask in masks
    ]


def test_groups_are_refused():
    with pytest.raises(ValueError, match=r"^Nibbles of a mask must be 2, 4, 8, 16 or 32, not 12$"):
        MaskDecoder(12)
