"""The size of EBPC is that of a slow encoder whose symbols give the words back."""

from itertools import pairwise

import numpy as np
import pytest

from cdma.study.algorithms.ebpc import ExtendedBitPlane


def zeros_stream(words):
    bits, run = "", 0
    for word in [*words, None]:
        if run and (word is None or word or run == 16):
            bits += f"0{run - 1:04b}"
            run = 0
        if word:
            bits += "1"
        elif word is not None:
            run += 1
    return bits


def read_zeros(bits):
    """Whether each word is not zero."""
    marks = []
    while bits:
        if bits[0] == "1":
            marks, bits = [*marks, True], bits[1:]
        else:
            marks, bits = marks + [False] * (int(bits[1:5], 2) + 1), bits[5:]
    return marks


def planes_of(block, width):
    deltas = [(b - a) % (1 << width + 1) for a, b in pairwise(block)]
    return [[delta >> bit & 1 for delta in deltas] for bit in range(width + 1)]


def symbols(block, width):
    """Symbols of the planes of a block, as names with their bits and what a decoder needs."""
    found, run, before = [], 0, [0] * 31
    for plane in [*planes_of(block, width), None]:
        changed = plane and [a ^ b for a, b in zip(plane, before, strict=True)]
        if plane and not any(changed):
            run += 1
            continue
        if run:
            found.append(("run", 2 if run == 1 else 3 + width.bit_length() - 1, run))
            run = 0
        if plane is None:
            break
        ones = [at for at, bit in enumerate(changed) if bit]
        if all(changed) or not any(plane):
            found.append(("all" if all(changed) and any(plane) else "zero", 5, changed))
        elif len(ones) == 1 or (len(ones) == 2 and ones[1] == ones[0] + 1):
            found.append(("few", 10, changed))
        else:
            found.append(("plain", 32, changed))
        before = plane
    return found


def undo(base, found, width):
    """Words of a block from its symbols."""
    planes, before = [], [0] * 31
    for name, _, what in found:
        for _ in range(what if name == "run" else 1):
            if name != "run":
                before = [a ^ b for a, b in zip(before, what, strict=True)]
            planes.append(before)
    words = [base]
    for at in range(31):
        delta = sum(plane[at] << bit for bit, plane in enumerate(planes))
        words.append((words[-1] + delta) % (1 << width))
    return words


@pytest.mark.parametrize("dtype", ["u1", "u2", "u4"])
@pytest.mark.parametrize("density", [0, 0.05, 0.5, 1])
def test_size_is_that_of_streams_that_decode(dtype, density):
    rng, width = np.random.default_rng(3), 8 * np.dtype(dtype).itemsize
    words = (rng.normal(size=500).cumsum() * 20 % (1 << width)).astype(dtype)
    words[rng.random(500) >= density] = 0
    marks = zeros_stream(words.tolist())
    assert read_zeros(marks) == (words != 0).tolist()
    values, bits = words[words != 0].tolist(), 0
    for first in range(0, len(values), 32):
        block = values[first : first + 32]
        block += block[-1:] * (32 - len(block))
        signed = [value - (value >> width - 1 << width) for value in block]
        found = symbols(signed, width)
        assert undo(block[0], found, width) == block
        bits += width + sum(symbol[1] for symbol in found)
    for cut in (500, 77):
        sizer = ExtendedBitPlane(width // 8)
        for first in range(0, 500, cut):
            sizer.update(words[first : first + cut])
        assert sizer.finish() == -(-len(marks) // 8) - (-bits // 8)
