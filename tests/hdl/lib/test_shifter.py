"""Arrays shifted by words."""

import pytest
from amaranth.hdl import Cat

from cdma.hdl.lib.shifter import rotate_down, rotate_up, shift_down

WORDS, BITS = 5, 4


def _split(value, count=WORDS):
    return [value >> BITS * k & 15 for k in range(count)]


def test_shift_down(compute):
    def shifted(m, argument):
        words = [argument[BITS * k : BITS * (k + 1)] for k in range(WORDS)]
        return Cat(shift_down(m, words, argument[BITS * WORDS :], "down"))

    inputs = [0x54321 | amount << BITS * WORDS for amount in range(8)]
    for amount, found in enumerate(compute(shifted, BITS * WORDS + 3, inputs)):
        assert _split(found) == (_split(0x54321)[amount:] + [0] * WORDS)[:WORDS]


@pytest.mark.parametrize(("rotate", "sign"), [(rotate_up, -1), (rotate_down, 1)])
def test_rotations_are_counted_around(compute, rotate, sign):
    def rotated(m, argument):
        words = [argument[BITS * k : BITS * (k + 1)] for k in range(4)]
        return Cat(rotate(m, words, argument[BITS * 4 :], "rotated"))

    inputs = [0x4321 | amount << BITS * 4 for amount in range(4)]
    for amount, found in enumerate(compute(rotated, BITS * 4 + 2, inputs)):
        expected = [_split(0x4321, 4)[(k + sign * amount) % 4] for k in range(4)]
        assert _split(found, 4) == expected
