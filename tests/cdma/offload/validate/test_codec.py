"""Rows of CSWAP's regression and tuner: they follow from the measurements."""

import json

import pytest

from cdma.errors import UserError
from cdma.offload.tuning import measured
from cdma.offload.validate import codec
from cdma.offload.validate.rows import HOLDS, MISSED, NOT_GIVEN


def _measured(noise: float = 0.0, tuned: float = 1.0):
    samples = [
        (int(size), share, 1e-9 * size * (1 + noise * (k % 3)), 2e-3 * (1 - share))
        for k, (size, share) in enumerate(
            (1e6 * (1 + 7 * k % 61), 0.2 + 0.6 * (k * 0.37 % 1)) for k in range(200)
        )
    ]
    return measured.Measured(samples, 100, [(1024, 1)], [1.0, 2.0], [tuned] * 3, [1.5] * 3)


def _verdicts(tmp_path, found) -> list[str]:
    measured.save(found, tmp_path / "a.json")
    return [row.verdict for row in codec.rows(tmp_path / "a.json")]


def test_exact_times_hold_and_noise_misses(tmp_path):
    assert _verdicts(tmp_path, _measured()) == [HOLDS] * 3
    assert _verdicts(tmp_path, _measured(noise=0.5)) == [MISSED, MISSED, HOLDS]
    assert _verdicts(tmp_path, _measured(tuned=1.3)) == [HOLDS, HOLDS, MISSED]
    assert _verdicts(tmp_path, _measured(tuned=1.6)) == [HOLDS, HOLDS, MISSED]


def test_null_models_are_worse_than_an_exact_regression():
    found = codec.figures(_measured())
    assert found["error"] < 0.1 < found["null error"]
    assert found["right"] == 100
    assert found["always"] == pytest.approx(50, abs=2)


def test_without_measurements(tmp_path):
    assert [row.verdict for row in codec.rows(tmp_path / "none.json")] == [NOT_GIVEN] * 3
    (tmp_path / "a.json").write_text(json.dumps({"samples": []}))
    with pytest.raises(UserError, match="cannot read these measurements"):
        codec.rows(tmp_path / "a.json")
