"""What was measured of the CPU codec: times by size and sparsity, and over the tuner's space.

Seconds are of CPU time, so that other work on the machine counts little. The tensors are random:
zeros at independent places.
"""

import json
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from cdma.errors import UserError, reason_of
from cdma.files import write_text
from cdma.golden import Format, compress, decompress
from cdma.offload import records
from cdma.offload.tuning import cpu
from cdma.offload.tuning.tuner import TRIALS, tune
from cdma.progress import Bar

#: Samples of the regression: sizes in bytes, share of zeros.
SIZES, SPARSITIES = (1e6, 64e6), (0.2, 0.8)
FITTED, UNSEEN = 300, 300
#: Of each sample the shortest times count.
REPEATS = 3
#: The tuner's space: words of a chunk times threads, a thousand points.
CHUNKS, THREADS = 500, (1, 2)
SEEDS = 20
_GRID_BYTES = 1 << 20


@dataclass(frozen=True)
class Measured:
    """Times of the CPU codec.

    Parameters
    ----------
    samples : list of (int, float, float, float)
        Raw bytes, share of zeros, seconds of compression and of decompression.
    fitted : int
        Samples that the regression may see: the first ones.
    space : list of (int, int)
        Words of a chunk, and threads.
    seconds : list of float
        Compression and decompression together, at every point of the space.
    tuned, random : list of float
        Best seconds of the tuner and of as many random trials, by seed.
    """

    samples: list
    fitted: int
    space: list
    seconds: list
    tuned: list
    random: list


def sampled(fitted: int = FITTED, unseen: int = UNSEEN, seed: int = 0) -> list[tuple]:
    """Times of tensors of random sizes and sparsities; see ``Measured.samples``."""
    random = np.random.default_rng(seed)
    count = fitted + unseen
    sizes = np.exp(random.uniform(*np.log(SIZES), count)).astype(int) // 4 * 4
    shares = random.uniform(*SPARSITIES, count)
    chances = random.random(int(SIZES[1]) // 4, np.float32)
    values = random.integers(1, 1 << 32, len(chances), np.uint32)
    fmt, found = Format(32), []
    with closing(Bar(f"{count} tensors", count)) as bar:
        for k, (size, share) in enumerate(zip(sizes, shares, strict=True)):
            words = np.where(chances[: size // 4] < share, np.uint32(0), values[: size // 4])
            zeros = float(1 - np.count_nonzero(words) / len(words))
            times = np.min([_times(words, fmt) for _ in range(REPEATS)], axis=0)
            found.append((int(size), round(zeros, 4), *map(float, times)))
            bar(k + 1)
    return found


def _times(words: np.ndarray, fmt: Format) -> tuple[float, float]:
    """CPU seconds of compression and of decompression."""
    start = time.process_time()
    stream = compress(words, fmt)
    middle = time.process_time()
    decompress(stream, len(words), fmt)
    return middle - start, time.process_time() - middle


def space(chunks: int = CHUNKS, threads: Sequence[int] = THREADS) -> list[tuple[int, int]]:
    """Points of the tuner's space: different words of a chunk, evenly in their logarithm."""
    words = np.unique(np.rint(np.geomspace(cpu.CHUNKS[0], cpu.CHUNKS[-1], chunks)).astype(int))
    return [(int(each), thread) for each in words for thread in threads]


def surface(points: Sequence[tuple[int, int]], size: int = _GRID_BYTES) -> list[float]:
    """Seconds at every point, on one tensor of half zeros."""
    random = np.random.default_rng(0)
    array = np.where(random.random(size // 4) < 0.5, 0, random.random(size // 4)).astype("f4")
    found = []
    with closing(Bar(f"{len(points)} points", len(points))) as bar:
        for k, point in enumerate(points):
            found.append(cpu.seconds(array, *point, repeats=2, clock=time.process_time))
            bar(k + 1)
    return found


def replay(points: list, seconds: list[float], seeds: int = SEEDS) -> tuple[list, list]:
    """Best seconds of the tuner, and of as many random trials, for every seed."""
    known = dict(zip(points, seconds, strict=True))
    tuned, random = [], []
    with closing(Bar(f"{seeds} runs of the tuner", seeds)) as bar:
        for seed in range(seeds):
            tuned.append(min(trial.value for trial in tune(points, known.get, seed=seed)))
            chosen = np.random.default_rng(1000 + seed).permutation(len(points))[:TRIALS]
            random.append(min(seconds[k] for k in chosen))
            bar(seed + 1)
    return tuned, random


def measure(count: int = FITTED, chunks: int = CHUNKS, seeds: int = SEEDS) -> Measured:
    """Measure everything: ``count`` samples to fit, as many unseen ones, the space, the tuner."""
    samples = sampled(count, count)
    points = space(chunks)
    seconds = surface(points)
    tuned, random = replay(points, seconds, seeds)
    return Measured(samples, count, points, seconds, tuned, random)


def save(measured: Measured, path: str | Path) -> None:
    """Write as JSON, a list on a line, seconds to a tenth of a microsecond."""
    lines = (f'"{key}": {json.dumps(_rounded(value))}' for key, value in asdict(measured).items())
    write_text(path, "{\n" + ",\n".join(lines) + "\n}\n")


def _rounded(value):
    if isinstance(value, (list, tuple)):
        return [_rounded(each) for each in value]
    return round(value, 7) if isinstance(value, float) else value


def read(path: str | Path = records.CPU) -> Measured:
    """What :func:`save` wrote; raises UserError when the file is no such file."""
    try:
        found = Measured(**json.loads(Path(path).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"{path}: cannot read these measurements ({reason_of(error)})") from None
    return found
