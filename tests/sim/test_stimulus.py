"""Packets of the stimulus have the cases that they are for."""

import numpy as np
import pytest

from cdma.hdl.zvc.config import Config
from cdma.hdl.zvcplus.config import NAMED
from cdma.hdl.zvcplus.config import Config as PlusConfig
from cdma.sim import stimulus


@pytest.mark.parametrize("config", NAMED.values(), ids=lambda config: config.name)
def test_one_word_of_a_block_is_odd(config):
    """Each place and each bit of the exponent, or of a word of int8, are there; zero exponents of
    words that are not zero too."""
    word, fmt = config.word, config.format
    seen = set()
    for packet in stimulus.odd_word_packets(config):
        fields = packet >> word.mantissa
        for block in fields.reshape(-1, fmt.block_words):
            value, count = np.unique(block, return_counts=True)
            assert sorted(count) == [1, fmt.block_words - 1]
            (place,) = np.flatnonzero(block == value[count == 1])
            seen.add((int(place), int(value[0] ^ value[1])))
        assert not word.is_float or packet.all()
    bits = word.exponent or word.bits
    assert seen == {(p, 1 << b) for p in range(fmt.block_words) for b in range(bits)}
    assert any((packet >> word.mantissa == 0).any() for packet in stimulus.odd_word_packets(config))


def test_blocks_have_each_span_of_exponents_and_number_of_zeros():
    """Behind a block of one exponent, which is near the block or not."""
    config = PlusConfig("fp16")
    word, fmt = config.word, config.format
    seen = set()
    for packet in stimulus.span_packets(config, np.random.default_rng(1)):
        bases, blocks = packet.reshape(2, 2, fmt.block_words).swapaxes(0, 1)
        for base, block in zip(bases, blocks, strict=True):
            before, *exponents = (
                words >> word.mantissa & (1 << word.exponent) - 1
                for words in (base, block[block != 0])
            )
            assert len(set(before)) == 1
            top = int(exponents[0].max())
            span = top - int(exponents[0].min())
            seen.add((int((block == 0).sum()), span, abs(top - int(before[0])) <= 3))
    spans = [1, 2, 3, 4, 7, 8, 15, 16, 31]
    assert {(zeros, span) for zeros, span, _ in seen} == {
        (zeros, span) for zeros in range(config.most_zeros + 2) for span in spans
    }
    assert {near for *_, near in seen} == {False, True}


def test_the_first_codec_looks_for_zeros_only():
    assert not stimulus.odd_word_packets(Config.of(8, 32))
    assert not stimulus.span_packets(Config.of(8, 32), np.random.default_rng(1))
    assert not stimulus.span_packets(PlusConfig("int8"), np.random.default_rng(1))


@pytest.mark.parametrize(
    "name", ["2x8b8-z80-zport", "8x32-z7f800000", "16x16-fold", "2x8b8-ones-z1"]
)
def test_the_words_that_a_format_omits_are_as_frequent_as_zero_elsewhere(name):
    config = Config.parse(name)
    fmt = config.format
    plain = stimulus.packets(config, 1)
    for before, words in zip(plain, stimulus.fed("compressor", plain, config), strict=True):
        is_omitted = words == fmt.zero_value
        if fmt.fold_negative_zero:
            minus = words == 1 << fmt.word_bits - 1
            assert minus.sum() >= is_omitted.sum() // 3
            is_omitted |= minus
        assert is_omitted[before == 0].all()


def test_words_of_a_plain_format_are_left_as_they_are():
    words = stimulus.packets(Config(), 1)
    fed = stimulus.fed("compressor", words, Config())
    assert all(np.array_equal(a, b) for a, b in zip(fed, words, strict=True))
