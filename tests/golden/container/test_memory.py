"""What a forged file can make a reader take: memory by its size, not by what it claims."""

import io
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from cdma.golden import Format, StreamError, read_container, write_container
from cdma.golden.container import file

HELPERS = Path(__file__).parents[2] / "helpers"
#: Reads files whose headers lie, sealed with CRCs that match, in an address space that the lies do
#: not fit in; prints how many were refused.
PROGRAM = """
import importlib.util, io, random, resource, struct, sys
import numpy as np
from cdma.golden import Format, StreamError, decompress, read_container, read_range, write_container
spec = importlib.util.spec_from_file_location("reference", {reference!r})
reference = sys.modules["reference"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reference)
random.seed(0)
seeds = []
for dtype in ("u1", "f2", "f4", "f8"):
    file = io.BytesIO()
    write_container(file, np.arange(500, dtype=dtype).reshape(5, 100) % 3, chunk_blocks=3)
    seeds.append(file.getvalue())
read_container(io.BytesIO(seeds[0]))  # what is imported late is imported now
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + (32 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    np.empty(64 << 20, np.uint8)
    sys.exit("the limit does not hold")
except MemoryError:
    pass
refused = 0
for _ in range(3000):
    data = bytearray(random.choice(seeds))
    for _ in range(random.randint(1, 3)):
        at, size = random.choice(
            [(12, 1), (13, 1), (16, 4), (20, 4), *((at, 8) for at in (24, 32, 40, 64, 72, 80))]
        )
        number = (1 << random.randint(3, 64)) + random.choice([-64, -8, -1, 0, 1])
        data[at : at + size] = (number % (1 << 8 * size)).to_bytes(size, "little")
    data = reference.seal(bytes(data))
    for read in (read_container, lambda file: read_range(file, 0, 1)):
        try:
            read(io.BytesIO(data))
        except StreamError:
            refused += 1
for word_bits in (8, 16, 32, 64):
    for bits in range(20, 80):
        try:
            decompress(bytes(64), 1 << bits, Format(word_bits))
        except StreamError:
            refused += 1
print(refused)
"""


def container(array, fmt=None, chunk_blocks=256) -> bytes:
    file = io.BytesIO()
    write_container(file, array, fmt, chunk_blocks)
    return file.getvalue()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space are Linux's")
def test_lies_take_no_memory(reference):
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(reference=reference.__file__)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(HELPERS)},
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > 6000


#: Files that are right and as unfavourable as can be.
UNFAVOURABLE = {
    "zeros": lambda: container(np.zeros(1 << 20, "u8")),
    "dense": lambda: container(np.ones(1 << 22, "u1")),
    "a block of zeros": lambda: container(np.zeros(1 << 20, "u8"), Format(64, 1 << 20)),
    "a dense block": lambda: container(np.ones(1 << 20, "u1"), Format(8, 1 << 20)),
    "a part of a block": lambda: container(np.ones((1 << 20) - 1, "u1"), Format(8, 1 << 20)),
    "few words of a block": lambda: container(np.ones(1, "u1"), Format(8, 1 << 24)),
    "few words of a block of ones": lambda: container(np.ones(1, "u1"), Format(8, 1 << 24, "ones")),
    "a chunk": lambda: container(np.zeros(1 << 20, "u1"), Format(8, 8), 1 << 30),
    "tiny chunks": lambda: container(np.zeros(1 << 19, "u1"), Format(8, 8), 1),
}


@pytest.mark.parametrize("name", UNFAVOURABLE)
def test_memory_is_bounded_by_file_and_array(name):
    data = UNFAVOURABLE[name]()
    file = io.BytesIO(data)
    tracemalloc.start()
    try:
        array = read_container(file)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert array.nbytes <= 64 * len(data)
    assert peak < 5 * array.nbytes + 10 * len(data) + (4 << 20)


def test_an_error_behind_many_chunks_is_found_in_few_steps(monkeypatch):
    """The chunks are decoded side by side, in halves, not one after the other."""
    chunks = 1 << 17
    data = bytearray(container(np.zeros(8 * chunks, "u1"), Format(8, 8), 1))
    data[-1] = 1
    steps = []
    lockstep_starts = file.lockstep_starts

    def counted(*arguments):
        steps.append(arguments)
        return lockstep_starts(*arguments)

    monkeypatch.setattr(file, "lockstep_starts", counted)
    with pytest.raises(StreamError) as caught:
        read_container(io.BytesIO(data))
    assert caught.value.offset == len(data) - 1
    assert 0 < len(steps) < 100
