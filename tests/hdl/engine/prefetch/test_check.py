"""CRCs compared with the index."""

import zlib

import pytest

from cdma.engine_codes import Status
from cdma.hdl.engine.prefetch.check import CrcCheck


@pytest.mark.parametrize("bad", [None, 0, 2])
def test_check(exchange, small, rows_of, noise, bad):
    config = small()
    stripes = [noise(n, seed=n) for n in (9, 1, 20, 4)]
    rows = [row for words in stripes for row in rows_of(words, config)]
    expected = [
        {
            "tag": {"job": 1, "slot": k},
            "has_crc": int(k != 3),
            "crc": zlib.crc32(words.tobytes()) ^ (k == bad) if k != 3 else 0,
        }
        for k, words in enumerate(stripes)
    ]
    sends = {"i": rows, "i_expected": expected}
    passed = exchange(CrcCheck(config), sends, {"o_error": bad is not None})
    for report in passed["o_error"].payloads:
        assert report["status"] == Status.CRC
        assert report["tag"] == {"job": 1, "slot": bad}
        assert report["where"] == 0
