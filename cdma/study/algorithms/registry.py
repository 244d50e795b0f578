"""The compared algorithms, by name."""

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cdma.errors import UserError, require
from cdma.study.algorithms import lz
from cdma.study.algorithms.runs import EyerissRunLength, RunLength
from cdma.study.algorithms.zvc import ZeroValue


class Sizer(Protocol):
    """Computes the encoded size of a sequence of chunks of words."""

    def update(self, words: np.ndarray) -> None: ...
    def finish(self) -> int: ...


@dataclass(frozen=True)
class Algorithm:
    """A compression algorithm.

    Parameters
    ----------
    title : str
        Name in tables.
    make : callable
        Makes a ``Sizer`` from the bytes of a word and of the whole tensor.
    package : str or None
        Optional module that the algorithm needs.
    """

    title: str
    make: Callable[[int, int], Sizer]
    package: str | None = None


ALGORITHMS = {
    "zvc32": Algorithm("ZVC 32", lambda word, total: ZeroValue(32)),
    "zvc16": Algorithm("ZVC 16", lambda word, total: ZeroValue(16)),
    "zvc8": Algorithm("ZVC 8", lambda word, total: ZeroValue(8)),
    "rl": Algorithm("RL", lambda word, total: RunLength(word)),
    "eyeriss": Algorithm("RL Eyeriss", lambda word, total: EyerissRunLength(word)),
    "zlib4k": Algorithm("zlib 4 KiB", lambda word, total: lz.ZlibWindows()),
    "zlib": Algorithm("zlib", lambda word, total: lz.whole_zlib()),
    "zstd": Algorithm("zstd", lambda word, total: lz.whole_zstd(total), "zstandard"),
    "lz4": Algorithm("lz4", lambda word, total: lz.whole_lz4(), "lz4"),
}
#: Name and title of the bound. No encoder has this size.
BOUND, BOUND_TITLE = "bound", "mask entropy"


def installed(names: Sequence[str] | None = None) -> tuple[list[str], list[str]]:
    """Names to measure, and names omitted because their package is not installed.

    Parameters
    ----------
    names : sequence of str or None
        Requested algorithms. With ``None``, all installed algorithms.

    Raises
    ------
    UserError
        When a requested algorithm is unknown.
    MissingPackageError
        When the package of a requested algorithm is not installed.
    """
    missing = [name for name, algorithm in ALGORITHMS.items() if not _is_there(algorithm)]
    if names is None:
        return [name for name in ALGORITHMS if name not in missing], missing
    for name in names:
        if name not in ALGORITHMS:
            raise UserError(f"unknown algorithm {name!r}, there are {', '.join(ALGORITHMS)}")
        if name in missing:
            require(ALGORITHMS[name].package, extra="study", verb=name)
    return [name for name in ALGORITHMS if name in names], []


def _is_there(algorithm: Algorithm) -> bool:
    return algorithm.package is None or importlib.util.find_spec(algorithm.package) is not None
