"""Dictionary coders: zlib (the paper's ZL), zstd and lz4."""

import zlib
from typing import Protocol

import numpy as np

from cdma.errors import require
from cdma.study.chunks import PIECE_BYTES

WINDOW_BYTES = 4096
ZLIB_LEVEL = 6
ZSTD_LEVEL = 3


class Compressor(Protocol):
    """Interface of the compression objects of zlib, zstandard and lz4."""

    def compress(self, data) -> bytes: ...
    def flush(self) -> bytes: ...


class Whole:
    """Size of all data as one stream of a compressor.

    All pieces of the input have one size, so that the output does not depend on the chunks.
    """

    def __init__(self, compressor: Compressor):
        self._compressor = compressor
        self._size = 0

    def update(self, words: np.ndarray) -> None:
        """Process the next chunk, shape (words,)."""
        data = words.view(np.uint8)
        for first in range(0, len(data), PIECE_BYTES):
            self._size += len(self._compressor.compress(data[first : first + PIECE_BYTES]))

    def finish(self) -> int:
        """Size in bytes."""
        return self._size + len(self._compressor.flush())


class ZlibWindows:
    """Size of a zlib stream for each 4 KiB of data, as in a DMA engine with a 4 KiB buffer."""

    def __init__(self):
        self._size = 0

    def update(self, words: np.ndarray) -> None:
        """Process the next chunk, shape (words,)."""
        data = words.view(np.uint8)
        for first in range(0, len(data), WINDOW_BYTES):
            window = data[first : first + WINDOW_BYTES]
            self._size += len(zlib.compress(window, ZLIB_LEVEL))

    def finish(self) -> int:
        """Size in bytes."""
        return self._size


def whole_zlib() -> Whole:
    """zlib with level 6, its default."""
    return Whole(zlib.compressobj(ZLIB_LEVEL))


def whole_zstd(total_bytes: int) -> Whole:
    """zstd with level 3, its default. zstd gets the number of bytes in advance."""
    zstandard = require("zstandard", extra="study", verb="zstd")
    return Whole(zstandard.ZstdCompressor(ZSTD_LEVEL).compressobj(size=total_bytes))


def whole_lz4() -> Whole:
    """lz4 with a frame of linked blocks, its default."""
    frame = require("lz4.frame", extra="study", verb="lz4")
    return Whole(_Lz4(frame.LZ4FrameCompressor()))


class _Lz4:
    """Compression object of lz4 that also begins the frame."""

    def __init__(self, compressor):
        self._compressor = compressor
        self._head = compressor.begin()

    def compress(self, data) -> bytes:
        head, self._head = self._head, b""
        return head + self._compressor.compress(data)

    def flush(self) -> bytes:
        return self._head + self._compressor.flush()
