"""The compared algorithms, by name."""

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cdma.errors import UserError, require
from cdma.study.algorithms import lz
from cdma.study.algorithms.ebpc import ExtendedBitPlane
from cdma.study.algorithms.runs import EyerissRunLength, RunLength
from cdma.study.algorithms.zvc import ZeroValue
from cdma.study.algorithms.zvcplus import ZeroValuePlus
from cdma.tensors.rows import format_for


class Sizer(Protocol):
    """Computes the encoded size of a sequence of chunks of words."""

    def update(self, words: np.ndarray) -> None: ...
    def finish(self) -> int: ...


@dataclass(frozen=True)
class Subject:
    """What an algorithm may know of a tensor beforehand.

    Parameters
    ----------
    word_bytes, total_bytes : int
        Bytes of a word and of the whole tensor.
    type : str or None
        Type of ZVC+ (``"fp32"``, ...) that the words have, if any.
    row : int or None
        Words to the word a row above, where rows are known.
    """

    word_bytes: int
    total_bytes: int
    type: str | None = None
    row: int | None = None


@dataclass(frozen=True)
class Algorithm:
    """A compression algorithm.

    Parameters
    ----------
    title : str
        Name in tables.
    make : callable
        Makes a ``Sizer`` for a ``Subject``, or gives ``None`` for one that it is not made for.
    package : str or None
        Optional module that the algorithm needs.
    """

    title: str
    make: Callable[[Subject], Sizer | None]
    package: str | None = None


def _plus(repeats: str) -> Callable[[Subject], ZeroValuePlus | None]:
    """ZVC+ with these repeats; without a row above, words repeat to the left only."""
    return lambda of: ZeroValuePlus(format_for(of.type, repeats, of.row)) if of.type else None


ALGORITHMS = {
    "zvc32": Algorithm("ZVC 32", lambda of: ZeroValue(32)),
    "zvc16": Algorithm("ZVC 16", lambda of: ZeroValue(16)),
    "zvc8": Algorithm("ZVC 8", lambda of: ZeroValue(8)),
    "zvcplus": Algorithm("ZVC+", _plus("none")),
    "zvcplus_left": Algorithm("ZVC+ left", _plus("left")),
    "zvcplus_above": Algorithm("ZVC+ above", _plus("above")),
    "ebpc": Algorithm("EBPC", lambda of: ExtendedBitPlane(of.word_bytes)),
    "rl": Algorithm("RL", lambda of: RunLength(of.word_bytes)),
    "eyeriss": Algorithm("RL Eyeriss", lambda of: EyerissRunLength(of.word_bytes)),
    "zlib4k": Algorithm("zlib 4 KiB", lambda of: lz.ZlibWindows()),
    "zlib": Algorithm("zlib", lambda of: lz.whole_zlib()),
    "zstd": Algorithm("zstd", lambda of: lz.whole_zstd(of.total_bytes), "zstandard"),
    "lz4": Algorithm("lz4", lambda of: lz.whole_lz4(), "lz4"),
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
