"""CSWAP's regression of (de)compression time on size and sparsity, a line for each band.

Source: CSWAP, CLUSTER 2021: linear regression, one set for each codec, sub-models by band of
sparsity; samples of 20 to 80 % sparsity and 20 to 2000 MB on a GPU.
"""

from dataclasses import dataclass

import numpy as np

#: Upper ends of the bands of sparsity; the last band is open.
BANDS = (0.4, 0.6)


@dataclass(frozen=True, eq=False)
class Regression:
    """Seconds of a codec, from the size and the sparsity of a tensor.

    Parameters
    ----------
    bands : tuple of float
        Upper ends of the bands, rising; one band more than there are ends.
    weights : ndarray of float64, shape (bands, 3)
        Seconds, seconds per byte, and seconds per unit of sparsity, by band.
    """

    bands: tuple[float, ...]
    weights: np.ndarray

    @classmethod
    def fit(
        cls, sizes: np.ndarray, sparsities: np.ndarray, seconds: np.ndarray,
        bands: tuple[float, ...] = BANDS,
    ) -> "Regression":  # fmt: skip
        """Least squares in every band.

        Parameters
        ----------
        sizes : ndarray, shape (samples,)
            Raw bytes.
        sparsities : ndarray, shape (samples,)
            Share of zeros.
        seconds : ndarray, shape (samples,)
        bands : tuple of float

        Raises
        ------
        ValueError
            When a band has fewer samples than a line has coefficients.
        """
        features, band = _features(sizes, sparsities), np.searchsorted(bands, sparsities)
        weights = []
        for k in range(len(bands) + 1):
            mine = band == k
            if mine.sum() < features.shape[1]:
                raise ValueError(f"Band {k} of sparsity must have 3 samples, not {mine.sum()}")
            weights.append(np.linalg.lstsq(features[mine], seconds[mine], rcond=None)[0])
        return cls(tuple(bands), np.array(weights))

    def __call__(self, sizes: np.ndarray, sparsities: np.ndarray) -> np.ndarray:
        """Seconds of tensors."""
        weights = self.weights[np.searchsorted(self.bands, sparsities)]
        return np.sum(weights * _features(sizes, sparsities), axis=1)


def _features(sizes, sparsities) -> np.ndarray:
    return np.column_stack((np.ones(len(sizes)), sizes, sparsities))


def relative_absolute_error(predicted: np.ndarray, seconds: np.ndarray) -> float:
    """Sum of the errors over the sum of the deviations from the mean."""
    return float(np.abs(predicted - seconds).sum() / np.abs(seconds - seconds.mean()).sum())
