"""One pass gives what each measure gives, whatever the size of a chunk."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from cdma.golden import compress
from cdma.study.algorithms.registry import ALGORITHMS, installed
from cdma.study.chunks import CHUNK_BYTES, PIECE_BYTES
from cdma.study.measure import measure
from cdma.tensors.rows import TYPE_OF


def test_chunked_is_whole(array):
    names, _ = installed()
    whole = measure(array, names, chunk_bytes=CHUNK_BYTES)
    assert whole == measure(array, names, chunk_bytes=PIECE_BYTES)
    has_plus = array.dtype.name in TYPE_OF
    made = [name for name in names if has_plus or not name.startswith("zvcplus")]
    assert list(whole["sizes"]) == [*made, "bound"]
    assert whole["words"] == array.size
    assert whole["bytes"] == array.nbytes


def test_chunked_is_whole_in_another_layout():
    array = np.random.default_rng(0).normal(size=(4, 30, 23, 29)).clip(0).astype(np.float32)
    view = array.transpose(1, 2, 3, 0)
    names, _ = installed()
    chunked = measure(view, names, chunk_bytes=PIECE_BYTES)
    assert chunked == measure(np.ascontiguousarray(view), names)
    assert chunked["sizes"]["zvc32"] == len(compress(array))
    assert chunked["sizes"]["rl"] != measure(array, ["rl"])["sizes"]["rl"]


def test_watchers_see_every_chunk():
    array = np.arange(50_000, dtype="<u4")
    seen = []
    measure(array, [], chunk_bytes=PIECE_BYTES, watchers=[seen.append])
    np.testing.assert_array_equal(np.concatenate(seen), array)


def test_nothing_of_an_empty_array():
    result = measure(np.zeros(0, np.float32), ["zvc32", "rl", "eyeriss", "zlib4k"])
    assert result["density"] is result["zero_blocks"] is result["full_blocks"] is None
    assert set(result["sizes"].values()) == {0}


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
def test_a_file_larger_than_memory(tmp_path):
    """An eighth of the file is all that the process may allocate beyond what it begins with."""
    file = tmp_path / "large.npy"
    size = 256 << 20
    array = np.lib.format.open_memmap(file, "w+", np.float32, (16, 4, 1024, size >> 18))
    array[:, :, ::97, 5:9] = 1.5
    array.flush()
    del array
    script = textwrap.dedent(
        """
        import resource, sys
        import numpy as np
        from cdma.study.measure import measure
        array = np.load(sys.argv[1], mmap_mode="r").transpose(1, 2, 3, 0)
        names = ["zvc32", "rl", "eyeriss", "zlib"]
        measure(array[:1, :1], names)  # imports and buffers
        with open("/proc/self/statm") as statm:
            data = int(statm.read().split()[5]) * resource.getpagesize()
        limit = data + array.nbytes // 8
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        try:
            np.ones(array.size, np.float32)
        except MemoryError:
            print(measure(array, names)["nonzeros"])
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", script, file],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    assert int(done.stdout) == 16 * 4 * len(range(0, 1024, 97)) * 4


def test_every_algorithm_has_a_size_for_each_word():
    for width in (1, 2, 4, 8):
        sizes = measure(np.arange(100, dtype=f"<u{width}") % 3, installed()[0])["sizes"]
        assert sizes.keys() - {"bound"} <= ALGORITHMS.keys()
        assert all(size > 0 for size in sizes.values())
