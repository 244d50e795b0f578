"""Tags and addresses of bursts until they are answered."""

import pytest

from cdma.engine_codes import LINK, Status
from cdma.hdl.engine.offload.write.log import BurstLog


@pytest.mark.parametrize("delay", [0, 5])
def test_the_first_error_is_reported(simulate, delay):
    """Bursts 2, 3 and 7 fail; 3 is answered while the report waits."""
    dut = BurstLog(32, 8, Status.HOST_SLVERR)
    resps = [0, 0, 3, 2, 0, 0, 0, 2]

    async def bench(ctx):
        reports, held = [], 0
        for cycle in range(60):
            burst, answer = cycle, cycle - 12
            ctx.set(dut.tags, burst < 8)
            ctx.set(dut.tag, {"job": 1, "number": burst, "offset": 10 * burst})
            ctx.set(dut.issues, 2 <= burst < 10)
            ctx.set(dut.address, 512 * (burst - 2))
            is_answer = 0 <= answer < 7 or cycle == 40
            ctx.set(dut.answers, is_answer)
            ctx.set(dut.resp, resps[7 if cycle == 40 else answer] if is_answer else 0)
            held = held + 1 if ctx.get(dut.o_error.valid) else 0
            ctx.set(dut.o_error.ready, held > delay)
            if held > delay:
                report = dut.o_error.payload
                reports.append(
                    (
                        ctx.get(report.tag.number),
                        ctx.get(report.tag.offset),
                        ctx.get(report.status),
                        ctx.get(report.where),
                        ctx.get(report.channel),
                        ctx.get(report.halts),
                    )
                )
            await ctx.tick()
        return reports, ctx.get(dut.is_behind)

    expected = [
        (2, 20, Status.HOST_DECERR, 1024, LINK, 1),
        (7, 70, Status.HOST_SLVERR, 7 * 512, LINK, 1),
    ]
    if delay == 0:  # with its report taken at once, the next error is one more
        expected.insert(1, (3, 30, Status.HOST_SLVERR, 3 * 512, LINK, 1))
        expected = [each for each in expected if each[0] != 3]
    assert simulate(dut, bench) == (expected, 0)
