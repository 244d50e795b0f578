"""The regression of codec times: exact on lines, refused where a band has no samples."""

import numpy as np
import pytest

from cdma.offload.tuning.regression import BANDS, Regression, relative_absolute_error


def test_a_line_for_each_band():
    random = np.random.default_rng(0)
    sizes, shares = random.uniform(1e6, 1e7, 90), random.uniform(0.2, 0.8, 90)
    band = np.searchsorted(BANDS, shares)
    seconds = 1e-3 + (band + 1) * 1e-9 * sizes - band * 1e-3 * shares
    model = Regression.fit(sizes, shares, seconds)
    assert model(sizes, shares) == pytest.approx(seconds)
    single = Regression.fit(sizes, shares, seconds, bands=())
    assert relative_absolute_error(model(sizes, shares), seconds) < 1e-9
    assert relative_absolute_error(single(sizes, shares), seconds) > 0.1


def test_an_empty_band():
    sizes = np.full(9, 1e6)
    with pytest.raises(ValueError, match="Band 1 of sparsity must have 3 samples, not 0"):
        Regression.fit(sizes, np.full(9, 0.3), sizes)


def test_the_mean_has_an_error_of_one():
    seconds = np.array([1.0, 2.0, 6.0])
    assert relative_absolute_error(np.full(3, 3.0), seconds) == 1
    assert relative_absolute_error(seconds, seconds) == 0
