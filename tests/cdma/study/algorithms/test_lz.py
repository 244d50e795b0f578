"""Sizes of the dictionary coders are those of streams that their own decoders accept."""

import zlib

import numpy as np
import pytest

from cdma.golden.zvc.words import to_words
from cdma.study.algorithms import lz
from cdma.study.chunks import PIECE_BYTES, chunks


class Keeping:
    """Compression object that keeps what goes by."""

    def __init__(self, compressor):
        self._compressor = compressor
        self.stream = b""

    def compress(self, data):
        part = self._compressor.compress(data)
        self.stream += part
        return part

    def flush(self):
        part = self._compressor.flush()
        self.stream += part
        return part


def zlib_decode(stream):
    return zlib.decompress(stream)


def zstd_decode(stream):
    return pytest.importorskip("zstandard").ZstdDecompressor().decompress(stream)


def lz4_decode(stream):
    return pytest.importorskip("lz4.frame").decompress(stream)


@pytest.mark.parametrize("pieces", [1, 2, 64])
@pytest.mark.parametrize("name", ["zlib", "zstd", "lz4"])
def test_whole_streams_decode(array, name, pieces):
    decode = {"zlib": zlib_decode, "zstd": zstd_decode, "lz4": lz4_decode}[name]
    data = to_words(array).tobytes()
    if name == "zstd":
        pytest.importorskip("zstandard")
        whole = lz.whole_zstd(len(data))
    else:
        whole = lz.whole_zlib() if name == "zlib" else lz.whole_lz4()
    keeping = whole._compressor = Keeping(whole._compressor)
    for words in chunks(array, pieces * PIECE_BYTES):
        whole.update(words)
    assert whole.finish() == len(keeping.stream)
    assert decode(keeping.stream) == data


def test_windows_are_streams_of_their_own(array):
    windows = lz.ZlibWindows()
    for words in chunks(array, PIECE_BYTES):
        windows.update(words)
    data = to_words(array).tobytes()
    streams = [zlib.compress(data[at : at + 4096], 6) for at in range(0, len(data), 4096)]
    assert b"".join(map(zlib.decompress, streams)) == data
    assert windows.finish() == sum(map(len, streams))


def test_whole_zlib_is_that_of_one_call():
    data = np.random.default_rng(0).integers(0, 3, 300_000, np.uint8)
    whole = lz.whole_zlib()
    whole.update(data)
    assert whole.finish() == len(zlib.compress(data, 6))
