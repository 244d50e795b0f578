"""The calibrated compute model against the logs on which it was calibrated."""

import pytest

from cdma.offload.compute import BOARDS, times_of
from cdma.offload.networks.zoo import NAMES, network


@pytest.mark.parametrize("name", NAMES)
def test_times_are_linear_in_the_batch(name):
    net = network(name).features
    one, two = (times_of(net, batch, BOARDS["titan-x"]) for batch in (64, 128))
    # The weights' bytes are the same at every batch.
    assert two.total == pytest.approx(2 * one.total, rel=0.02)
    assert min(one.forward) > 0
    assert min(one.backward) >= 0


def test_a_faster_board_is_faster():
    net = network("googlenet").features
    slow, fast = (times_of(net, 64, BOARDS[board]) for board in ("titan-x", "titan-xp"))
    assert fast.total < slow.total


@pytest.mark.parametrize(
    ("name", "log"), [("overfeat", "overfeat"), ("vgg-a", "vgg_a"), ("googlenet", "googlenet")]
)
def test_convolutions_of_the_logs(caffe_log, name, log):
    rows = caffe_log(log)
    kinds = ("InnerProduct", "Input")
    rows = [row for row in rows if row["type"] not in kinds and not row["layer"].startswith("fc6")]
    measured = sum(float(row["fwd_ms"]) + float(row["bwd_ms"]) for row in rows)
    net = network(name).features
    found = 1e3 * times_of(net, int(rows[0]["batch"]), BOARDS["titan-x"]).total
    assert found == pytest.approx(measured, rel=0.05)
