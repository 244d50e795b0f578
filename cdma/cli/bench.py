"""``cdma bench``: speed of the golden model and of the compiled RTL, with zlib and cocotb."""

import argparse
import io
import json
import sys
import time
import zlib
from collections.abc import Callable

from cdma.errors import UserError
from cdma.tables import format_table

EPILOG = """\
MB/s counts bytes of the array, for every row; bigger is better, as is "x zlib", the speed next to
zlib of level 6 in the same direction. Memory is the peak of the operation beyond its input, as a
multiple of the size of the array; smaller is better.

The RTL is the compressor of 8 lanes of 32 bits, compiled and under cocotb, on 16 MiB at most, the
start of the simulator included. It is left out where a tool is missing.

example:
  cdma bench --mib 16
"""
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


def add_parser(subparsers) -> None:
    """Add the verb ``bench``."""
    parser = subparsers.add_parser(
        "bench",
        help="measure the speed of the golden model and of the compiled RTL",
        description="Measure speed and memory of the golden model beside zlib, and the speed of "
        "the compiled RTL beside cocotb, on random fp32.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parser.add_argument(
        "--mib", type=int, default=64, metavar="N", help="size of the array in MiB (default: 64)"
    )
    parser.add_argument(
        "--density",
        type=float,
        default=0.5,
        metavar="D",
        help="share of words that are not zero, 0 to 1 (default: 0.5)",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the table or the JSON."""
    if args.mib < 1:
        raise UserError(f"--mib must be 1 or more, not {args.mib}")
    if not 0 <= args.density <= 1:
        raise UserError(f"--density must lie in 0..1, not {args.density}")
    result = measure(args.mib << 20, args.density)
    try:
        result["rtl"] = measure_rtl(min(args.mib << 20, RTL_BYTES), args.density)
    except UserError as error:
        _progress(f"RTL left out: {error}")
        result["rtl"] = []
    if args.json:
        print(json.dumps(result, indent=2))
        return 0
    print(
        f"{args.mib} MiB of fp32 at density {args.density:g}: ratio {result['ratio']:.3f}, "
        f"zlib's {result['zlib_ratio']:.3f}"
    )
    print(format_table(result["operations"], COLUMNS))
    if result["rtl"]:
        print("\n" + format_table(result["rtl"], RTL_COLUMNS))
    return 0


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
    import numpy as np

    from cdma.golden import Format, compress, decompress, read_container, write_container

    _progress(f"making {size >> 20} MiB at density {density:g}")
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
        _progress(name)
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
    from cdma.hdl.zvc.config import Config
    from cdma.sim import RtlModel, cosim

    array = _activations(size // 4, density)
    config = Config.of(8, 32)
    model = RtlModel("compressor", config.format, config.lanes, progress=_progress)
    cosim("compressor", [array[:1]], config, progress=_progress)  # builds it

    _progress(f"compressor {config.name} under cocotb, {size >> 20} MiB")
    start = time.perf_counter()
    slow = cosim("compressor", [array], config)
    seconds = {"cocotb": time.perf_counter() - start}
    _progress(f"compressor {config.name} compiled")
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
    import numpy as np

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
    import tracemalloc  # slows everything down, so never while time is taken

    tracemalloc.start()
    try:
        operation()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _progress(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)
