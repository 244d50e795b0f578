"""The life of jobs that overlap."""

import pytest

from cdma.engine_codes import LINK, Op, Status
from cdma.hdl.engine.common.control import JOBS, JobControl

ERROR = {
    "tag": {"number": 5, "offset": 50},
    "status": int(Status.CRC),
    "where": 77,
    "channel": 2,
    "halts": 0,
}


@pytest.fixture
def control(exchange, small, job, begin):
    """Function that passes jobs through a data path of one later stage.

    The first stage has a job for ``first`` cycles, the second for ``second``; ``rest`` cycles later
    the job has ended. Job ``fails`` meets an error in the second stage, the first time that it is
    there. Gives the answers, the cycles of the starts, and the limits of the jobs that were
    started, which name them.
    """

    def run(jobs, *, first=3, second=5, rest=10, fails=None, abort=None, stalls="never", **values):
        dut = JobControl(small())
        starts, names, ended = [], [], []
        left = {"first": 0, "second": 0}
        has_failed = was_clear = False

        def each(ctx, cycle, passed):
            nonlocal has_failed, was_clear
            if ctx.get(dut.start):
                starts.append(cycle)
                names.append(ctx.get(dut.job.limit))
                left["first"] = first
            left["first"] -= left["first"] > 0
            ctx.set(dut.leaves, left["first"] == 0)
            view = dut.views[0]
            is_viewed = ctx.get(view.valid)
            left["second"] = left["second"] - 1 if left["second"] else second * is_viewed
            moves = is_viewed and left["second"] == 1
            ctx.set(view.next, moves)
            ctx.set(dut.result.valid, moves)
            result = {"stream_bytes": 900, "stripes": 9, "raw_stripes": 3}
            ctx.set(dut.result.payload, result)
            if was_clear:
                ctx.set(dut.found, 0)
                ended.clear()
            was_clear = False
            if moves and ctx.get(view.job.limit) == fails and not has_failed:
                has_failed = True
                ctx.set(dut.found, 1)
                number = ctx.get(view.number)
                ctx.set(dut.error, {**ERROR, "tag": {**ERROR["tag"], "job": number}})
            elif moves and not ctx.get(dut.drains):
                ended.append(cycle + rest)
            # The end of a job that is alone is that all has finished.
            is_event = cycle in ended and not ctx.get(dut.drains) and not ctx.get(dut.alone)
            ctx.set(dut.ended, is_event)
            ctx.set(dut.finished, not left["second"] and not any(at > cycle for at in ended))
            was_clear = ctx.get(dut.clear)
            ctx.set(dut.abort, abort is not None and abort <= cycle < abort + 5)

        sends = {"i": [job(limit=k, **fields) for k, fields in enumerate(jobs)]}
        driver = begin(dut, each, **values)
        passed = exchange(
            dut, sends, {"o": len(jobs)}, stalls={"o": stalls}, each=driver, cycles=5000
        )
        return passed["o"].payloads, starts, names

    return run


def test_jobs_overlap(control):
    done, starts, _ = control([{}] * 4, rest=100)
    assert [each["status"] for each in done] == [Status.OK] * 4
    for each in done:
        assert (each["stripe"], each["stream_bytes"], each["raw_stripes"]) == (9, 900, 3)
        assert (each["where"], each["channel"]) == (0, LINK)
    assert starts[-1] - starts[0] < 20


@pytest.mark.parametrize("stalls", ["never", pytest.param("bernoulli:0.3", marks=pytest.mark.slow)])
def test_more_jobs_than_fit(control, stalls):
    done, starts, names = control([{}] * (2 * JOBS + 3), rest=300, stalls=stalls)
    assert {each["status"] for each in done} == {Status.OK}
    assert names == list(range(2 * JOBS + 3))
    assert starts[JOBS - 1] < 300 < starts[JOBS]


@pytest.mark.parametrize("fails", [0, 2, 5])
@pytest.mark.parametrize("rest", [pytest.param(1, marks=pytest.mark.slow), 40])
def test_jobs_behind_an_error_are_started_again(control, fails, rest):
    done, _, names = control([{}] * 6, fails=fails, rest=rest, error_bytes=50)
    statuses = [Status.OK] * 6
    statuses[fails] = Status.CRC
    assert [each["status"] for each in done] == statuses
    failed = done[fails]
    assert (failed["stripe"], failed["where"], failed["stream_bytes"]) == (5, 77, 50)
    assert failed["channel"] == 2
    assert names.count(fails) == 1
    assert names[len(names) - 5 + fails :] == list(range(fails + 1, 6))


@pytest.mark.parametrize("limit", [0, 4 * 3072])
@pytest.mark.parametrize("behind", [0, 2])
def test_a_copy_that_may_not_fit(control, limit, behind):
    copy = {"op": int(Op.COPY_OUT), "stripes": 12 if limit == 0 else 0, "row_bytes": 3072}
    done, _, names = control([{}] * behind + [copy, {}])
    fits = limit != 0
    assert done[behind]["status"] == (Status.OK if fits else Status.OVERFLOW)
    assert (behind in names) == fits
    if not fits:
        found = done[behind]
        assert (found["stripe"], found["stream_bytes"], found["where"]) == (0, 4 * 3072, behind)
    assert done[-1]["status"] == Status.OK


def test_verify_has_the_data_path_for_itself(control):
    jobs = [{}, {"op": int(Op.VERIFY)}, {}]
    done, starts, _ = control(jobs, rest=50)
    assert [each["status"] for each in done] == [Status.OK] * 3
    assert starts[1] - starts[0] > 50
    assert starts[2] - starts[1] > 5


@pytest.mark.parametrize("cycle", [3, 8, 20])
@pytest.mark.parametrize("fails", [None, 0])
def test_abort(control, cycle, fails):
    """All jobs that were started are aborted, the others start when the abort has ended."""
    done, *_ = control([{}] * 8, first=6, rest=40, abort=cycle, fails=fails)
    statuses = [each["status"] for each in done]
    if statuses[0] == Status.CRC:
        done, statuses = done[1:], statuses[1:]
    number = statuses.count(Status.ABORTED)
    assert number >= 1 or fails == 0
    assert statuses == [Status.ABORTED] * number + [Status.OK] * (len(done) - number)
    for each in done[:number]:
        assert (each["where"], each["channel"]) == (0, LINK)


def test_a_job_is_not_taken_during_an_abort(control):
    done, starts, _ = control([{}], abort=0)
    assert done[0]["status"] == Status.OK
    assert starts[0] >= 5


def test_cycles(control):
    done, *_ = control([{}], first=3, second=5, rest=10)
    assert 15 <= done[0]["cycles"] <= 25
