"""CRC-32 as zlib computes it."""

import zlib

import pytest

from cdma.hdl.engine.common.crc import StripeCrc


@pytest.mark.parametrize(
    ("lanes", "bits"),
    [
        (2, 32),
        pytest.param(8, 8, marks=pytest.mark.slow),
        pytest.param(4, 64, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("stall", [pytest.param("never", marks=pytest.mark.slow), "bernoulli:0.5"])
def test_crcs(exchange, small, rows_of, noise, lanes, bits, stall):
    config = small(lanes=lanes, word_bits=bits)
    stripes = [
        noise(count, bits=bits, seed=count) for count in (1, lanes - 1, lanes, 3 * lanes + 1)
    ]
    rows = [row for words in stripes for row in rows_of(words, config)]
    passed = exchange(StripeCrc(config), {"i": rows}, {"o": len(stripes)}, stalls=stall)
    assert passed["o"].payloads == [zlib.crc32(words.tobytes()) for words in stripes]


@pytest.mark.parametrize("type_", ["fp32", pytest.param("fp16", marks=pytest.mark.slow)])
def test_stripes_that_end_inside_a_word(exchange, small, rows_of, noise, type_):
    config = small(lanes=None, codec="zvcplus", type=type_)
    size = config.word_bytes
    stripes = [
        (noise(count, bits=config.word_bits, seed=count), missing)
        for count in (1, config.lanes, 2 * config.lanes + 3)
        for missing in range(size)
    ]
    rows = []
    for words, missing in stripes:
        rows += [row | {"missing": 0} for row in rows_of(words, config)]
        rows[-1]["missing"] = missing
    passed = exchange(StripeCrc(config), {"i": rows}, {"o": len(stripes)}, stalls="bernoulli:0.5")
    expected = [zlib.crc32(words.tobytes()[: words.nbytes - gone]) for words, gone in stripes]
    assert passed["o"].payloads == expected


def test_throughput_of_whole_rows(exchange, small, rows_of, noise):
    config = small()
    rows = rows_of(noise(40), config) + rows_of(noise(20), config)
    passed = exchange(StripeCrc(config), {"i": rows}, {"o": 2})
    assert passed["i"].cycles == list(range(len(rows)))
