"""Bayesian optimisation over a small space: CSWAP's tuner.

Source: CSWAP, CLUSTER 2021: 10 random points, then 25 chosen by expected improvement; the objective
is compression plus decompression time. The space is small, so the expected improvement is computed
at every point and its largest value is exact.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from cdma.errors import require

INITIAL, TRIALS = 10, 35


@dataclass(frozen=True)
class Trial:
    """A point and the objective there."""

    point: tuple
    value: float


def tune(
    space: Sequence[tuple], objective: Callable[[tuple], float], trials: int = TRIALS,
    initial: int = INITIAL, seed: int = 0,
) -> list[Trial]:  # fmt: skip
    """Trials in their order.

    Parameters
    ----------
    space : sequence of tuple
        Points, numbers above zero; their logarithms are the coordinates.
    objective : callable
        Gives a number above zero, the smaller the better.
    trials, initial : int
        Trials in all, and how many of them are random.
    seed : int
    """
    if not space:
        raise ValueError("The space must have a point")
    random = np.random.default_rng(seed)
    order = random.permutation(len(space))
    chosen = [int(k) for k in order[: min(initial, trials, len(space))]]
    values = [float(objective(space[k])) for k in chosen]
    grid = coordinates(space)
    while len(chosen) < min(trials, len(space)):
        k = _best(grid, chosen, np.log(values), seed)
        chosen.append(k)
        values.append(float(objective(space[k])))
    return [Trial(tuple(space[k]), value) for k, value in zip(chosen, values, strict=True)]


def coordinates(space: Sequence[tuple]) -> np.ndarray:
    """Logarithms of the points, every coordinate from 0 to 1; shape (points, coordinates)."""
    grid = np.log2(np.array(space, float))
    spread = np.ptp(grid, axis=0)
    return (grid - grid.min(axis=0)) / np.where(spread > 0, spread, 1)


def posterior(grid: np.ndarray, chosen: Sequence[int], values: np.ndarray, seed: int = 0):
    """Mean and deviation of a Gaussian process at every point of the grid."""
    gaussian = require("sklearn.gaussian_process", extra="capture", verb="cdma offload tune")
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    kernel = ConstantKernel() * Matern(np.full(grid.shape[1], 0.3), (0.05, 10.0), nu=2.5)
    model = gaussian.GaussianProcessRegressor(
        kernel + WhiteKernel(1e-3, (1e-6, 1.0)), normalize_y=True, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a length at the end of its range is no fault here
        model.fit(grid[list(chosen)], values)
        return model.predict(grid, return_std=True)


def _best(grid: np.ndarray, chosen: list[int], values: np.ndarray, seed: int) -> int:
    """Point of the largest expected improvement that was not tried."""
    from scipy.stats import norm

    mean, deviation = posterior(grid, chosen, values, seed)
    gain = values.min() - mean
    deviation = np.maximum(deviation, 1e-12)
    z = gain / deviation
    improvement = gain * norm.cdf(z) + deviation * norm.pdf(z)
    improvement[chosen] = -np.inf
    return int(np.argmax(improvement))
