"""The header of a container: its fields, shape and chunk index, as bytes and as an object."""

import math
import os
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np

from cdma.format import ErrorCode, Format
from cdma.golden.container.codecs import CODECS, codec_of
from cdma.golden.container.elements import DTYPES, item_bytes
from cdma.golden.errors import FieldError, StreamError
from cdma.golden.lossy.elements import ELEMENTS

MAGIC = b"\x89ZVC\r\n\x1a\n"
#: Versions that are read: 2 adds chunks that are stored as they are.
VERSIONS = (1, 2)
#: Blocks in a chunk by default: 32 KiB of fp32, for 12 bytes of index.
CHUNK_BLOCKS = 256
#: Id of the zero-value codec.
CODEC = 0
#: Id of the lossy codec. It and those of ``CODECS`` have version 2 only.
LOSSY_CODEC = 1
#: Flags of the zero-value codec: bits past the end in the last mask are one; a zero value other
#: than 0 follows the fields; -0.0 is omitted too.
TAIL_ONES, ZERO_VALUE, FOLD_NEGATIVE_ZERO = 1, 2, 4
_FLAGS = TAIL_ONES | ZERO_VALUE | FOLD_NEGATIVE_ZERO
#: NumPy 1.26 has arrays of at most 32 dimensions.
MAX_DIMENSIONS = 32
#: NumPy's limit on the bytes of an array, to which sizes of zero do not count.
MAX_SPAN = 2**63 - 1

# The fields in front of shape and index, in order.
_FIELDS = {
    "magic": "8s",
    "version": "H",
    "flags": "H",
    "word_bits": "B",
    "ndim": "B",
    "codec": "H",
    "block_words": "I",
    "chunk_blocks": "I",
    "header_bytes": "Q",
    "words": "Q",
    "stream_bytes": "Q",
    "dtype": "16s",
}
_PREFIX = struct.Struct("<" + "".join(_FIELDS.values()))
# What the lossy codec has between the fields and the shape; the last number is zero.
_LOSSY = struct.Struct("<dQII")
_LOSSY_BITS = (8, 16, 32)
_ENTRY = np.dtype([("offset", "<u8"), ("crc", "<u4")])
_RAW = np.uint64(1 << 63)  # bit of an entry's offset


@dataclass(frozen=True)
class LossyFields:
    """What the header of a container of the lossy codec has more.

    Attributes
    ----------
    step : float
        What the numbers of the stream are multiples of; twice the error bound.
    outliers : int
        Elements that are stored as they are, behind the stream.
    crc : int
        CRC-32 of the outliers' bytes.
    """

    step: float
    outliers: int
    crc: int


@dataclass(frozen=True, eq=False)
class Header:
    """What a container says about itself.

    Attributes
    ----------
    version : int
        Version of the container format: 2 when a chunk can be raw, or the codec is another than
        the zero-value codec.
    format : Format, or that of another codec
        Parameters of the stream: words of the lossy codec are its quantised numbers.
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
    chunk_offsets : ndarray of int64, shape (chunks + 1,)
        Byte offsets in the stream of the chunks, and of its end.
    chunk_crcs : ndarray of uint32, shape (chunks,)
        CRC-32 of each chunk's bytes.
    chunk_raw : ndarray of bool, shape (chunks,)
        Whether a chunk is its words as they are, not compressed.
    lossy : LossyFields or None
        Of the lossy codec; ``None`` for the zero-value codec.
    """

    version: int
    format: Format
    dtype: str
    shape: tuple[int, ...]
    words: int
    stream_bytes: int
    chunk_blocks: int
    chunk_offsets: np.ndarray
    chunk_crcs: np.ndarray
    chunk_raw: np.ndarray
    lossy: LossyFields | None = None

    @property
    def codec(self) -> int:
        """Id of the codec."""
        if self.lossy is not None:
            return LOSSY_CODEC
        other = codec_of(self.format)
        return other.number if other else CODEC

    @property
    def codec_name(self) -> str:
        """Name of the codec."""
        if self.lossy is not None:
            return "lossy-zvc"
        return CODECS[self.codec].name if self.codec in CODECS else "zvc"

    @property
    def item_bytes(self) -> int:
        """Bytes of an element of the array."""
        return item_bytes(self.dtype)

    @property
    def chunk_words(self) -> int:
        """Words in every chunk but the last."""
        return self.chunk_blocks * self.format.block_words

    @property
    def header_bytes(self) -> int:
        """Offset of the raw stream in the file."""
        flags = flags_of(self.format)
        return header_size(len(self.shape), len(self.chunk_crcs), self.codec, flags)

    @property
    def raw_bytes(self) -> int:
        """Bytes of the array."""
        return self.words * self.item_bytes

    @property
    def outlier_bytes(self) -> int:
        """Bytes of the outliers behind the stream."""
        return outlier_size(self.lossy.outliers, self.dtype) if self.lossy else 0

    @property
    def file_bytes(self) -> int:
        """Bytes of the container."""
        return self.header_bytes + self.stream_bytes + self.outlier_bytes

    @property
    def nonzeros(self) -> int | None:
        """Words that are not zero, outliers included; ``None`` when the sizes do not tell."""
        if self.chunk_raw.any() or self.codec in CODECS:
            return None
        masks = self.format.stream_bytes(self.words, 0)
        outliers = self.lossy.outliers if self.lossy else 0
        return (self.stream_bytes - masks) // self.format.word_bytes + outliers

    @property
    def density(self) -> float | None:
        """Share of words that are not zero; 0 for an empty array, ``None`` as ``nonzeros``."""
        if self.nonzeros is None:
            return None
        return self.nonzeros / self.words if self.words else 0.0

    @property
    def ratio(self) -> float:
        """Bytes of the array for each byte of stream and outliers; 1 for an empty array."""
        return self.raw_bytes / (self.stream_bytes + self.outlier_bytes) if self.words else 1.0


def pack_header(header: Header) -> bytes:
    """The header as the bytes in front of the stream."""
    fields = {
        "magic": MAGIC,
        "version": header.version,
        "flags": flags_of(header.format),
        "word_bits": header.format.word_bits,
        "ndim": len(header.shape),
        "codec": header.codec,
        "block_words": header.format.block_words,
        "chunk_blocks": header.chunk_blocks,
        "header_bytes": header.header_bytes,
        "words": header.words,
        "stream_bytes": header.stream_bytes,
        "dtype": header.dtype.encode("ascii"),
    }
    index = np.empty(len(header.chunk_crcs), _ENTRY)
    index["offset"] = header.chunk_offsets[:-1]
    index["offset"] |= np.where(header.chunk_raw, _RAW, np.uint64(0))
    index["crc"] = header.chunk_crcs
    shape = struct.pack(f"<{len(header.shape)}Q", *header.shape)
    lossy = header.lossy
    more = _LOSSY.pack(lossy.step, lossy.outliers, lossy.crc, 0) if lossy else b""
    if header.codec in CODECS:
        codec = CODECS[header.codec]
        more = codec.fields.pack(*codec.pack(header.format))
    elif flags_of(header.format) & ZERO_VALUE:
        more = header.format.zero_value.to_bytes(8, "little")
    packed = _PREFIX.pack(*fields.values()) + more + shape + index.tobytes()
    packed = packed.ljust(header.header_bytes - 4, b"\0")
    return packed + struct.pack("<I", zlib.crc32(packed))


def parse_header(source: BinaryIO) -> Header:
    """Read and check everything in front of the stream, and that the file has the size it must.

    Memory taken is bounded by the size of the file, whatever the header claims.

    Raises
    ------
    StreamError
        With code ``CONTAINER`` and the file offset of what is wrong or unknown.
    """
    file_bytes = source.seek(0, os.SEEK_END)
    source.seek(0)
    fields, rest = _read_fields(source, file_bytes)
    fmt = _check_parameters(fields, rest)
    words, stream_bytes = fields["words"], fields["stream_bytes"]
    name = _dtype_name(fields)
    lossy = _check_lossy(fields, rest) if fields["codec"] == LOSSY_CODEC else None

    end = fields["header_bytes"] + stream_bytes
    if file_bytes < end:
        raise refusal(file_bytes, f"file ends inside the stream, which ends at byte {end}")
    if lossy:
        end += outlier_size(lossy.outliers, name)
        if file_bytes < end:
            raise refusal(file_bytes, f"file ends inside the outliers, which end at byte {end}")
    if file_bytes > end:
        raise refusal(end, f"container ends here, {file_bytes - end} more bytes follow")
    fits = _is_stream_size(stream_bytes, words, fmt, raw=fields["version"] > 1)
    _require(fields, fits, "stream_bytes", f"size of a stream of {words} words must fit them")
    chunk_words = fields["chunk_blocks"] * fmt.block_words
    chunks = -(-words // chunk_words)
    expected = header_size(fields["ndim"], chunks, fields["codec"], fields["flags"])
    matches = fields["header_bytes"] == expected
    _require(fields, matches, "header_bytes", f"header must have {expected} bytes")

    shape_at = _more_bytes(fields["codec"], fields["flags"])
    shape = struct.unpack_from(f"<{fields['ndim']}Q", rest, shape_at)
    if math.prod(shape) != words or span_bytes(shape, name) > MAX_SPAN:
        where = _PREFIX.size + shape_at
        raise refusal(where, f"shape must have {words} elements, not be {shape!r}")
    index_at = shape_at + 8 * len(shape)
    index = np.frombuffer(rest, _ENTRY, chunks, index_at)
    padding = rest[index_at + index.nbytes : -4]
    if any(padding):
        raise refusal(expected - 4 - len(padding), f"padding must be zero, not {padding!r}")
    raw = np.zeros(chunks, bool)
    starts = index["offset"].copy()
    if fields["version"] > 1:
        raw = starts & _RAW != 0
        starts &= ~_RAW
    offsets = np.append(starts.astype(np.int64), stream_bytes)
    counts = np.full(chunks, min(chunk_words, words), np.int64)
    if chunks:
        counts[-1] = words - (chunks - 1) * chunk_words
    sizes = np.diff(offsets)
    good = np.where(raw, sizes == counts * fmt.word_bytes, _is_stream_size(sizes, counts, fmt))
    good[:1] &= offsets[0] == 0
    if not good.all():
        chunk = int(np.argmin(good))
        where = _PREFIX.size + index_at + chunk * _ENTRY.itemsize
        raise refusal(where, f"chunk {chunk} cannot start and end where the index says")
    return Header(
        version=fields["version"],
        format=fmt,
        dtype=name,
        shape=shape,
        words=words,
        stream_bytes=stream_bytes,
        chunk_blocks=fields["chunk_blocks"],
        chunk_offsets=offsets,
        chunk_crcs=index["crc"],
        chunk_raw=raw,
        lossy=lossy,
    )


def span_bytes(shape: Sequence[int], dtype: str) -> int:
    """Bytes of an array, of which ``MAX_SPAN`` is the most; sizes of zero do not count."""
    return math.prod(size for size in shape if size) * item_bytes(dtype)


def flags_of(fmt: Format) -> int:
    """Flags of the header for a format; those of other codecs have none."""
    if not isinstance(fmt, Format):
        return 0
    value = ZERO_VALUE if fmt.zero_value else 0
    fold = FOLD_NEGATIVE_ZERO if fmt.fold_negative_zero else 0
    return (TAIL_ONES if fmt.ends_itself else 0) | value | fold


def header_size(ndim: int, chunks: int, codec: int = CODEC, flags: int = 0) -> int:
    """Bytes of a header: fields, shape, index, CRC; filled up so that the stream is aligned."""
    size = _PREFIX.size + _more_bytes(codec, flags) + 8 * ndim + _ENTRY.itemsize * chunks + 4
    return -(-size // 8) * 8


def _more_bytes(codec: int, flags: int) -> int:
    """Bytes that a codec has between the fields and the shape."""
    if codec == LOSSY_CODEC:
        return _LOSSY.size
    if codec == CODEC:
        return 8 if flags & ZERO_VALUE else 0
    return CODECS[codec].fields.size if codec in CODECS else 0


def outlier_size(outliers: int, dtype: str) -> int:
    """Bytes of so many outliers: the place of each, then the elements."""
    return outliers * (8 + item_bytes(dtype))


def refusal(offset: int, reason: str) -> StreamError:
    """The error that a container is rejected with."""
    return StreamError(reason, offset, ErrorCode.CONTAINER)


def _read_fields(source: BinaryIO, file_bytes: int) -> tuple[dict, bytes]:
    """Fields, and the rest of the header; its magic, version, length and CRC are right."""
    prefix = source.read(_PREFIX.size)
    if prefix[: len(MAGIC)] != MAGIC[: len(prefix)]:
        raise refusal(0, f"container must start with {MAGIC!r}, not {prefix[: len(MAGIC)]!r}")
    if len(prefix) < _PREFIX.size:
        raise refusal(len(prefix), "file ends inside the header")
    fields = dict(zip(_FIELDS, _PREFIX.unpack(prefix), strict=True))
    # Version and flags come before the CRC: they decide what all the rest means.
    versions = " or ".join(map(str, VERSIONS))
    _require(fields, fields["version"] in VERSIONS, "version", f"version must be {versions}")
    known = fields["flags"] | _FLAGS == _FLAGS
    rule = f"flags must be a sum of {TAIL_ONES}, {ZERO_VALUE} and {FOLD_NEGATIVE_ZERO}, or 0"
    _require(fields, known, "flags", rule)
    size, least = fields["header_bytes"], header_size(0, 0)
    _require(fields, size >= least, "header_bytes", f"header must have {least} bytes or more")
    if size > file_bytes:
        raise refusal(file_bytes, f"file ends inside the header, which has {size} bytes")
    rest = source.read(size - _PREFIX.size)
    if zlib.crc32(prefix + rest[:-4]) != int.from_bytes(rest[-4:], "little"):
        raise refusal(0, "header is damaged, its CRC does not match")
    return fields, rest


def _check_parameters(fields: dict, rest: bytes) -> Format:
    """Format that the fields describe; refuses unknown values of those that are no sizes."""
    codecs = {CODEC: "zero-value"}
    if fields["version"] > 1:
        codecs |= {LOSSY_CODEC: "lossy", **{each.number: each.name for each in CODECS.values()}}
    names = ", or ".join(f"{number}, {name}" for number, name in codecs.items())
    _require(fields, fields["codec"] in codecs, "codec", f"codec must be {names}")
    is_lossy = fields["codec"] == LOSSY_CODEC
    plain = fields["codec"] == CODEC or not fields["flags"]
    _require(fields, plain, "flags", f"flags of codec {fields['codec']} must be 0")
    least = header_size(0, 0, fields["codec"], fields["flags"])
    is_whole = fields["header_bytes"] >= least
    _require(fields, is_whole, "header_bytes", f"header must have {least} bytes or more")
    is_other = fields["codec"] in CODECS
    fmt = _check_other(fields, rest) if is_other else _check_format(fields, rest)
    name = _dtype_name(fields)
    if is_lossy:
        narrow = fmt.word_bits in _LOSSY_BITS
        _require(fields, narrow, "word_bits", "numbers must have 8, 16 or 32 bits")
        rule = f"element type must be {', '.join(ELEMENTS)}"
        _require(fields, name in ELEMENTS, "dtype", rule)
    else:
        known = name in DTYPES and item_bytes(name) == fmt.word_bytes
        rule = f"element type must be known and of {fmt.word_bytes} bytes"
        _require(fields, known, "dtype", rule)
    few = fields["ndim"] <= MAX_DIMENSIONS
    _require(fields, few, "ndim", f"array must have at most {MAX_DIMENSIONS} dimensions")
    _require(fields, fields["chunk_blocks"] > 0, "chunk_blocks", "chunk must have a block or more")
    return fmt


def _check_format(fields: dict, rest: bytes) -> Format:
    """Format of the zero-value codec, and of the numbers of the lossy codec."""
    tail = "ones" if fields["flags"] & TAIL_ONES else "zeros"
    for field, parameters in (
        ("word_bits", (fields["word_bits"],)),
        ("block_words", (fields["word_bits"], fields["block_words"], tail)),
    ):
        try:
            fmt = Format(*parameters)
        except ValueError as error:
            raise refusal(_field_offset(field), str(error)) from None
    return _with_zero(fields, fmt, rest)


def _check_other(fields: dict, rest: bytes):
    """Format of a codec of ``CODECS``."""
    codec = CODECS[fields["codec"]]
    try:
        fmt = codec.parse(*codec.fields.unpack_from(rest))
    except FieldError as error:
        raise refusal(_PREFIX.size + error.offset, str(error)) from None
    for field in ("word_bits", "block_words"):
        expected = getattr(fmt, field)
        rule = f"{field} of this type must be {expected}"
        _require(fields, fields[field] == expected, field, rule)
    return fmt


def _with_zero(fields: dict, fmt: Format, rest: bytes) -> Format:
    """The format with its zero value, which follows the fields."""
    has_value, fold = (bool(fields["flags"] & flag) for flag in (ZERO_VALUE, FOLD_NEGATIVE_ZERO))
    value = int.from_bytes(rest[:8], "little") if has_value else 0
    if has_value and not value:
        raise refusal(_PREFIX.size, "zero value must not be 0 where a flag announces it")
    _require(fields, not (value and fold), "flags", "flags must have a zero value or fold -0.0")
    try:
        return replace(fmt, zero_value=value, fold_negative_zero=fold)
    except ValueError as error:
        raise refusal(_PREFIX.size, str(error)) from None


def _check_lossy(fields: dict, rest: bytes) -> LossyFields:
    """What the lossy codec has between the fields and the shape."""
    step, outliers, crc, reserved = _LOSSY.unpack_from(rest)
    at = _PREFIX.size
    if not 0 < step < math.inf:
        raise refusal(at, f"step must be finite and above 0, not {step!r}")
    if outliers > fields["words"]:
        raise refusal(at + 8, f"outliers must be {fields['words']} or fewer, not {outliers}")
    if reserved:
        raise refusal(at + 20, f"reserved field must be 0, not {reserved}")
    return LossyFields(step, outliers, crc)


def _require(fields: dict, condition: bool, field: str, rule: str) -> None:
    if not condition:
        raise refusal(_field_offset(field), f"{rule}, not {fields[field]!r}")


def _field_offset(name: str) -> int:
    """Byte offset in the file of a field in front of the shape."""
    names = list(_FIELDS)
    before = names[: names.index(name)]
    return struct.calcsize("<" + "".join(_FIELDS[each] for each in before))


def _dtype_name(fields: dict) -> str:
    return fields["dtype"].rstrip(b"\0").decode("ascii", "replace")


def _is_stream_size(size, words, fmt: Format, raw: bool = False):
    """Whether a stream of ``words`` words can have ``size`` bytes; numbers or arrays.

    Where parts of it may be ``raw``, only whole blocks take as much as their masks.
    """
    if codec_of(fmt):
        least, most = fmt.least_bytes(words), fmt.most_bytes(words)
        # Each chunk is filled up to a byte: with many, by at most a byte for each block.
        more = fmt.blocks(words) if raw else 0
        return (size >= least) & (size <= most + more)
    most = fmt.stream_bytes(words, words)
    least = words // fmt.block_words * fmt.mask_bytes if raw else fmt.stream_bytes(words, 0)
    return (size >= least) & (size <= most) & (size % fmt.word_bytes == 0)
