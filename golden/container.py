"""The ``.zvc`` container: one array in one file, any part of which decodes alone.

``docs/format.md`` specifies it byte by byte. Files given as objects must be binary, seekable, and
hold nothing but the container.
"""

import math
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from cdma.golden.codec import compress, decode, expand_blocks
from cdma.golden.errors import StreamError
from cdma.golden.format import ErrorCode, Format
from cdma.golden.walk import lockstep_starts
from cdma.golden.words import format_for, to_words, whole_words

MAGIC = b"\x89ZVC\r\n\x1a\n"
VERSION = 1
#: Blocks in a chunk unless told otherwise: 32 KiB of fp32, for 12 bytes of index.
CHUNK_BLOCKS = 256

# NumPy 1.26 has arrays of at most 32 dimensions.
_MAX_DIMENSIONS = 32
_MAX_U32 = 2**32 - 1
_BUILT_IN = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64"),
)
_DTYPE_NAMES = (*_BUILT_IN, "bfloat16")

# The fields in front of shape and index, in order; tests and messages find offsets by name.
_FIELDS = {
    "magic": "8s",
    "version": "H",
    "flags": "H",
    "word_bits": "B",
    "ndim": "B",
    "reserved": "H",
    "block_words": "I",
    "chunk_blocks": "I",
    "header_bytes": "Q",
    "words": "Q",
    "stream_bytes": "Q",
    "dtype": "16s",
}
_PREFIX = struct.Struct("<" + "".join(_FIELDS.values()))
_ENTRY = np.dtype([("offset", "<u8"), ("crc", "<u4")])

# Words decoded at a time: enough chunks side by side to make a step of the walk worth its while.
_GROUP_WORDS = 1 << 22
# With fewer chunks side by side, following each alone is faster.
_LOCKSTEP_CHUNKS = 16


@dataclass(frozen=True, eq=False)
class Header:
    """What a container says about itself.

    Attributes
    ----------
    version : int
        Version of the container format.
    format : Format
        Parameters of the stream.
    dtype : str
        NumPy name of the element type.
    shape : tuple of int
        Shape of the array.
    words : int
        Elements of the array.
    stream_bytes : int
        Bytes of the raw stream.
    chunk_blocks : int
        Blocks in every chunk but the last.
    header_bytes : int
        Offset of the raw stream in the file.
    chunk_offsets : ndarray of int64, shape (chunks + 1,)
        Byte offsets in the stream of the chunks, and of its end.
    chunk_crcs : ndarray of uint32, shape (chunks,)
        CRC-32 of each chunk's bytes.
    """

    version: int
    format: Format
    dtype: str
    shape: tuple[int, ...]
    words: int
    stream_bytes: int
    chunk_blocks: int
    header_bytes: int
    chunk_offsets: np.ndarray
    chunk_crcs: np.ndarray

    @property
    def chunk_words(self) -> int:
        """Words in every chunk but the last."""
        return self.chunk_blocks * self.format.block_words

    @property
    def raw_bytes(self) -> int:
        """Bytes of the array."""
        return self.words * self.format.word_bytes

    @property
    def file_bytes(self) -> int:
        """Bytes of the container."""
        return self.header_bytes + self.stream_bytes

    @property
    def nonzeros(self) -> int:
        """Words that are not zero."""
        masks = self.format.stream_bytes(self.words, 0)
        return (self.stream_bytes - masks) // self.format.word_bytes

    @property
    def density(self) -> float:
        """Share of words that are not zero; 0 for an empty array."""
        return self.nonzeros / self.words if self.words else 0.0

    @property
    def ratio(self) -> float:
        """Bytes of the array for each byte of the stream; 1 for an empty array."""
        return self.raw_bytes / self.stream_bytes if self.words else 1.0


def write_container(
    file: str | os.PathLike | BinaryIO,
    array,
    fmt: Format | None = None,
    chunk_blocks: int = CHUNK_BLOCKS,
) -> None:
    """Compress an array into a container.

    Parameters
    ----------
    file : path or binary file
        Where to write; a path is overwritten.
    array : array_like
        Booleans, integers, floats up to 64 bits, complex64 or bfloat16, of up to 32 dimensions.
    fmt : Format or None
        Format of the stream; ``None`` gives the default for the size of an element.
    chunk_blocks : int
        Blocks in a chunk: more save index, fewer let smaller parts be read.

    Raises
    ------
    TypeError, ValueError
        When the array, the format or the chunk length cannot be stored; nothing is written then.
    """
    array = np.asarray(array)
    fmt = format_for(array.dtype, fmt)
    name = array.dtype.name
    if name not in _DTYPE_NAMES:
        raise TypeError(f"Element type must be one of {', '.join(_DTYPE_NAMES)}, not {name!r}")
    if array.ndim > _MAX_DIMENSIONS:
        raise ValueError(f"Array must have at most 32 dimensions, not {array.ndim!r}")
    if fmt.block_words > _MAX_U32:
        raise ValueError(f"Block length must be below 2**32, not {fmt.block_words!r}")
    if not isinstance(chunk_blocks, int) or isinstance(chunk_blocks, bool):
        raise TypeError(f"Chunk length must be an integer, not {chunk_blocks!r}")
    if not 0 < chunk_blocks <= _MAX_U32:
        raise ValueError(f"Chunk length must be in 1..2**32-1 blocks, not {chunk_blocks!r}")

    words = to_words(array)
    stream = compress(words, fmt)
    index = _index(words, stream, fmt, chunk_blocks)
    fields = {
        "magic": MAGIC,
        "version": VERSION,
        "flags": 0,
        "word_bits": fmt.word_bits,
        "ndim": array.ndim,
        "reserved": 0,
        "block_words": fmt.block_words,
        "chunk_blocks": chunk_blocks,
        "header_bytes": _header_bytes(array.ndim, len(index)),
        "words": len(words),
        "stream_bytes": len(stream),
        "dtype": name.encode("ascii"),
    }
    shape = struct.pack(f"<{array.ndim}Q", *array.shape)
    header = _PREFIX.pack(*fields.values()) + shape + index.tobytes()
    header = header.ljust(fields["header_bytes"] - 4, b"\0")
    with _opened(file, "wb") as target:
        target.write(header)
        target.write(struct.pack("<I", zlib.crc32(header)))
        target.write(stream)


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
        return _read_header(source)


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
        header = _read_header(source)
        words = _read_chunks(source, header, 0, len(header.chunk_crcs))
    return words.view(_numpy_dtype(header.dtype)).reshape(header.shape)


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
        header = _read_header(source)
        if not 0 <= start <= stop <= header.words:
            raise ValueError(
                f"Range must lie in 0..{header.words} and not run backwards, not {start}..{stop}"
            )
        first = start // header.chunk_words
        last = -(-stop // header.chunk_words) if stop > start else first
        words = _read_chunks(source, header, first, last)
    skipped = first * header.chunk_words
    return words[start - skipped : stop - skipped].view(_numpy_dtype(header.dtype))


def field_offset(name: str) -> int:
    """Byte offset in the file of a header field in front of the shape."""
    names = list(_FIELDS)
    return struct.calcsize("<" + "".join(_FIELDS[each] for each in names[: names.index(name)]))


def _header_bytes(ndim: int, chunks: int) -> int:
    """Size of the header: fields, shape, index and CRC, filled up so that the stream is aligned."""
    size = _PREFIX.size + 8 * ndim + _ENTRY.itemsize * chunks + 4
    return -(-size // 8) * 8


def _index(words: np.ndarray, stream: np.ndarray, fmt: Format, chunk_blocks: int) -> np.ndarray:
    """Offset in the stream and CRC of each chunk."""
    chunk_words = chunk_blocks * fmt.block_words
    index = np.empty(-(-len(words) // chunk_words), _ENTRY)
    offset = 0
    for chunk in range(len(index)):
        part = words[chunk * chunk_words : (chunk + 1) * chunk_words]
        end = offset + fmt.stream_bytes(len(part), np.count_nonzero(part))
        index[chunk] = offset, zlib.crc32(stream[offset:end])
        offset = end
    return index


def _read_header(source: BinaryIO) -> Header:
    file_bytes = source.seek(0, os.SEEK_END)
    source.seek(0)
    prefix = source.read(_PREFIX.size)
    if prefix[: len(MAGIC)] != MAGIC[: len(prefix)]:
        raise _refusal(0, "not a .zvc container, its first 8 bytes are others")
    if len(prefix) < _PREFIX.size:
        raise _refusal(len(prefix), "file ends inside its header")
    fields = dict(zip(_FIELDS, _PREFIX.unpack(prefix), strict=True))

    def require(condition: bool, field: str, rule: str) -> None:
        if not condition:
            raise _refusal(field_offset(field), f"{rule}, not {fields[field]!r}")

    # Version and flags come first: they decide what all the rest means.
    require(fields["version"] == VERSION, "version", f"container version must be {VERSION}")
    require(fields["flags"] == 0, "flags", "no flag is known, flags must be 0")
    header_bytes = fields["header_bytes"]
    least = _header_bytes(0, 0)
    require(header_bytes >= least, "header_bytes", f"header must be {least} bytes or more")
    if header_bytes > file_bytes:
        raise _refusal(file_bytes, f"file ends inside the header of {header_bytes} bytes")
    rest = prefix[_PREFIX.size :] + source.read(header_bytes - _PREFIX.size)
    if zlib.crc32(prefix + rest[:-4]) != int.from_bytes(rest[-4:], "little"):
        raise _refusal(0, "header is damaged, its CRC does not match")

    require(fields["reserved"] == 0, "reserved", "reserved field must be 0")
    try:
        fmt = Format(fields["word_bits"])
    except ValueError as error:
        raise _refusal(field_offset("word_bits"), str(error)) from None
    try:
        fmt = Format(fields["word_bits"], fields["block_words"])
    except ValueError as error:
        raise _refusal(field_offset("block_words"), str(error)) from None
    name = fields["dtype"].rstrip(b"\0").decode("ascii", "replace")
    known = name in _DTYPE_NAMES and _item_bytes(name) == fmt.word_bytes
    require(known, "dtype", f"element type must be known and of {fmt.word_bytes} bytes")
    ndim, words, stream_bytes = fields["ndim"], fields["words"], fields["stream_bytes"]
    require(ndim <= _MAX_DIMENSIONS, "ndim", f"dimensions must be {_MAX_DIMENSIONS} or fewer")
    require(fields["chunk_blocks"] > 0, "chunk_blocks", "chunk must be one block or more")

    # Sizes must agree with each other and with the file before memory is taken for any of them.
    end = header_bytes + stream_bytes
    if file_bytes < end:
        raise _refusal(file_bytes, f"file ends inside the stream, which ends at byte {end}")
    if file_bytes > end:
        raise _refusal(end, f"container ends here, {file_bytes - end} bytes follow")
    fits = _is_stream_size(stream_bytes, words, fmt)
    require(bool(fits), "stream_bytes", f"stream of {words} words cannot have this size")
    chunk_words = fields["chunk_blocks"] * fmt.block_words
    chunks = -(-words // chunk_words)
    expected = _header_bytes(ndim, chunks)
    require(header_bytes == expected, "header_bytes", f"header must be {expected} bytes")
    shape = struct.unpack_from(f"<{ndim}Q", rest)
    span = math.prod(size for size in shape if size) * fmt.word_bytes  # NumPy's limit on a shape
    if math.prod(shape) != words or span > np.iinfo(np.int64).max:
        raise _refusal(_PREFIX.size, f"shape must have {words} elements, not be {shape!r}")

    index_at = 8 * ndim
    index = np.frombuffer(rest, _ENTRY, chunks, index_at)
    padding = rest[index_at + index.nbytes : -4]
    if padding.strip(b"\0"):
        raise _refusal(header_bytes - 4 - len(padding), f"padding must be 0, not {padding!r}")
    offsets = np.append(index["offset"].astype(np.int64), stream_bytes)
    counts = np.full(chunks, min(chunk_words, words), np.int64)
    if chunks:
        counts[-1] = words - (chunks - 1) * chunk_words
    good = _is_stream_size(np.diff(offsets), counts, fmt)
    good[:1] &= offsets[0] == 0
    if not good.all():
        chunk = int(np.argmin(good))
        where = _PREFIX.size + index_at + chunk * _ENTRY.itemsize
        raise _refusal(where, f"chunk {chunk} cannot start and end where the index says")
    return Header(
        version=fields["version"],
        format=fmt,
        dtype=name,
        shape=shape,
        words=words,
        stream_bytes=stream_bytes,
        chunk_blocks=fields["chunk_blocks"],
        header_bytes=header_bytes,
        chunk_offsets=offsets,
        chunk_crcs=index["crc"].astype(np.uint32),
    )


def _refusal(offset: int, reason: str) -> StreamError:
    return StreamError(reason, offset, ErrorCode.CONTAINER)


def _is_stream_size(size, words, fmt: Format):
    """Whether streams of ``words`` words can have ``size`` bytes; numbers or arrays."""
    payload = size - fmt.mask_bytes * -(-words // fmt.block_words)
    return (payload >= 0) & (payload <= words * fmt.word_bytes) & (payload % fmt.word_bytes == 0)


def _item_bytes(name: str) -> int:
    return 2 if name == "bfloat16" else np.dtype(name).itemsize


def _numpy_dtype(name: str) -> np.dtype:
    """Type to give elements back as."""
    if name != "bfloat16":
        return np.dtype(name).newbyteorder("<")
    try:
        from ml_dtypes import bfloat16  # optional: NumPy has no bfloat16 of its own
    except ImportError:
        return np.dtype("<u2")
    return np.dtype(bfloat16)


def _read_chunks(source: BinaryIO, header: Header, first: int, last: int) -> np.ndarray:
    """Words of chunks ``first`` to ``last`` (excluded), checked, shape (words,)."""
    chunk_words = header.chunk_words
    start = first * chunk_words
    out = np.empty(max(0, min(last * chunk_words, header.words) - start), header.format.dtype)
    group = max(1, _GROUP_WORDS // chunk_words)
    for chunk in range(first, last, group):
        end = min(chunk + group, last)
        offsets = header.chunk_offsets[chunk : end + 1]
        base = header.header_bytes + int(offsets[0])
        source.seek(base)
        data = np.frombuffer(source.read(int(offsets[-1] - offsets[0])), np.uint8)
        given = out[chunk * chunk_words - start : end * chunk_words - start]
        _decode_group(data, header, chunk, end, base, given)
    return out


def _decode_group(
    data: np.ndarray, header: Header, first: int, last: int, base: int, out: np.ndarray
) -> None:
    """Decode the bytes ``data`` of chunks ``first`` to ``last``, at file offset ``base``."""
    fmt = header.format
    offsets = header.chunk_offsets[first : last + 1] - header.chunk_offsets[first]
    crcs = header.chunk_crcs[first:last]
    whole = len(out) // header.chunk_words
    done = 0
    if whole >= _LOCKSTEP_CHUNKS and _decode_lockstep(
        data, offsets[: whole + 1], crcs, header, out[: whole * header.chunk_words]
    ):
        done = whole
    # Alone and in order: what is left over, or a group with an error, to find the first one.
    for chunk in range(done, last - first):
        part = data[offsets[chunk] : offsets[chunk + 1]]
        where = base + int(offsets[chunk])
        if zlib.crc32(part) != crcs[chunk]:
            raise _refusal(where, f"chunk {first + chunk} is damaged, its CRC does not match")
        given = out[chunk * header.chunk_words : (chunk + 1) * header.chunk_words]
        words, error = decode(part, len(given), fmt, base=where)
        if error:
            raise error
        given[:] = words


def _decode_lockstep(
    data: np.ndarray, offsets: np.ndarray, crcs: np.ndarray, header: Header, out: np.ndarray
) -> bool:
    """Decode chunks of whole blocks side by side; False when anything is wrong with any."""
    spans = zip(offsets[:-1], offsets[1:], crcs, strict=False)
    if any(zlib.crc32(data[start:end]) != crc for start, end, crc in spans):
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
