"""The index read ahead: one entry for each stripe."""

import pytest

from cdma.hdl.engine.prefetch.entries import EntryReader

BASE = 0x4000


@pytest.mark.parametrize("link_bytes", [8, 32])
@pytest.mark.parametrize(
    ("first", "rows", "row_bytes", "count"),
    [(0, 1, 4, 1), (8, 1, 1028, 2), (24, 5, 4096, 20), (496, 1, 70000, 69)],
)
def test_entries(exchange, begin, small, job, link_bytes, first, rows, row_bytes, count):
    config = small(link_bytes=link_bytes)
    dut = EntryReader(config)
    dut.ar = dut.client.ar
    queue, asked, bursts = [], 0, []

    def memory(address):
        number = (address - BASE - first) // 8
        return (number & 0xFFFFFF) | 2 << 24 | number << 32 if 0 <= number < count else 0

    def each(ctx, cycle, passed):
        nonlocal asked
        for request in passed["ar"].payloads[asked:]:
            asked += 1
            bursts.append(request)
            queue.extend(request["address"] + link_bytes * k for k in range(request["beats"]))
        ctx.set(dut.stop, len(passed["o"].cycles) == count)  # as after the last stripe
        ctx.set(dut.client.r.valid, bool(queue))
        if queue:
            address = queue.pop(0)
            slots = [memory(address + 8 * k) << 64 * k for k in range(link_bytes // 8)]
            ctx.set(dut.client.r.payload, {"data": sum(slots), "resp": 0, "last": 0})

    low, high = BASE + first, BASE + first + 8 * count
    expected = -(-high // 512) - low // 512
    fields = job(index_address=low, rows=rows, row_bytes=row_bytes)
    stalls = {"o": "bernoulli:0.7"}
    receives = {"ar": expected, "o": count}
    passed = exchange(dut, {}, receives, stalls=stalls, each=begin(dut, each, job=fields))
    assert [entry["bytes"] for entry in passed["o"].payloads] == list(range(count))
    assert [entry["crc"] for entry in passed["o"].payloads] == list(range(count))
    assert {entry["has_crc"] for entry in passed["o"].payloads} == {1}
    for request in bursts:
        assert request["address"] + link_bytes * request["beats"] - link_bytes < high
        assert request["address"] + link_bytes > low
