"""Stripes through a compressor that counts late, or around it; sizes of both."""

import numpy as np
import pytest

from cdma.golden import zvcplus
from cdma.hdl.engine.common.errors import ReadError
from cdma.hdl.engine.offload.stream_codec import StreamStripeCompressor


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


def _stripe(count, density, seed):
    rng = np.random.default_rng(seed)
    words = rng.standard_normal(count).astype("f4").view("u4").copy()
    words[rng.random(count) >= density] = 0
    return words


@pytest.mark.parametrize("stall", [pytest.param("never", marks=pytest.mark.slow), "bernoulli:0.7"])
def test_rows_statuses_and_refunds(exchange, begin, small, stall):
    config = small(lanes=None, codec="zvcplus")
    sizes = [256, 256, 1, 40, 1, 33, 7, 256]
    raws = [0, 1, 1, 0, 1, 0, 0, 1]
    stripes = [_stripe(n, 0.3 + 0.2 * (n % 4), seed=k) for k, n in enumerate(sizes)]
    stripes[1][:] = np.random.default_rng(9).integers(1, 1 << 32, 256)  # longer when coded
    dut = StreamStripeCompressor(config)
    beats = [b for w, raw in zip(stripes, raws, strict=True) for b in _beats(w, config, raw)]
    rows, statuses, refund = [], [], 0

    def watch(ctx, cycle, passed):
        nonlocal refund
        if ctx.get(dut.o_valid):
            row = {name: ctx.get(dut.o[name]) for name in ("count", "missing", "last")}
            rows.append(row | {"words": [ctx.get(dut.o.words[k]) for k in range(config.lanes)]})
        if ctx.get(dut.status_valid):
            status = dut.status
            ended = sum(row["last"] for row in rows)
            assert ended > len(statuses), "a status comes with a stripe's last row, or behind"
            statuses.append(tuple(ctx.get(status[name]) for name in ("raw", "exceeds", "error")))
        refund += ctx.get(dut.refund)

    exchange(dut, {"i": beats}, {}, stalls=stall, each=begin(dut, watch), idle=120)
    ends = [k for k, row in enumerate(rows) if row["last"]]
    starts = [0, *[k + 1 for k in ends[:-1]]]
    assert len(ends) == len(statuses) == len(stripes)
    for k, (first, last) in enumerate(zip(starts, ends, strict=True)):
        coded = zvcplus.compress(stripes[k], config.format).tobytes()
        data = stripes[k].tobytes() if raws[k] else coded
        part = rows[first : last + 1]
        found = np.array([row["words"] for row in part], "<u4").tobytes()
        assert found[: len(data)] == data
        assert not any(found[len(data) :]), "zeros behind the end"
        assert sum(4 * row["count"] - row["missing"] for row in part) == len(data)
        assert not any(row["missing"] for row in part[:-1])
        assert statuses[k] == (
            raws[k],
            int(len(coded) > stripes[k].nbytes),
            ReadError.DECERR if len(stripes[k]) == 1 else 0,
        )
    charged = sum(-(-size // config.lanes) + config.growth_beats for size in sizes)
    assert refund == config.lanes * (charged - len(rows))
