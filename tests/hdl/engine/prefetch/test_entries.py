"""The index read ahead: one entry for each stripe."""

import pytest

from cdma.hdl.engine.prefetch.entries import EntryReader

BASE = 0x4000


@pytest.mark.parametrize("link_bytes", [8, 32])
@pytest.mark.parametrize(
    ("first", "rows", "row_bytes", "count"),
    [
        (0, 1, 4, 1),
        (8, 1, 1028, 2),
        (24, 5, 4096, 20),
        (496, 1, 70000, 69),
        (0, 1, 65536, 64),
        (8, 3, 65536, 192),
    ],
)
@pytest.mark.parametrize("jobs", [1, 3])
def test_entries(exchange, small, job, link_bytes, first, rows, row_bytes, count, jobs):
    """Several jobs have the same index; each is asked for while entries of others wait."""
    config = small(link_bytes=link_bytes)
    dut = EntryReader(config)
    dut.ar = dut.client.ar
    queue, asked, bursts = [], 0, []
    started, given = 0, 0
    low, high = BASE + first, BASE + first + 8 * count

    def memory(address):
        number = (address - low) // 8
        return (number & 0xFFFFFF) | 2 << 24 | number << 32 if 0 <= number < count else 0

    def each(ctx, passed):
        nonlocal asked, started, given
        for request in passed["ar"].payloads[asked:]:
            asked += 1
            bursts.append(request)
            queue.extend(request["address"] + link_bytes * k for k in range(request["beats"]))
        ctx.set(dut.job, fields)
        ctx.set(dut.address, low)
        can = started < jobs and ctx.get(dut.asked)
        ctx.set(dut.start, can)
        started += can
        done = len(passed["o"].cycles)
        # The next job's entries are taken when those of the one before were.
        can = ctx.get(dut.begun) and done == count * given
        ctx.set(dut.next, can)
        given += can
        ctx.set(dut.last, done % count == count - 1)
        ctx.set(dut.client.r.valid, bool(queue))
        if queue:
            address = queue.pop(0)
            slots = [memory(address + 8 * k) << 64 * k for k in range(link_bytes // 8)]
            ctx.set(dut.client.r.payload, {"data": sum(slots), "resp": 0, "last": 0})

    expected = -(-high // 512) - low // 512
    stripes = rows * row_bytes // config.stripe_bytes
    fields = job(index_address=low, rows=rows, row_bytes=row_bytes, stripes=stripes)
    stalls = {"o": "bernoulli:0.7"}
    receives = {"ar": jobs * expected, "o": jobs * count}
    passed = exchange(dut, {}, receives, stalls=stalls, each=each)
    numbers = jobs * list(range(count))
    assert [entry["bytes"] for entry in passed["o"].payloads] == numbers
    assert [entry["crc"] for entry in passed["o"].payloads] == numbers
    assert {entry["has_crc"] for entry in passed["o"].payloads} == {1}
    for request in bursts:
        assert request["address"] + link_bytes * request["beats"] - link_bytes < high
        assert request["address"] + link_bytes > low


@pytest.mark.parametrize("stripes", [1, 64, 200])
def test_the_first_address_comes_two_cycles_after_the_start(simulate, small, job, stripes):
    dut = EntryReader(small(link_bytes=16))

    async def bench(ctx):
        ctx.set(dut.job, job(index_address=BASE, stripes=stripes, row_bytes=4096))
        ctx.set(dut.start, 1)
        for _ in range(2):
            assert not ctx.get(dut.client.ar.valid)
            await ctx.tick()
            ctx.set(dut.start, 0)
        return ctx.get(dut.client.ar.valid), ctx.get(dut.client.ar.payload.beats)

    assert simulate(dut, bench) == (1, min(-(-stripes // 2), 32))


def test_all_is_dropped_after_a_stop(exchange, small, job):
    dut = EntryReader(small(link_bytes=8))
    dut.ar = dut.client.ar
    left, idle = 0, []

    def each(ctx, passed):
        nonlocal left
        cycle = len(idle)
        left += sum(each["beats"] for each in passed["ar"].payloads[len(seen) :])
        seen.extend(passed["ar"].payloads[len(seen) :])
        ctx.set(dut.job, job(index_address=BASE, stripes=80, row_bytes=4096))
        ctx.set(dut.start, cycle == 0)
        ctx.set(dut.stop, cycle > 20)
        ctx.set(dut.client.r.valid, cycle > 30 and left > 0)
        left -= cycle > 30 and left > 0
        idle.append(ctx.get(dut.idle))

    seen = []
    exchange(dut, {}, {"ar": 2, "o": 0}, each=each, idle=150)
    assert not idle[29]
    assert idle[-1]
