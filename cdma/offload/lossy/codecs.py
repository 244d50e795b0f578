"""Error-bounded codecs that are compared: bytes of a file, and the array that it gives back."""

import importlib.util
import io
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cdma.golden import read_container, write_container
from cdma.golden.lossy.codec import quantise
from cdma.golden.lossy.file import write_lossy


@dataclass(frozen=True)
class Codec:
    """A codec.

    Parameters
    ----------
    title : str
        How a table calls it.
    run : callable
        Gives the bytes of the file and the array that is read from it, from a float32 array and the
        largest error.
    package : str or None
        Optional module that it needs.
    is_lossy : bool
    """

    title: str
    run: Callable[[np.ndarray, float], tuple[int, np.ndarray]]
    package: str | None = None
    is_lossy: bool = True

    @property
    def is_there(self) -> bool:
        """Whether its package is installed."""
        return self.package is None or importlib.util.find_spec(self.package) is not None


def _zvc(array: np.ndarray, bound: float) -> tuple[int, np.ndarray]:
    file = io.BytesIO()
    write_container(file, array, raw_chunks=True)
    return _read(file)


def _lossy(array: np.ndarray, bound: float) -> tuple[int, np.ndarray]:
    file = io.BytesIO()
    write_lossy(file, array, bound)
    return _read(file)


def _read(file: io.BytesIO) -> tuple[int, np.ndarray]:
    size = file.tell()
    file.seek(0)
    return size, read_container(file)


def _zfp(array: np.ndarray, bound: float) -> tuple[int, np.ndarray]:
    import zfpy

    data = zfpy.compress_numpy(np.ascontiguousarray(array), tolerance=bound)
    return len(data), zfpy.decompress_numpy(data)


def _sz(array: np.ndarray, bound: float) -> tuple[int, np.ndarray]:
    from pysz import sz, szConfig, szErrorBoundMode

    config = szConfig(array.shape)
    config.errorBoundMode, config.absErrorBound = szErrorBoundMode.ABS, bound
    data, _ = sz.compress(np.ascontiguousarray(array), config)
    return data.nbytes, sz.decompress(data, array.dtype, array.shape)[0]


CODECS = {
    "zvc": Codec("ZVC, lossless", _zvc, is_lossy=False),
    "lossy-zvc": Codec("lossy ZVC", _lossy),
    "zfp": Codec("zfp", _zfp, "zfpy"),
    "sz3": Codec("SZ3", _sz, "pysz"),
}


def entropy_bytes(array: np.ndarray, bound: float) -> float:
    """Bytes at the entropy of the quantised numbers; no file of independent numbers is smaller."""
    numbers = quantise(array, bound, 32).q
    _, counts = np.unique(numbers, return_counts=True)
    shares = counts / counts.sum()
    return float(-(counts * np.log2(shares)).sum() / 8)
