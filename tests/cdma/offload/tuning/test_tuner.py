"""Bayesian optimisation against random search, and the measured codec."""

import itertools

import numpy as np
import pytest

from cdma.offload.tuning import cpu
from cdma.offload.tuning.tuner import tune

pytest.importorskip("sklearn")
#: 1,024 points, as many as CSWAP's space has at least.
SPACE = list(itertools.product([1 << k for k in range(5)], range(1, 206)))[:1024]


def _objective(point) -> float:
    """A valley with a rim, not along an axis, and a little noise that is the same each time."""
    a, b = np.log2(point[0]), np.log2(point[1])
    noise = 0.02 * np.sin(37 * point[0] + 11 * point[1])
    return float(1 + 0.3 * (a - 3 + 0.4 * (b - 4)) ** 2 + 0.5 * abs(b - 5) + noise)


def test_trials_are_different_points():
    trials = tune(SPACE, _objective, trials=12, initial=9, seed=1)
    assert len({trial.point for trial in trials}) == 12
    assert all(trial.value == _objective(trial.point) for trial in trials)
    assert tune(SPACE, _objective, trials=12, initial=9, seed=1) == trials


def test_a_space_smaller_than_the_trials():
    trials = tune([(1, 1), (2, 1)], _objective, trials=35)
    assert sorted(trial.point for trial in trials) == [(1, 1), (2, 1)]
    with pytest.raises(ValueError, match="must have a point"):
        tune([], _objective)


@pytest.mark.slow
def test_better_than_random_and_near_the_grid():
    best = min(map(_objective, SPACE))
    tuned, random = [], []
    for seed in range(20):
        tuned.append(min(trial.value for trial in tune(SPACE, _objective, seed=seed)))
        chosen = np.random.default_rng(1000 + seed).permutation(len(SPACE))[:35]
        random.append(min(_objective(SPACE[k]) for k in chosen))
    assert np.median(tuned) <= 1.2 * best
    assert np.median(tuned) < np.median(random)


def test_the_codec_is_measured():
    array = np.eye(128, dtype=np.float32)
    assert cpu.seconds(array, 4096, 2, repeats=1) > 0
    assert {threads for _, threads in cpu.space()} >= {1}
    assert {chunk for chunk, _ in cpu.space()} == set(cpu.CHUNKS)
