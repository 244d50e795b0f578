"""Answers: their cycles, and what they say of results, errors and refusals."""

import pytest

from cdma.engine_codes import LINK, Status
from cdma.hdl.engine.common.answers import JobAnswers

RESULT = {"stream_bytes": 900, "stripes": 9, "raw_stripes": 3}
ERROR = {
    "tag": {"number": 5, "offset": 50},
    "status": int(Status.CRC),
    "where": 77,
    "channel": 2,
    "halts": 0,
}
REFUSAL = {"total": 4000, "limit": 3000}


@pytest.fixture
def answer(simulate):
    """Function that asks for one answer; gives its fields, and the cycles until it is valid."""

    def run(*, now=0, taken=None, **kinds):
        dut = JobAnswers(48, 4)

        async def bench(ctx):
            ctx.set(dut.error, ERROR)
            ctx.set(dut.error_bytes, 50)
            ctx.set(dut.refusal, REFUSAL)
            if taken is not None:
                ctx.set(dut.i.valid, 1)
                ctx.set(dut.i.payload, {"result": RESULT, "taken": taken})
            await ctx.tick()
            ctx.set(dut.i.valid, 0)
            ctx.set(dut.now, now)
            ctx.set(dut.begin, 1)
            for name, value in kinds.items():
                ctx.set(getattr(dut, name), value)
            cycles = 0
            while not ctx.get(dut.o.valid):
                await ctx.tick()
                ctx.set(dut.begin, 0)
                ctx.set(dut.now, 0)
                cycles += 1
            found = {name: ctx.get(dut.o.payload[name]) for name, _ in dut.o.payload.shape()}
            ctx.set(dut.o.ready, 1)
            await ctx.tick()
            assert ctx.get(dut.idle)
            assert not ctx.get(dut.o.valid)
            return found, cycles

        return simulate(dut, bench)

    return run


@pytest.mark.parametrize(
    ("now", "taken"), [(7, 2), (0x1_0000, 1), (0x100_0000, 0x0102_0304), (3, 0xFFFF_FFFE)]
)
def test_cycles(answer, now, taken):
    found, cycles = answer(now=now, taken=taken)
    assert found["cycles"] == (now - taken) % (1 << 32)
    assert cycles == 5


def test_results(answer):
    found, _ = answer(taken=0)
    assert (found["stripe"], found["stream_bytes"], found["raw_stripes"]) == (9, 900, 3)
    assert (found["status"], found["where"], found["channel"]) == (Status.OK, 0, LINK)


@pytest.mark.parametrize("taken", [None, 0])
def test_an_error(answer, taken):
    found, _ = answer(taken=taken, has_failed=1)
    assert (found["stripe"], found["stream_bytes"]) == (5, 50)
    assert (found["status"], found["where"], found["channel"]) == (Status.CRC, 77, 2)


def test_an_abort_beats_an_error(answer):
    found, _ = answer(has_failed=1, was_aborted=1)
    assert (found["status"], found["where"], found["channel"]) == (Status.ABORTED, 0, LINK)
    assert (found["stripe"], found["stream_bytes"]) == (5, 50)


def test_a_refusal(answer):
    found, _ = answer(was_refused=1)
    assert (found["status"], found["where"], found["channel"]) == (Status.OVERFLOW, 3000, LINK)
    assert (found["stripe"], found["stream_bytes"], found["raw_stripes"]) == (0, 4000, 0)
