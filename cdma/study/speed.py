"""Compare the golden models with zlib in speed and memory, and the compiled RTL with cocotb."""

import io
import itertools
import sys
import time
import tracemalloc
import zlib
from collections.abc import Callable

import numpy as np

from cdma.golden import Format, compress, decompress, read_container, write_container, zvcplus
from cdma.hdl.zvc.config import Config
from cdma.sim import RtlModel, cosim
from cdma.tables import format_table
from cdma.tensors.rows import format_for
from cdma.zvcplus import REPEATS, TYPES

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
PLUS_COLUMNS = {
    "operation": "ZVC+",
    "ratio": "ratio",
    "compress_mb_per_s": "compress MB/s",
    "decompress_mb_per_s": "decompress MB/s",
}
#: Most bytes for ZVC+, whose types and repeats are many.
PLUS_BYTES = 16 << 20
#: Words to the one above, of the arrays for ZVC+ with repeats above.
PLUS_ROW = 56
#: Most bytes for the RTL, because cocotb simulates only about two million bytes a second.
RTL_BYTES = 16 << 20
#: Runs of an operation. The best counts. The compression of zlib takes long and runs once.
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
        The compression ratios, and for each of ``operations`` the speed in MB/s of the array, the
        speed divided by zlib's, and the peak of memory divided by the size of the array.

    Raises
    ------
    AssertionError
        When an operation does not return the array.
    """
    report(f"making {size >> 20} MiB at density {density:g}")
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
            raise AssertionError(f"{name} does not return the array")

    def zlib_compress():
        return zlib.compress(array, 6)

    def zlib_decompress():
        return zlib.decompress(packed, bufsize=size)  # with the size, zlib does not grow its buffer

    rows = []
    for name, peer, operation, runs in (
        ("zlib -6 compress", None, zlib_compress, 1),
        ("compress", 0, lambda: compress(array), RUNS),
        ("container write", 0, lambda: write_container(io.BytesIO(), array), RUNS),
        ("zlib decompress", None, zlib_decompress, RUNS),
        ("decompress", 3, lambda: decompress(stream, array.size, Format()), RUNS),
        ("container read", 3, lambda: read_container(container), RUNS),
    ):
        report(name)
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


def measure_zvcplus(size: int, density: float) -> list[dict]:
    """Measure the golden model of ZVC+ for each type and each of its repeats, on one array each.

    Parameters
    ----------
    size, density
        As for :func:`measure`; elements are the same numbers in each type.

    Returns
    -------
    list of dict
        The compression ratio, and the speeds in MB/s of the array.

    Raises
    ------
    AssertionError
        When an array does not come back.
    """
    rows = []
    for type_, repeats in itertools.product(TYPES, REPEATS):
        fmt = format_for(type_, repeats, PLUS_ROW)
        name = f"{type_}, {'no repeats' if repeats == 'none' else repeats}"
        report(f"ZVC+ {name}")
        array = _as_type(_activations(size // fmt.word_bytes, density), type_)
        stream = zvcplus.compress(array, fmt)
        if not np.array_equal(zvcplus.decompress(stream, array.size, fmt), array):
            raise AssertionError(f"ZVC+ {name} does not return the array")
        pack = _seconds(lambda a=array, f=fmt: zvcplus.compress(a, f), RUNS)
        unpack = _seconds(lambda s=stream, a=array, f=fmt: zvcplus.decompress(s, a.size, f), RUNS)
        rows.append(
            {
                "operation": name,
                "ratio": array.nbytes / stream.nbytes,
                "compress_mb_per_s": array.nbytes / 1e6 / pack,
                "decompress_mb_per_s": array.nbytes / 1e6 / unpack,
            }
        )
    return rows


def measure_rtl(size: int, density: float) -> list[dict]:
    """Measure the compressor's RTL under cocotb and compiled, on one array.

    Parameters
    ----------
    size, density
        As for :func:`measure`.

    Returns
    -------
    list of dict
        For each of the two simulators: the cycles, the speed in MB/s of the array, and the speed
        divided by cocotb's.

    Raises
    ------
    UserError
        When a tool is missing.
    AssertionError
        When the simulators differ in the bytes or in the cycles.
    """
    array = _activations(size // 4, density)
    config = Config.of(8, 32)
    model = RtlModel("compressor", config.format, config.lanes, progress=report)
    cosim("compressor", [array[:1]], config, progress=report)  # builds the model

    report(f"compressor {config.name} under cocotb, {size >> 20} MiB")
    start = time.perf_counter()
    slow = cosim("compressor", [array], config)
    seconds = {"cocotb": time.perf_counter() - start}
    report(f"compressor {config.name} compiled")
    seconds["compiled"] = _seconds(lambda: model.run(array), RUNS)
    fast = model.run(array)
    same = slow.packets[0].output == fast.output.tobytes() and slow.cycles == fast.cycles
    if slow.problem or not same:
        raise AssertionError(f"the compiled RTL differs from cocotb: {slow.problem}")
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
    """Output of a ReLU, as fp32: positive values, and zeros at random positions."""
    random = np.random.default_rng(0)
    array = np.abs(random.standard_normal(words, dtype=np.float32))
    array[random.random(words, dtype=np.float32) >= density] = 0
    return array


def _as_type(array: np.ndarray, type_: str) -> np.ndarray:
    """Bit patterns of the numbers in a type of ZVC+; int8 in steps of a 32nd."""
    if type_ == "bf16":
        return (array.view(np.uint32) >> 16).astype(np.uint16)
    if type_ == "int8":
        return np.minimum(np.rint(array * 32), 127).astype(np.uint8)
    bits = array.astype({"fp32": np.float32, "fp16": np.float16}[type_])
    return bits.view(f"u{bits.itemsize}")


def _seconds(operation: Callable, runs: int) -> float:
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        operation()
        best = min(best, time.perf_counter() - start)
    return best


def _peak_bytes(operation: Callable) -> int:
    """Peak of the memory that Python and NumPy allocate during an operation, with its result."""
    tracemalloc.start()  # slows down all operations, so not during a measurement of time
    try:
        operation()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def text(result: dict) -> str:
    """Format a result of :func:`measure`. ``zvcplus`` and ``rtl`` in it are those of
    :func:`measure_zvcplus` and :func:`measure_rtl`."""
    ratios = f"ratio {result['ratio']:.3f}, zlib's {result['zlib_ratio']:.3f}"
    lines = [
        f"{result['bytes'] >> 20} MiB of fp32 at density {result['density']:g}: {ratios}",
        format_table(result["operations"], COLUMNS),
        "\n" + format_table(result["zvcplus"], PLUS_COLUMNS),
    ]
    if result["rtl"]:
        lines.append("\n" + format_table(result["rtl"], RTL_COLUMNS))
    return "\n".join(lines)


def report(text: str) -> None:
    """Print the operation that is being measured on stderr."""
    print(f"bench: {text}", file=sys.stderr, flush=True)
