"""Measurements of the CPU codec: what they hold, and that the kept ones are whole."""

import numpy as np
import pytest

from cdma.offload.tuning import measured

pytest.importorskip("sklearn")


def test_a_small_measurement(tmp_path, monkeypatch):
    monkeypatch.setattr(measured, "SIZES", (1e4, 1e5))
    monkeypatch.setattr(measured, "TRIALS", 4)
    found = measured.measure(count=3, chunks=3, seeds=1)
    assert len(found.samples) == 6
    assert all(0.1 < share < 0.9 and size + 4 >= 1e4 for size, share, *_ in found.samples)
    assert all(min(times) >= 0 for *_, times in ((s[0], s[2:]) for s in found.samples))
    assert found.space == [(1024, 1), (1024, 2), (32768, 1), (32768, 2), (1048576, 1), (1048576, 2)]
    assert len(found.seconds) == len(found.space)
    assert found.tuned == [min(found.seconds)]  # more trials than points
    measured.save(found, tmp_path / "a.json")
    again = measured.read(tmp_path / "a.json")
    assert np.array(again.samples) == pytest.approx(np.array(found.samples), abs=1e-7)
    assert again.space == [list(point) for point in found.space]


def test_the_kept_measurements():
    found = measured.read()
    assert len(found.samples) - found.fitted == measured.UNSEEN
    sizes, shares = np.array(found.samples).T[:2]
    assert measured.SIZES[0] - 4 <= sizes.min() < sizes.max() <= measured.SIZES[1]
    assert shares.min() >= measured.SPARSITIES[0] - 0.01
    assert shares.max() <= measured.SPARSITIES[1] + 0.01
    assert len(found.space) == len(found.seconds) >= 1000
    assert len(found.tuned) == len(found.random) == measured.SEEDS
    assert min(found.seconds) <= min(found.tuned)


@pytest.mark.slow
def test_the_kept_runs_of_the_tuner_are_those_of_the_kept_surface():
    found = measured.read()
    space = [tuple(point) for point in found.space]
    tuned, random = measured.replay(space, found.seconds, seeds=2)
    assert random == found.random[:2]
    assert tuned == pytest.approx(found.tuned[:2], rel=0.05)
