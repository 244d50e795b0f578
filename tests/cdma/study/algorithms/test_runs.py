"""Run-length sizes are those of encoders whose decoders give the words back."""

import numpy as np
import pytest

from cdma.golden.zvc.words import to_words
from cdma.study.algorithms.runs import EyerissRunLength, RunLength, Runs
from cdma.study.chunks import PIECE_BYTES, chunks


def encode_rl(words):
    """Token by token, as the docstring of RunLength has it."""
    stream = bytearray()
    at = 0
    while at < len(words):
        is_value = bool(words[at])
        end = at
        while end < len(words) and bool(words[end]) == is_value and end - at < 128:
            end += 1
        stream.append(is_value << 7 | end - at - 1)
        if is_value:
            stream += words[at:end].tobytes()
        at = end
    return bytes(stream)


def decode_rl(stream, dtype):
    words = []
    at = 0
    while at < len(stream):
        token, at = stream[at], at + 1
        length = (token & 0x7F) + 1
        if token >> 7:
            size = length * dtype.itemsize
            words += np.frombuffer(stream[at : at + size], dtype).tolist()
            at += size
        else:
            words += [0] * length
    return np.array(words, dtype)


def encode_eyeriss(words):
    """Pair by pair, as the docstring of EyerissRunLength has it."""
    value_bits = 8 * words.itemsize
    bits, run = [], 0

    def put(run, value):
        bits.append(f"{run:05b}{value:0{value_bits}b}")

    for word in words.tolist():
        if word or run == 31:
            put(run, word)
            run = 0
        else:
            run += 1
    if run:
        put(run - 1, 0)
    text = "".join(bits)
    text += "0" * (-len(text) % 8)
    return bytes(int(text[at : at + 8], 2) for at in range(0, len(text), 8))


def decode_eyeriss(stream, count, dtype):
    text = "".join(f"{byte:08b}" for byte in stream)
    pair = 5 + 8 * dtype.itemsize
    words = []
    for at in range(0, len(text), pair):
        if len(words) == count:  # what fills the last byte
            break
        words += [0] * int(text[at : at + 5], 2) + [int(text[at + 5 : at + pair], 2)]
    return np.array(words, dtype)


def sized(sizer, array):
    for words in chunks(array, PIECE_BYTES):
        sizer.update(words)
    return sizer.finish()


def test_rl_is_the_size_of_what_decodes(array):
    words = to_words(array)
    stream = encode_rl(words)
    np.testing.assert_array_equal(decode_rl(stream, words.dtype), words)
    assert sized(RunLength(words.itemsize), array) == len(stream)


def test_eyeriss_is_the_size_of_what_decodes(array):
    words = to_words(array)
    stream = encode_eyeriss(words)
    np.testing.assert_array_equal(decode_eyeriss(stream, words.size, words.dtype), words)
    assert sized(EyerissRunLength(words.itemsize), array) == len(stream)


@pytest.mark.parametrize("cut", range(1, 9))
def test_runs_are_the_same_however_they_are_cut(cut):
    words = np.array([0, 0, 1, 1, 1, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1])
    runs = Runs()
    zeros, values = [], []
    for first in range(0, len(words), cut):
        ended = runs.update(words[first : first + cut])
        zeros += ended[0].tolist()
        values += ended[1].tolist()
    assert zeros == [2, 1, 4, 3]
    assert values == [3, 1, 2]
    assert runs.finish() == (0, 2)
