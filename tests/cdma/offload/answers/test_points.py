"""A sweep of the model on a cluster gives what it gives here, also when a worker is lost."""

import os
import signal

import pytest

from cdma.offload.answers import points
from cdma.offload.builder import Wishes


@pytest.mark.slow
def test_a_cluster_that_loses_a_worker(monkeypatch):
    distributed = pytest.importorskip("distributed")
    wishes = Wishes("nin", ratio=2.6)
    axes = {"link": tuple(range(4, 16)), "compute": (1.0, 4.0)}
    schemes = ["vdnn-all", "cdma-zv"]
    expected = points.over(wishes, axes, schemes)
    killed = []

    class Killer(points.Bar):
        def __call__(self, done):
            if done and not killed:
                killed.append(next(iter(cluster.workers.values())).pid)
                os.kill(killed[0], signal.SIGKILL)  # a worker of this test's own cluster

    monkeypatch.setattr(points, "Bar", Killer)
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
    ) as cluster:
        found = points.over(wishes, axes, schemes, scheduler=cluster.scheduler_address)
        pids = {nanny.pid for nanny in cluster.workers.values()}
    assert len(killed) == 1
    assert killed[0] not in pids
    assert found == expected
