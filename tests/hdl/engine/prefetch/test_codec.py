"""Stripes through the decompressor or around it, in order, with their errors."""

import numpy as np
import pytest

from cdma.engine_codes import Status
from cdma.golden import compress
from cdma.hdl.engine.prefetch.codec import StripeDecompressor


@pytest.mark.parametrize("stall", [pytest.param("never", marks=pytest.mark.slow), "bernoulli:0.7"])
def test_beats_and_errors(exchange, small, noise, rows_of, stall):
    config = small()
    sizes = [256, 1, 40, 100, 33, 64]
    raws = [0, 1, 0, 1, 0, 0]
    stripes = [noise(n, 0.5, seed=k) for k, n in enumerate(sizes)]
    rows, commands = [], []
    for number, (words, raw) in enumerate(zip(stripes, raws, strict=True)):
        coded = np.asarray(compress(words, config.format)).view("<u4")
        coded = coded[:-1] if number == 4 else coded  # truncated
        rows += rows_of(words if raw else coded, config)
        tag = {"job": 1, "slot": number}
        commands.append({"words": len(words), "raw": raw, "tag": tag})
    dut = StripeDecompressor(config)
    beats = sum(-(-n // config.lanes) for n in sizes)
    passed = exchange(
        dut,
        {"i_stripe": commands, "i": rows},
        {"o": beats, "o_error": 1},
        stalls={"o": stall, "i": stall},
    )
    found, ends = [], []
    for beat in passed["o"].payloads:
        found += beat["words"][: beat["keep"].bit_length() // 4]
        if beat["last"]:
            ends.append(len(found))
    assert np.diff([0, *ends]).tolist() == sizes
    starts = [0, *ends[:-1]]
    for number, (first, last) in enumerate(zip(starts, ends, strict=True)):
        if number != 4:
            assert found[first:last] == stripes[number].tolist()
    (report,) = passed["o_error"].payloads
    assert report["status"] == Status.TRUNCATED
    assert report["tag"] == {"job": 1, "slot": 4}
    assert 0 < report["where"] < 200
