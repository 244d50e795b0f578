"""The life of a job."""

import pytest

from cdma.engine_codes import LINK, Op, Status
from cdma.hdl.engine.common.control import JobControl

ERROR = {
    "tag": {"number": 5, "offset": 50},
    "status": int(Status.CRC),
    "where": 77,
    "channel": 2,
    "halts": 0,
}


@pytest.fixture
def control(exchange, small, job, begin):
    """Function that passes jobs through; each takes ``cycles`` from its start."""

    def run(jobs, *, cycles=10, abort=None, started=None, **values):
        dut = JobControl(small())
        starts, left = [], 0

        def each(ctx, cycle, passed):
            nonlocal left
            left = cycles if ctx.get(dut.start) else max(left - 1, 0)
            if ctx.get(dut.start):
                starts.append(cycle)
            ctx.set(dut.finished, left == 0)
            ctx.set(dut.abort, abort is not None and abort <= cycle < abort + 5)

        values = {"stripes": 9, "stream_bytes": 900, "raw_stripes": 3, **values}
        sends = {"i": [job(**fields) for fields in jobs]}
        passed = exchange(dut, sends, {"o": len(jobs)}, each=begin(dut, each, **values))
        assert len(starts) == (len(jobs) if started is None else started)
        return passed["o"].payloads

    return run


def test_a_job(control):
    first, second = control([{"op": int(Op.OFFLOAD)}] * 2)
    assert first["status"] == Status.OK
    assert (first["stripe"], first["stream_bytes"], first["raw_stripes"]) == (9, 900, 3)
    assert (first["where"], first["channel"]) == (0, LINK)
    assert first["cycles"] == second["cycles"] == 11


def test_an_error(control):
    (done,) = control([{}], found=1, error=ERROR, error_bytes=50)
    assert (done["status"], done["stripe"], done["where"]) == (Status.CRC, 5, 77)
    assert (done["stream_bytes"], done["channel"]) == (50, 2)


@pytest.mark.parametrize("limit", [4 * 3072 - 4, 4 * 3072])
def test_a_copy_that_may_not_fit(control, limit):
    fits = limit == 4 * 3072
    fields = {"op": int(Op.COPY_OUT), "rows": 4, "row_bytes": 3072, "limit": limit}
    (done,) = control([fields], started=int(fits))
    assert done["status"] == (Status.OK if fits else Status.OVERFLOW)
    if not fits:
        assert (done["stripe"], done["stream_bytes"], done["where"]) == (0, 4 * 3072, limit)


@pytest.mark.parametrize("cycle", [3, 8])
def test_abort(control, cycle):
    (done,) = control([{}], cycles=20, abort=cycle)
    assert (done["status"], done["where"], done["channel"]) == (Status.ABORTED, 0, LINK)


def test_a_job_is_not_taken_during_an_abort(control):
    (done,) = control([{}], abort=0)
    assert done["status"] == Status.OK
