"""Stripes through the compressor or around it, in order, with their accounts."""

import numpy as np
import pytest

from cdma.golden import compress
from cdma.hdl.engine.common.errors import ReadError
from cdma.hdl.engine.offload.codec import StripeCompressor


def _beats(words, config, raw):
    found = []
    for first in range(0, len(words), config.lanes):
        part = [int(word) for word in words[first : first + config.lanes]]
        last = first + config.lanes >= len(words)
        found.append(
            {
                "words": part + [0] * (config.lanes - len(part)),
                "count": len(part),
                "last": int(last),
                "raw": raw,
                "error": ReadError.DECERR if last and len(words) == 1 else 0,
            }
        )
    return found


@pytest.mark.parametrize("stall", [pytest.param("never", marks=pytest.mark.slow), "bernoulli:0.7"])
def test_rows_statuses_and_refunds(exchange, begin, small, noise, words_of, stall):
    config = small()
    sizes = [256, 1, 40, 256, 33, 7]
    raws = [0, 1, 0, 1, 1, 0]
    stripes = [noise(n, 0.3 + 0.2 * (n % 4), seed=k) for k, n in enumerate(sizes)]
    stripes[3][:] = 5  # longer when coded
    dut = StripeCompressor(config)
    beats = [b for w, raw in zip(stripes, raws, strict=True) for b in _beats(w, config, raw)]
    rows, statuses, refund = [], [], 0

    def watch(ctx, cycle, passed):
        nonlocal refund
        if ctx.get(dut.o_valid):
            words = [ctx.get(dut.o.words[k]) for k in range(config.lanes)]
            rows.append(
                {"words": words, "count": ctx.get(dut.o.count), "last": ctx.get(dut.o.last)}
            )
        if ctx.get(dut.status_valid):
            status = dut.status
            statuses.append(tuple(ctx.get(status[name]) for name in ("raw", "exceeds", "error")))
        refund += ctx.get(dut.refund)

    exchange(dut, {"i": beats}, {}, stalls=stall, each=begin(dut, watch), idle=80)
    expected, coded_sizes = [], []
    for words, raw in zip(stripes, raws, strict=True):
        coded = compress(words, config.format)
        coded_sizes.append(len(coded))
        expected.append(words.tolist() if raw else np.asarray(coded).view("<u4").tolist())
    ends = [k for k, row in enumerate(rows) if row["last"]]
    starts = [0, *[k + 1 for k in ends[:-1]]]
    assert [words_of(rows[a : b + 1]) for a, b in zip(starts, ends, strict=True)] == expected
    for status, raw, words, size in zip(statuses, raws, stripes, coded_sizes, strict=True):
        assert status == (raw, int(size > words.nbytes), ReadError.DECERR if len(words) == 1 else 0)
    # What was charged and will need no room: the beats' words less those that go, masks apart.
    masks = [-(-len(words) // 32) for words, raw in zip(stripes, raws, strict=True) if not raw]
    assert refund == config.lanes * len(beats) + sum(masks) - sum(map(len, expected))
