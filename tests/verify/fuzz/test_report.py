"""Rows of a fuzzer's table."""

import pytest

from cdma.engine_config import EngineConfig
from cdma.verify.fuzz.engine import Outcome
from cdma.verify.fuzz.report import engine_row

CONFIG = EngineConfig(channels=2, lanes=4)


def test_a_good_run_of_the_engine_needs_no_replay():
    outcome = Outcome(jobs=12, batches=2, cycles=900)
    outcome.statuses.update({"OK": 10, "CRC": 2})
    row = engine_row(CONFIG, "", 3, outcome)
    assert (row["unit"], row["config"], row["packets"]) == ("engine", CONFIG.name, 12)
    assert (row["malformed"], row["errors"]) == (2, {"CRC": 2, "OK": 10})
    assert (row["verdict"], row["replay"]) == ("as it should be", None)


@pytest.mark.parametrize(
    ("sizes", "told"), [("", ""), ("--channels 2 --latency 60", "--channels 2 --latency 60 ")]
)
def test_a_failure_names_the_command_that_replays_it(sizes, told):
    row = engine_row(CONFIG, sizes, 3, Outcome(problem="hangs", failed_batch=7))
    assert row["verdict"] == "failed"
    assert row["replay"] == (
        "cdma fuzz --unit engine --lanes 4 --word-bits 32 --block-words 32 "
        f"{told}--seed 3 --batch 7"
    )
