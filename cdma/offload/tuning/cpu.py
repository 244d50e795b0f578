"""Measured time of the golden codec on this machine's CPU, by chunk size and threads."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from cdma.golden import Format, compress, decompress
from cdma.golden.zvc.words import to_words

#: Words of a chunk.
CHUNKS = tuple(1 << k for k in range(10, 21))


def space() -> list[tuple[int, int]]:
    """Points: words of a chunk, and threads."""
    most = os.cpu_count() or 1
    threads = sorted({min(1 << k, most) for k in range(most.bit_length() + 1)})
    return [(chunk, thread) for chunk in CHUNKS for thread in threads]


def seconds(
    array, chunk: int, threads: int, repeats: int = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> float:  # fmt: skip
    """Seconds of a clock to compress and decompress an array, the best of ``repeats``."""
    words = to_words(np.asarray(array))
    fmt = Format(words.dtype.itemsize * 8)
    parts = [words[k : k + chunk] for k in range(0, len(words), chunk)]

    def both(part) -> None:
        decompress(compress(part, fmt), len(part), fmt)

    best = float("inf")
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(repeats):
            start = clock()
            list(pool.map(both, parts))
            best = min(best, clock() - start)
    return best
