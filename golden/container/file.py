"""The ``.zvc`` container: one array in one file, any part of which decodes alone.

``docs/format.md`` specifies it byte by byte. Files given as objects must be binary, seekable, and
hold nothing but the container.
"""

import math
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import BinaryIO

import numpy as np

from cdma.format import Format
from cdma.golden.container.codecs import codec_of
from cdma.golden.container.elements import DTYPES, numpy_dtype
from cdma.golden.container.header import (
    CHUNK_BLOCKS,
    MAX_DIMENSIONS,
    Header,
    LossyFields,
    pack_header,
    parse_header,
    refusal,
)
from cdma.golden.errors import StreamError
from cdma.golden.lossy.codec import Quantised, dequantise_words
from cdma.golden.zvc.codec import compress_words, decode, expand_blocks
from cdma.golden.zvc.stages import count_nonzeros
from cdma.golden.zvc.walk import lockstep_starts
from cdma.golden.zvc.words import format_for, to_words, whole_words
from cdma.integers import integer

_MAX_U32 = 2**32 - 1
# Words decoded at a time: enough chunks in parallel to make a step of the walk efficient.
_GROUP_WORDS = 1 << 22
# With fewer chunks side by side, following each alone is faster.
_LOCKSTEP_CHUNKS = 16


def write_container(
    file: str | os.PathLike | BinaryIO,
    array,
    fmt: Format | None = None,
    chunk_blocks: int = CHUNK_BLOCKS,
    raw_chunks: bool = False,
) -> None:
    """Compress an array into a container.

    Parameters
    ----------
    file : path or binary file
        Where to write; a path is overwritten.
    array : array_like
        Booleans, integers, floats up to 64 bits, complex64 or bfloat16, of up to 32 dimensions;
        floating point where ``fmt`` folds ``-0.0``.
    fmt : Format, that of another codec, or None
        Format of the stream: it says what the codec is. ``None`` gives the zero-value codec with
        the default for the size of an element.
    chunk_blocks : int
        Blocks in a chunk: more save index, fewer let smaller parts be read.
    raw_chunks : bool
        Store chunks that compression would make longer as they are. With such a chunk the container
        is of version 2.

    Raises
    ------
    TypeError, ValueError
        When the array, the format or the chunk length cannot be stored; nothing is written then.
    """
    array = np.asarray(array)
    if codec_of(fmt):
        format_for(array.dtype, Format(fmt.word_bits))
    else:
        fmt = format_for(array.dtype, fmt)
    name = array.dtype.name
    write_words(file, to_words(array), fmt, name, array.shape, chunk_blocks, raw_chunks)


def write_words(
    file: str | os.PathLike | BinaryIO,
    words: np.ndarray,
    fmt: Format,
    dtype: str,
    shape: tuple[int, ...],
    chunk_blocks: int = CHUNK_BLOCKS,
    raw_chunks: bool = False,
) -> None:
    """Compress bare words of ``fmt``, elements of the type called ``dtype``, into a container.

    For the other arguments and the errors see :func:`write_container`.
    """
    if dtype not in DTYPES:
        raise TypeError(f"Element type must be one of {', '.join(DTYPES)}, not {dtype!r}")
    if len(shape) > MAX_DIMENSIONS:
        raise ValueError(f"Array must have at most {MAX_DIMENSIONS} dimensions, not {len(shape)!r}")
    if fmt.block_words > _MAX_U32:
        raise ValueError(f"Block length must be below 2**32, not {fmt.block_words!r}")
    chunk_blocks = integer("Chunk length", chunk_blocks)
    if not 0 < chunk_blocks <= _MAX_U32:
        raise ValueError(f"Chunk length must be in 1..2**32-1 blocks, not {chunk_blocks!r}")

    chunks = compress_chunks(words, fmt, chunk_blocks, raw_chunks)
    write_chunks(file, *chunks, fmt, chunk_blocks, dtype, shape)


def compress_chunks(
    words: np.ndarray, fmt: Format, chunk_blocks: int = CHUNK_BLOCKS, raw_chunks: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compress words in chunks.

    Returns
    -------
    stream, offsets, raw : ndarray
        As :func:`write_chunks` takes them.
    """
    codec = codec_of(fmt)
    if codec:
        size = chunk_blocks * fmt.block_words
        parts = [codec.compress(words[at : at + size], fmt) for at in range(0, len(words), size)]
        stream = np.concatenate([np.zeros(0, np.uint8), *parts])
        offsets = np.cumsum([0, *(len(part) for part in parts)], dtype=np.int64)
    else:
        stream = compress_words(words, fmt)
        offsets = _chunk_offsets(words, fmt, chunk_blocks)
    if raw_chunks:
        return _with_raw_chunks(words, stream, offsets, chunk_blocks, fmt)
    return stream, offsets, np.zeros(len(offsets) - 1, bool)


def write_chunks(
    file: str | os.PathLike | BinaryIO,
    stream: np.ndarray,
    offsets: np.ndarray,
    raw: np.ndarray,
    fmt: Format,
    chunk_blocks: int,
    dtype: str,
    shape: tuple[int, ...],
    lossy: LossyFields | None = None,
    outliers: bytes = b"",
) -> None:
    """Write a container of chunks that are compressed already.

    Parameters
    ----------
    file : path or binary file
        Where to write; a path is overwritten.
    stream : ndarray of uint8, shape (bytes,)
        All chunks, one behind the other.
    offsets : ndarray of int64, shape (chunks + 1,)
        Where each chunk starts, and where the last one ends.
    raw : ndarray of bool, shape (chunks,)
        Whether a chunk is its words as they are.
    fmt : Format
    chunk_blocks : int
        Blocks in every chunk but the last.
    dtype : str
        One of ``DTYPES``.
    shape : tuple of int
    lossy : LossyFields or None
        Of the lossy codec, whose stream has quantised numbers.
    outliers : bytes
        What follows the stream of the lossy codec.
    """
    header = Header(
        version=2 if raw.any() or lossy or codec_of(fmt) else 1,
        format=fmt,
        dtype=dtype,
        shape=shape,
        words=math.prod(shape),
        stream_bytes=len(stream),
        chunk_blocks=chunk_blocks,
        chunk_offsets=offsets,
        chunk_crcs=crcs_of(stream, offsets),
        chunk_raw=raw,
        lossy=lossy,
    )
    packed = pack_header(header)  # what cannot be packed leaves the file as it is
    with _opened(file, "wb") as target:
        target.write(packed)
        target.write(stream)
        target.write(outliers)


def read_header(file: str | os.PathLike | BinaryIO) -> Header:
    """Read and check everything in front of the stream.

    Raises
    ------
    StreamError
        With code ``CONTAINER`` and the file offset of what is wrong or unknown.
    OSError
        When the file cannot be read.
    """
    with _opened(file, "rb") as source:
        return parse_header(source)


def read_container(file: str | os.PathLike | BinaryIO) -> np.ndarray:
    """Read the array that ``write_container`` wrote.

    Returns
    -------
    ndarray
        Shape and type of the array written, C order, little-endian. bfloat16 needs ``ml_dtypes``;
        without it the bit patterns are given as uint16.

    Raises
    ------
    StreamError
        With the file offset of the error; code ``CONTAINER``, or that of an error in the stream.
    OSError
        When the file cannot be read.
    """
    with _opened(file, "rb") as source:
        header = parse_header(source)
        words = _read_elements(source, header, 0, header.words)
    return words.view(numpy_dtype(header.dtype)).reshape(header.shape)


def read_stream(file: str | os.PathLike | BinaryIO) -> np.ndarray:
    """Read the bytes of all chunks, checked against their CRCs and not decoded.

    The outliers of the lossy codec are not among them.

    Returns
    -------
    ndarray of uint8, shape (bytes,)

    Raises
    ------
    StreamError, OSError
        As ``read_header``; at the first chunk whose CRC does not match.
    """
    with _opened(file, "rb") as source:
        header = parse_header(source)
        source.seek(header.header_bytes)
        data = np.frombuffer(source.read(header.stream_bytes), np.uint8)
    bad = np.flatnonzero(crcs_of(data, header.chunk_offsets) != header.chunk_crcs)
    if len(bad):
        where = header.header_bytes + int(header.chunk_offsets[bad[0]])
        raise refusal(where, f"chunk {bad[0]} is damaged, its CRC does not match")
    return data


def read_range(file: str | os.PathLike | BinaryIO, start: int, stop: int) -> np.ndarray:
    """Read elements ``start`` to ``stop`` (excluded) in C order, decoding only their chunks.

    Returns
    -------
    ndarray of the array's type, shape (stop - start,)

    Raises
    ------
    ValueError
        Unless ``0 <= start <= stop <= words``.
    StreamError, OSError
        As ``read_container``.
    """
    with _opened(file, "rb") as source:
        header = parse_header(source)
        if not 0 <= start <= stop <= header.words:
            raise ValueError(
                f"Range must lie in 0..{header.words} and not run backwards, not {start}..{stop}"
            )
        return _read_elements(source, header, start, stop).view(numpy_dtype(header.dtype))


def _chunk_offsets(words: np.ndarray, fmt: Format, chunk_blocks: int) -> np.ndarray:
    """Byte offsets in the stream of the chunks of ``words``, and of its end."""
    chunk_words = chunk_blocks * fmt.block_words
    offsets = [0]
    for first in range(0, len(words), chunk_words):
        chunk = words[first : first + chunk_words]
        offsets.append(offsets[-1] + fmt.stream_bytes(len(chunk), count_nonzeros(chunk, fmt)))
    return np.array(offsets, np.int64)


def _with_raw_chunks(
    words: np.ndarray, stream: np.ndarray, offsets: np.ndarray, chunk_blocks: int, fmt: Format
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stream, offsets and raw flags when chunks that would grow are stored as they are."""
    chunk_bytes = chunk_blocks * fmt.block_words * fmt.word_bytes
    starts = np.arange(len(offsets) - 1) * chunk_bytes
    memory = np.minimum(chunk_bytes, words.nbytes - starts)
    raw = np.diff(offsets) > memory
    data = words.view(np.uint8)
    parts = [
        data[start : start + length] if is_raw else stream[first:last]
        for start, length, is_raw, (first, last) in zip(
            starts.tolist(), memory.tolist(), raw.tolist(), pairwise(offsets.tolist()), strict=True
        )
    ]
    stream = np.concatenate(parts) if parts else stream
    return stream, np.append(0, np.cumsum([len(part) for part in parts], dtype=np.int64)), raw


def crcs_of(data: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """CRC-32 of the parts of ``data`` between consecutive offsets."""
    parts = (data[start:end] for start, end in pairwise(offsets.tolist()))
    return np.array([zlib.crc32(part) for part in parts], "<u4")


def _read_elements(source: BinaryIO, header: Header, start: int, stop: int) -> np.ndarray:
    """Bit patterns of elements ``start`` to ``stop`` (excluded), shape (stop - start,)."""
    first = start // header.chunk_words
    words = _read_chunks(source, header, first, -(-stop // header.chunk_words))
    skipped = first * header.chunk_words
    words = words[start - skipped : stop - skipped]
    if header.lossy is None:
        return words
    places, elements = _read_outliers(source, header)
    inside = slice(*np.searchsorted(places, (start, stop)))
    q = words.view(f"<i{words.itemsize}")
    outliers = places[inside] - start, elements[inside]
    return dequantise_words(Quantised(header.dtype, q.shape, header.lossy.step, q, *outliers))


def _read_outliers(source: BinaryIO, header: Header) -> tuple[np.ndarray, np.ndarray]:
    """Places, int64, and elements, unsigned words, of the outliers behind the stream."""
    where, count = header.header_bytes + header.stream_bytes, header.lossy.outliers
    source.seek(where)
    data = source.read(header.outlier_bytes)
    if zlib.crc32(data) != header.lossy.crc:
        raise refusal(where, "the outliers are damaged, their CRC does not match")
    places = np.frombuffer(data, "<u8", count)
    good = places < header.words
    good[1:] &= places[1:] > places[:-1]
    if not good.all():
        at = int(np.argmin(good))
        reason = f"places of outliers must ascend below {header.words}, not be {places[at]}"
        raise refusal(where + 8 * at, reason)
    return places.astype(np.int64), np.frombuffer(data, f"<u{header.item_bytes}", offset=8 * count)


def _read_chunks(source: BinaryIO, header: Header, first: int, last: int) -> np.ndarray:
    """Words of chunks ``first`` to ``last`` (excluded), checked, shape (words,)."""
    chunk_words = header.chunk_words
    start = first * chunk_words
    out = np.empty(max(0, min(last * chunk_words, header.words) - start), header.format.dtype)
    group = max(1, _GROUP_WORDS // chunk_words)
    for chunk, end in _groups(header.chunk_raw, first, last, group):
        offsets = header.chunk_offsets[chunk : end + 1]
        base = header.header_bytes + int(offsets[0])
        source.seek(base)
        data = np.frombuffer(source.read(int(offsets[-1] - offsets[0])), np.uint8)
        given = out[chunk * chunk_words - start : end * chunk_words - start]
        _decode_group(data, header, chunk, end, base, given)
    return out


def _groups(raw: np.ndarray, first: int, last: int, most: int) -> Iterator[tuple[int, int]]:
    """Cut chunks ``first`` to ``last`` into runs of one kind and at most ``most`` chunks."""
    changes = first + 1 + np.flatnonzero(np.diff(raw[first:last]))
    for start, end in pairwise([first, *changes.tolist(), last]):
        for chunk in range(start, end, most):
            yield chunk, min(chunk + most, end)


def _decode_group(
    data: np.ndarray, header: Header, first: int, last: int, base: int, out: np.ndarray
) -> None:
    """Decode the bytes ``data`` of chunks ``first`` to ``last``, at file offset ``base``.

    Chunks of the group are all raw or all compressed.
    """
    if header.chunk_raw[first]:
        _take_raw(data, header, first, last, base, out)
        return
    fmt = header.format
    offsets = header.chunk_offsets[first : last + 1] - header.chunk_offsets[first]
    crcs = header.chunk_crcs[first:last]
    whole = len(out) // header.chunk_words
    done = 0
    if whole >= _LOCKSTEP_CHUNKS and not codec_of(fmt):
        side_by_side = out[: whole * header.chunk_words]
        if not _decode_lockstep(data, offsets[: whole + 1], crcs[:whole], header, side_by_side):
            # The first error is in one of the halves: far fewer chunks are then decoded alone.
            half = whole // 2
            at, middle = int(offsets[half]), half * header.chunk_words
            _decode_group(data[:at], header, first, first + half, base, out[:middle])
            _decode_group(data[at:], header, first + half, last, base + at, out[middle:])
            return
        done = whole
    for chunk in range(done, last - first):
        part = data[offsets[chunk] : offsets[chunk + 1]]
        where = base + int(offsets[chunk])
        if zlib.crc32(part) != crcs[chunk]:
            raise refusal(where, f"chunk {first + chunk} is damaged, its CRC does not match")
        given = out[chunk * header.chunk_words : (chunk + 1) * header.chunk_words]
        words, error = _decode_chunk(part, len(given), fmt, where)
        if error:
            raise error
        given[:] = words


def _decode_chunk(
    part: np.ndarray, count: int, fmt: Format, where: int
) -> tuple[np.ndarray, StreamError | None]:
    """Words of the chunk at file offset ``where``, and its error with an offset in the file."""
    codec = codec_of(fmt)
    if codec is None:
        return decode(part, count, fmt, base=where)
    words, error = codec.decode(part, count, fmt)
    if error:
        at = where + codec.byte_of(error.offset)
        error = StreamError(f"{error} of the chunk at byte {where}", at, error.code)
    return words, error


def _take_raw(
    data: np.ndarray, header: Header, first: int, last: int, base: int, out: np.ndarray
) -> None:
    """Check and take the raw chunks ``first`` to ``last``; parameters as of ``_decode_group``."""
    offsets = header.chunk_offsets[first : last + 1] - header.chunk_offsets[first]
    bad = np.flatnonzero(crcs_of(data, offsets) != header.chunk_crcs[first:last])
    if len(bad):
        where = base + int(offsets[bad[0]])
        raise refusal(where, f"chunk {first + bad[0]} is damaged, its CRC does not match")
    out[:] = whole_words(data, header.format)


def _decode_lockstep(
    data: np.ndarray, offsets: np.ndarray, crcs: np.ndarray, header: Header, out: np.ndarray
) -> bool:
    """Decode chunks of whole blocks side by side; False when anything is wrong with any."""
    if not np.array_equal(crcs_of(data, offsets), crcs):
        return False
    fmt = header.format
    words = whole_words(data, fmt)
    bounds = offsets // fmt.word_bytes
    starts, ends = lockstep_starts(words, bounds[:-1], header.chunk_blocks, fmt)
    if not np.array_equal(ends, bounds[1:]):
        return False
    return expand_blocks(words, np.append(starts, ends[-1]), fmt, out) is None


@contextmanager
def _opened(file: str | os.PathLike | BinaryIO, mode: str) -> Iterator[BinaryIO]:
    if isinstance(file, (str, os.PathLike)):
        with open(file, mode) as opened:
            yield opened
    else:
        yield file
