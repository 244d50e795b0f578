"""The stripes of a job: rows, pitch, a partial end."""

import pytest

from cdma.hdl.engine.common.stripes import StripeSequencer


def _expected(config, device, rows, row_bytes, pitch):
    found = []
    for row in range(rows):
        for first in range(0, row_bytes, config.stripe_bytes):
            size = min(config.stripe_bytes, row_bytes - first)
            found.append((device + row * pitch + first, size))
    return [
        {"address": address, "bytes": size, "job": 3, "number": number, "raw": 0}
        for number, (address, size) in enumerate(found)
    ]


@pytest.mark.parametrize(
    ("rows", "row_bytes", "pitch"),
    [
        (1, 4, 0),
        (1, 1024, 0),
        (1, 1028, 0),
        (1, 5000, 0),
        (3, 1024, 4096),
        (4, 3072, -8192),
        (5, 2048, 1 << 22),
    ],
    ids=["word", "stripe", "one_word_more", "partial_end", "pitch", "negative_pitch", "far"],
)
@pytest.mark.parametrize("stall", ["never", "bernoulli:0.5"])
def test_stripes(exchange, begin, job, small, rows, row_bytes, pitch, stall):
    config, device = small(), 0x40000
    dut = StripeSequencer(config)
    expected = _expected(config, device, rows, row_bytes, pitch)
    lasts = []

    def watch(ctx, cycle, passed):
        ctx.set(dut.load, cycle == 0)
        if ctx.get(dut.o.valid) and ctx.get(dut.last):
            lasts.append(len(passed["o"].cycles))

    fields = job(rows=rows, device=device, row_bytes=row_bytes, pitch=pitch)
    each = begin(dut, watch, first=fields, job=fields, number=3)
    passed = exchange(dut, {}, {"o": len(expected)}, stalls=stall, each=each)
    assert passed["o"].payloads == expected
    assert set(lasts) == {len(expected) - 1}


def test_stop(exchange, begin, job, small):
    dut = StripeSequencer(small())

    def stop(ctx, cycle, passed):
        ctx.set(dut.load, cycle == 0)
        ctx.set(dut.stop, cycle >= 7)

    fields = job(row_bytes=1 << 30)
    each = begin(dut, stop, first=fields, job=fields, number=3)
    passed = exchange(dut, {}, {"o": 4}, each=each)
    assert [item["number"] for item in passed["o"].payloads] == [0, 1, 2, 3]


@pytest.mark.slow
def test_more_bytes_than_32_bits_count(exchange, begin, job, small):
    config, device = small(stripe_bytes=65536), (1 << 40) + 65536
    size = (1 << 32) + 4
    dut, stripes = StripeSequencer(config), (1 << 16) + 1
    fields = job(device=device, row_bytes=size)

    def load(ctx, cycle, passed):
        ctx.set(dut.load, cycle == 0)

    each = begin(dut, load, first=fields, job=fields, number=3)
    passed = exchange(dut, {}, {"o": stripes}, each=each, cycles=3 * stripes)
    found = passed["o"].payloads
    assert [item["number"] for item in found] == list(range(stripes))
    assert [item["address"] - device for item in found] == list(range(0, size, 65536))
    assert sum(item["bytes"] for item in found) == size
