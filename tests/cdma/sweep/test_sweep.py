"""Sweeps give every result, over processes and over a cluster, whatever dies meanwhile."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from importlib import metadata
from pathlib import Path

import pytest

from cdma.errors import DISTRIBUTION, UserError
from cdma.sweep import Outcome, Packed, Task, TaskLostError, in_order, pools, sweep

NUMBERS = [Task(f"task {number}", number) for number in range(12)]


@pytest.fixture
def tasks(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    import sweep_tasks

    return sweep_tasks


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        pytest.MonkeyPatch.context() as patch,
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
        ) as cluster,
    ):
        patch.syspath_prepend(Path(__file__).parent)
        yield cluster


# How soon Dask replaces a worker depends on the load of the machine.
@pytest.fixture(params=["processes", pytest.param("cluster", marks=pytest.mark.slow)])
def where(request):
    """Options of ``sweep``: processes of this machine, or the cluster."""
    if request.param == "processes":
        return {"jobs": 2}
    address = request.getfixturevalue("cluster").scheduler_address
    return {"scheduler": address}


def by_name(outcomes):
    found = {}
    for outcome in outcomes:
        assert outcome.task.name not in found
        found[outcome.task.name] = outcome
    return found


def test_every_result(tasks, where):
    outcomes = by_name(sweep(tasks.square, NUMBERS, **where))
    assert len(outcomes) == len(NUMBERS)
    for task in NUMBERS:
        assert outcomes[task.name].value[0] == task.argument**2
    assert os.getpid() not in {outcome.value[1] for outcome in outcomes.values()}


def test_two_at_a_time(tasks, where, tmp_path):
    both = [Task(str(number), (str(tmp_path), number, 2)) for number in range(2)]
    assert len({outcome.value for outcome in sweep(tasks.meet, both, **where)}) == 2


def test_no_task(tasks, where):
    assert list(sweep(tasks.square, [], **where)) == []


def test_an_error_is_its_tasks_own(tasks, where):
    outcomes = by_name(sweep(tasks.fail_at_three, NUMBERS, **where))
    error = outcomes.pop("task 3").error
    assert isinstance(error, UserError)
    assert str(error) == "three is refused"
    assert all(outcome.error is None for outcome in outcomes.values())
    assert len(outcomes) == len(NUMBERS) - 1


def test_a_task_that_always_takes_its_process_along(tasks, where):
    outcomes = by_name(sweep(tasks.die_at_three, NUMBERS, **where))
    error = outcomes.pop("task 3").error
    assert isinstance(error, TaskLostError)
    assert "ended abruptly" in str(error)
    assert {name: outcome.value[0] for name, outcome in outcomes.items()} == {
        task.name: task.argument**2 for task in NUMBERS if task.argument != 3
    }


def test_a_process_that_is_lost_once_loses_nothing(tasks, where, tmp_path):
    (outcome,) = sweep(tasks.die_once, [Task("once", str(tmp_path / "marker"))], **where)
    assert outcome.value == "alive"


def test_killing_a_worker_halfway_loses_nothing(tasks, where):
    outcomes = {}
    killed = None
    for outcome in sweep(tasks.square, NUMBERS, **where):
        if killed is None:
            killed = outcome.value[1]
            os.kill(killed, signal.SIGKILL)  # a process of this test's own pool or cluster
        outcomes[outcome.task.name] = outcome
    assert {name: outcome.value[0] for name, outcome in outcomes.items()} == {
        task.name: task.argument**2 for task in NUMBERS
    }


def test_threads_are_of_this_process(tasks):
    outcomes = by_name(sweep(tasks.square, NUMBERS, jobs=2, threads=True))
    assert {name: outcome.value for name, outcome in outcomes.items()} == {
        task.name: (task.argument**2, os.getpid()) for task in NUMBERS
    }


def test_leaving_early_begins_no_more_in_threads():
    begun = []
    outcomes = sweep(begun.append, NUMBERS, jobs=1, threads=True)
    next(outcomes)
    outcomes.close()
    assert len(begun) <= 2


@pytest.mark.parametrize("threads", [False, True])
def test_tasks_that_follow_stand_before_all_others(tasks, threads):
    """Each even number is followed by the two odd ones after it."""

    def after(outcome):
        number = outcome.task.argument
        return [Task(f"task {number + n}", number + n) for n in (1, 3)] if number % 4 == 0 else []

    first = [Task(f"task {number}", number) for number in (0, 4, 8)]
    order = [
        outcome.task.argument
        for outcome in sweep(tasks.square, iter(first), jobs=1, threads=threads, then=after)
    ]
    assert sorted(order) == [0, 1, 3, 4, 5, 7, 8, 9, 11]
    assert order.index(1) < order.index(3) < order.index(8)


def test_what_follows_a_task_that_is_lost_once(tasks, where, tmp_path):
    once = Task("once", str(tmp_path / "marker"))
    more = {"once": [Task("again", str(tmp_path / "marker"))]}
    outcomes = by_name(
        sweep(tasks.die_once, [once], then=lambda outcome: more.get(outcome.task.name, []), **where)
    )
    assert {name: outcome.value for name, outcome in outcomes.items()} == {
        "once": "alive",
        "again": "alive",
    }


def test_tasks_are_taken_as_they_can_begin(tasks):
    taken = []

    def numbers():
        for task in NUMBERS:
            taken.append(task.argument)
            yield task

    outcomes = sweep(tasks.square, numbers(), jobs=1, threads=True)
    next(outcomes)
    assert len(taken) < len(NUMBERS)
    assert len(list(outcomes)) == len(NUMBERS) - 1


def test_outcomes_in_the_order_of_their_tasks():
    ended = [Outcome(NUMBERS[number], number) for number in (2, 0, 1, 3)]
    taken = []

    def outcomes():
        for outcome in ended:
            taken.append(outcome.value)
            yield outcome

    found = in_order(NUMBERS[:4], outcomes())
    assert next(found) == ended[1]
    assert taken == [2, 0]
    assert [outcome.value for outcome in found] == [1, 2, 3]


@pytest.mark.slow
def test_killing_a_worker_that_nothing_replaces(tasks, frail_cluster):
    losing = frail_cluster.losing(sweep)
    outcomes = by_name(losing(tasks.square, NUMBERS, scheduler=frail_cluster.address))
    assert frail_cluster.has_lost()
    assert {name: outcome.value[0] for name, outcome in outcomes.items()} == {
        task.name: task.argument**2 for task in NUMBERS
    }


def test_a_packed_value_arrives_and_is_unpacked_once(tasks, where):
    text = "a design " * 10_000
    both = [Task(str(number), (Packed(text), number)) for number in range(2)]
    assert {outcome.value for outcome in sweep(tasks.length_of, both, **where)} == {len(text)}


def test_packed_values_are_equal_by_what_is_in_them():
    one, same, other = Packed(["a"]), Packed(["a"]), Packed(["b"])
    assert one.value is one.value
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != ["a"]
    arrived, again = (pickle.loads(pickle.dumps(one)) for _ in range(2))
    assert arrived == one
    assert arrived.value == ["a"]
    assert arrived.value is again.value
    assert len(pickle.dumps(Packed("x" * 100_000))) < 2000


def test_progress_includes_reports_of_running_tasks(tasks, tmp_path):
    marker = tmp_path / "marker"
    weights = []

    def progress(weight):
        weights.append(weight)
        if weight == 50:
            marker.touch()

    (outcome,) = sweep(tasks.wait_for, [Task("long", str(marker), 100)], jobs=1, progress=progress)
    assert outcome.error is None
    assert 50 in weights
    assert weights == sorted(weights)
    assert weights[-1] == 100


@pytest.mark.slow
def test_progress_of_a_cluster_counts_tasks(tasks, cluster):
    weights = []
    list(sweep(tasks.square, NUMBERS, scheduler=cluster.scheduler_address, progress=weights.append))
    assert weights == sorted(weights)
    assert weights[-1] == len(NUMBERS)


def test_leaving_early_ends_what_runs(tasks, tmp_path):
    endless = Task("endless", str(tmp_path / "never"))
    outcomes = sweep(tasks.wait_for, [Task("done", __file__), endless], jobs=2)
    assert next(outcomes).error is None
    outcomes.close()  # does not wait for the endless one


def test_nothing_of_the_pool_runs_when_a_sweep_has_ended(tasks):
    before = threading.active_count()
    outcomes = sweep(tasks.square, NUMBERS, jobs=2)
    next(outcomes)
    outcomes.close()
    # A thread of the executor that is left writes to closed pipes when the interpreter ends.
    assert threading.active_count() == before


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_processes_end_with_their_parent(tasks, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, sweep_tasks\n"
        "from cdma.sweep import Task, sweep\n"
        "if __name__ == '__main__':\n"
        "    list(sweep(sweep_tasks.tell_and_wait, [Task('a', sys.argv[1])], jobs=1))\n"
    )
    pid_file = tmp_path / "pid"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    parent = subprocess.Popen([sys.executable, script, pid_file], env=environment)
    try:
        child = _soon(lambda: int(pid_file.read_text() or 0) if pid_file.exists() else 0)
    finally:
        parent.kill()
        parent.wait()
    assert _soon(lambda: not _is_running(child))


def _soon(condition):
    """What the condition gives, once it gives something; on a busy machine that may take long."""
    for _ in range(60_000):
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError("nothing happened")


def _is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_no_scheduler(tasks, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(pools, "_CONNECT_SECONDS", 0.3)
    with pytest.raises(UserError, match=r"^tcp://127.0.0.1:1: no Dask scheduler answers there"):
        list(sweep(tasks.square, NUMBERS, scheduler="tcp://127.0.0.1:1"))


@pytest.mark.parametrize("address", ["", "host", "tcp://", "http://host:1", "tcp://host"])
def test_refuses_what_is_no_address(tasks, address):
    pytest.importorskip("distributed")
    with pytest.raises(UserError, match=rf"^scheduler must be an address .*, not '{address}'$"):
        list(sweep(tasks.square, NUMBERS, scheduler=address))


@pytest.mark.slow
@pytest.mark.parametrize("found", ["0.0.1", None])
def test_workers_with_another_version(tasks, cluster, monkeypatch, found):
    here = metadata.version(DISTRIBUTION)

    def run(client, function, name):
        assert function(name) == here
        if found is None:
            raise metadata.PackageNotFoundError(name)
        return {"a": here, "b": found}

    monkeypatch.setattr(pytest.importorskip("distributed").Client, "run", run)
    where = cluster.scheduler_address
    with pytest.raises(
        UserError, match=rf"^{where}: workers must have {DISTRIBUTION} {here} installed$"
    ):
        list(sweep(tasks.square, NUMBERS, scheduler=where))


def test_without_dask(tasks, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UserError, match=r"^--scheduler needs distributed: pip install 'cdma"):
        list(sweep(tasks.square, NUMBERS, scheduler="tcp://127.0.0.1:1"))


@pytest.mark.slow
def test_a_cluster_that_loses_all_workers(tasks, monkeypatch, tmp_path):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(pools, "PATIENCE", 1)
    monkeypatch.setattr(pools, "_CHECK_SECONDS", 0.2)
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
    ) as cluster:
        endless = Task("endless", str(tmp_path / "never"))
        outcomes = sweep(
            tasks.wait_for, [Task("done", __file__), endless], scheduler=cluster.scheduler_address
        )
        assert next(outcomes).error is None
        cluster.scale(0)
        (outcome,) = outcomes
    assert outcome.task == endless
    assert str(outcome.error) == f"{cluster.scheduler_address}: no worker for 1 seconds"
