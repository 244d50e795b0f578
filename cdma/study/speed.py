"""Speed and memory of the golden model beside zlib, and of the compiled RTL beside cocotb."""

import io
import sys
import time
import tracemalloc
import zlib
from collections.abc import Callable

import numpy as np

from cdma.golden import Format, compress, decompress, read_container, write_container
from cdma.hdl.zvc.config import Config
from cdma.sim import RtlModel, cosim
from cdma.tables import format_table

COLUMNS = {
    "operation": "operation",
    "mb_per_s": "MB/s",
    "times_zlib": "x zlib",
    "peak_times_array": "memory (x array)",
}
RTL_COLUMNS = {
    "operation": "RTL",
    "cycles": "cycles",
    "mb_per_s": "MB/s",
    "times_cocotb": "x cocotb",
}
#: Bytes that the RTL is measured on at most: cocotb takes a second for two million.
RTL_BYTES = 16 << 20
#: Each figure is the best of so many runs; zlib's compression, long as it is, runs once.
RUNS = 3


def measure(size: int, density: float) -> dict:
    """Measure all operations on one array.

    Parameters
    ----------
    size : int
        Bytes of the array, a multiple of 4.
    density : float
        Share of words that are not zero, 0 to 1.

    Returns
    -------
    dict
        The compression ratios, and for each of ``operations`` its speed in MB/s of array, its speed
        next to zlib's and its peak of memory next to the array's size.

    Raises
    ------
    AssertionError
        When an operation does not give back the array.
    """
    tell(f"making {size >> 20} MiB at density {density:g}")
    array = _activations(size // 4, density)
    packed = zlib.compress(array, 6)
    stream = compress(array)
    container = io.BytesIO()
    write_container(container, array)

    same = array.view(np.uint32)
    for name, words in (
        ("decompress", decompress(stream, array.size, Format())),
        ("container read", read_container(container).view(np.uint32)),
    ):
        if not np.array_equal(words, same):
            raise AssertionError(f"{name} does not give the array back")

    def zlib_compress():
        return zlib.compress(array, 6)

    def zlib_decompress():
        return zlib.decompress(packed, bufsize=size)  # with the size, zlib need not grow its buffer

    rows = []
    for name, peer, operation, runs in (
        ("zlib -6 compress", None, zlib_compress, 1),
        ("compress", 0, lambda: compress(array), RUNS),
        ("container write", 0, lambda: write_container(io.BytesIO(), array), RUNS),
        ("zlib decompress", None, zlib_decompress, RUNS),
        ("decompress", 3, lambda: decompress(stream, array.size, Format()), RUNS),
        ("container read", 3, lambda: read_container(container), RUNS),
    ):
        tell(name)
        speed = size / 1e6 / _seconds(operation, runs)
        rows.append(
            {
                "operation": name,
                "mb_per_s": speed,
                "times_zlib": None if peer is None else speed / rows[peer]["mb_per_s"],
                "peak_times_array": None if peer is None else _peak_bytes(operation) / size,
            }
        )
    return {
        "bytes": size,
        "density": density,
        "ratio": size / len(stream),
        "zlib_ratio": size / len(packed),
        "operations": rows,
    }


def measure_rtl(size: int, density: float) -> list[dict]:
    """Measure the compressor's RTL under cocotb and compiled, on one array.

    Parameters
    ----------
    size, density
        As for :func:`measure`.

    Returns
    -------
    list of dict
        For each of the two its cycles, its speed in MB/s of array, and that next to cocotb's.

    Raises
    ------
    UserError
        When a tool is missing.
    AssertionError
        When they do not give the same bytes in the same cycles.
    """
    array = _activations(size // 4, density)
    config = Config.of(8, 32)
    model = RtlModel("compressor", config.format, config.lanes, progress=tell)
    cosim("compressor", [array[:1]], config, progress=tell)  # builds it

    tell(f"compressor {config.name} under cocotb, {size >> 20} MiB")
    start = time.perf_counter()
    slow = cosim("compressor", [array], config)
    seconds = {"cocotb": time.perf_counter() - start}
    tell(f"compressor {config.name} compiled")
    seconds["compiled"] = _seconds(lambda: model.run(array), RUNS)
    fast = model.run(array)
    same = slow.packets[0].output == fast.output.tobytes() and slow.cycles == fast.cycles
    if slow.problem or not same:
        raise AssertionError(f"the compiled RTL is not what cocotb runs: {slow.problem}")
    return [
        {
            "operation": f"compressor {config.name}, {name}",
            "cycles": fast.cycles,
            "mb_per_s": size / 1e6 / taken,
            "times_cocotb": None if name == "cocotb" else seconds["cocotb"] / taken,
        }
        for name, taken in seconds.items()
    ]


def _activations(words: int, density: float):
    """Output of a ReLU, as fp32: positive values, and zeros at random places."""
    random = np.random.default_rng(0)
    array = np.abs(random.standard_normal(words, dtype=np.float32))
    array[random.random(words, dtype=np.float32) >= density] = 0
    return array


def _seconds(operation: Callable, runs: int) -> float:
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        operation()
        best = min(best, time.perf_counter() - start)
    return best


def _peak_bytes(operation: Callable) -> int:
    """Peak of what Python and NumPy allocate meanwhile, result included."""
    tracemalloc.start()  # slows everything down, so never while time is taken
    try:
        operation()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def text(result: dict) -> str:
    """Lay out what :func:`measure` gives, and with it as ``rtl`` what :func:`measure_rtl` gives."""
    ratios = f"ratio {result['ratio']:.3f}, zlib's {result['zlib_ratio']:.3f}"
    lines = [
        f"{result['bytes'] >> 20} MiB of fp32 at density {result['density']:g}: {ratios}",
        format_table(result["operations"], COLUMNS),
    ]
    if result["rtl"]:
        lines.append("\n" + format_table(result["rtl"], RTL_COLUMNS))
    return "\n".join(lines)


def tell(text: str) -> None:
    """Tell on stderr what is measured."""
    print(f"bench: {text}", file=sys.stderr, flush=True)
