"""Which of several errors a job reports."""

import itertools

import pytest

from cdma.engine_codes import Status
from cdma.hdl.engine.common.errors import ErrorCollector, ErrorSlot

#: Within a stripe, the highest rank first.
ORDER = (
    Status.INDEX,
    Status.HOST_SLVERR,
    Status.DEVICE_DECERR,
    Status.CRC,
    Status.TRUNCATED,
    Status.OVERFLOW,
)


def _report(number, status, halts=0):
    tag = {"number": number, "offset": 100 * number}
    return {"tag": tag, "status": int(status), "where": 7, "channel": 1, "halts": halts}


def _collect(simulate, reports):
    """Reports of two sources, one a cycle from each."""
    dut = ErrorCollector(2)

    async def bench(ctx):
        left = [list(each) for each in reports]
        while any(left):
            for port, items in zip(dut.i, left, strict=True):
                ctx.set(port.valid, bool(items))
                if items:
                    ctx.set(port.payload, items[0])
            ready = [ctx.get(port.ready) for port in dut.i]
            await ctx.tick()
            for items, is_taken in zip(left, ready, strict=True):
                del items[: int(is_taken)]
        for port in dut.i:
            ctx.set(port.valid, 0)
        await ctx.tick()
        error = dut.error
        return {
            "found": ctx.get(dut.found),
            "number": ctx.get(error.tag.number),
            "status": ctx.get(error.status),
            "above": ctx.get(dut.halt.above),
            "halt": ctx.get(dut.halt.number),
            "offset": ctx.get(dut.halt_offset),
        }

    return simulate(dut, bench)


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(range(len(ORDER)), 2)))
def test_rank_within_a_stripe(simulate, first, second):
    found = _collect(simulate, [[_report(3, ORDER[first])], [_report(3, ORDER[second])]])
    assert found["status"] == ORDER[min(first, second)]


def test_the_lowest_stripe_counts(simulate):
    reports = [[_report(9, Status.INDEX), _report(11, Status.INDEX)], [_report(4, Status.OVERFLOW)]]
    found = _collect(simulate, reports)
    assert (found["found"], found["number"], found["status"]) == (1, 4, Status.OVERFLOW)
    assert not found["above"]


def test_the_lowest_that_halts(simulate):
    reports = [
        [_report(9, Status.DEVICE_SLVERR, 1), _report(6, Status.HOST_SLVERR, 1)],
        [_report(2, Status.CRC), _report(8, Status.HOST_DECERR, 1)],
    ]
    found = _collect(simulate, reports)
    assert (found["number"], found["above"], found["halt"], found["offset"]) == (2, 1, 6, 600)


def test_a_slot_keeps_the_first(simulate):
    dut = ErrorSlot()

    async def bench(ctx):
        ctx.set(dut.valid, 1)
        for number in (5, 6, 7):
            ctx.set(dut.report, _report(number, Status.CRC))
            await ctx.tick()
        ctx.set(dut.valid, 0)
        first = ctx.get(dut.o.payload.tag.number)
        ctx.set(dut.o.ready, 1)
        await ctx.tick()
        return first, ctx.get(dut.o.valid)

    assert simulate(dut, bench) == (5, 0)
