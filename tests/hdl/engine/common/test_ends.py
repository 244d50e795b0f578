"""Jobs whose work of several kinds is done at different times."""

import pytest

from cdma.hdl.engine.common.ends import JobEnds

KINDS = 2


@pytest.fixture
def count(simulate):
    """Function that plays one string of digits for each kind, one digit a job: its pieces of work.

    A piece of kind ``k`` is done ``delays[k]`` cycles after it was begun. Gives the cycle in which
    each job's last piece is done, and the cycles with ``ended``.
    """

    def run(jobs, delays, **values):
        dut, due, ended, last = JobEnds([20] * KINDS), [[] for _ in range(KINDS)], [], []

        async def bench(ctx):
            for name, value in values.items():
                ctx.set(getattr(dut, name), value)
            cycle = 0

            async def step(begins=0, mark=0):
                nonlocal cycle
                done = 0
                for kind in range(KINDS):
                    if begins >> kind & 1:
                        due[kind].append(cycle + delays[kind])
                    done |= (cycle in due[kind]) << kind
                for name, value in (("begins", begins), ("done", done), ("mark", mark)):
                    ctx.set(getattr(dut, name), value)
                if ctx.get(dut.ended):
                    ended.append(cycle)
                await ctx.tick()
                cycle += 1

            for pieces in jobs:
                for piece in range(max(pieces)):
                    await step(sum((piece < each) << kind for kind, each in enumerate(pieces)))
                last.append(max([cycle, *(each[-1] for each in due if each)]))
                await step(mark=1)
            for _ in range(max(delays) + 10):
                await step()

        simulate(dut, bench)
        return last, ended

    return run


@pytest.mark.parametrize(
    "delays", [(3, 15), *(pytest.param(d, marks=pytest.mark.slow) for d in ((1, 1), (15, 2)))]
)
@pytest.mark.parametrize(
    "jobs",
    [[(3, 1)], [(0, 0)], [(5, 0), (0, 2), (1, 1)], [(1, 0)] * 12, [(0, 0)] * 5 + [(4, 7)] * 3],
)
def test_each_job_ends_once_and_not_before_its_work(count, jobs, delays):
    last, ended = count(jobs, delays)
    assert len(ended) == len(jobs)
    for done, at in zip(last, ended, strict=True):
        assert done < at <= done + 4  # two cycles behind the work, four behind the mark


def test_nothing_ends_while_it_waits(count):
    _, ended = count([(1, 1)], (1, 1), waits=1)
    assert ended == []


def test_clear_forgets_all(count):
    _, ended = count([(1, 1)], (1, 1), clear=1)
    assert ended == []
