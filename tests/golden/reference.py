"""The formats written down a second time, from ``docs/format.md``: slow, a word at a time.

Imports nothing but the parameters of the format, so that a mistake is not made twice.
"""

import struct
import zlib
from dataclasses import dataclass
from fractions import Fraction
from math import copysign, frexp, inf, prod

import zvcplus_reference

from cdma import zvcplus
from cdma.golden import ErrorCode, Format

#: Bytes of the element types that a container can name.
DTYPES = dict(
    **dict.fromkeys(("bool", "int8", "uint8"), 1),
    **dict.fromkeys(("int16", "uint16", "float16", "bfloat16"), 2),
    **dict.fromkeys(("int32", "uint32", "float32"), 4),
    **dict.fromkeys(("int64", "uint64", "float64", "complex64"), 8),
)
#: Offset and struct code of each field.
FIELDS = {
    "magic": (0, "8s"),
    "version": (8, "H"),
    "flags": (10, "H"),
    "word_bits": (12, "B"),
    "ndim": (13, "B"),
    "codec": (14, "H"),
    "block_words": (16, "I"),
    "chunk_blocks": (20, "I"),
    "header_bytes": (24, "Q"),
    "words": (32, "Q"),
    "stream_bytes": (40, "Q"),
    "dtype": (48, "16s"),
}
INDEX_ENTRY = struct.Struct("<QI")
SHAPE_AT = 64
#: Fields that the lossy codec has in front of the shape.
LOSSY = struct.Struct("<dQII")
#: Fields that ZVC+ has there.
PLUS = struct.Struct("<BBHIII")
LOSSY_DTYPES = ("float16", "bfloat16", "float32", "float64")


class RefusedError(Exception):
    """Where a container is wrong and how, and how many words lie in the chunks before."""

    def __init__(self, offset: int, code: ErrorCode, words: int = 0):
        super().__init__(offset, code, words)
        self.verdict = offset, code
        self.words = words


@dataclass
class Container:
    """A header that is right."""

    fmt: Format
    dtype: str
    shape: tuple[int, ...]
    words: int
    #: For each chunk: first and last offset in the file, CRC, words, raw.
    chunks: list[tuple[int, int, int, int, bool]]
    #: Of the lossy codec: step, and offset, number and CRC of the outliers.
    lossy: tuple[float, int, int, int] | None = None

    @property
    def item_bytes(self) -> int:
        return DTYPES[self.dtype]


def encode(words, fmt) -> bytes:
    """Stream of a list of ints."""
    stream = b""
    for first in range(0, len(words), fmt.block_words):
        block = words[first : first + fmt.block_words]
        block = [None if is_zero(word, fmt) else word for word in block]
        mask = sum(1 << i for i, word in enumerate(block) if word is not None)
        if fmt.tail == "ones":
            mask |= -1 << len(block) & (1 << fmt.block_words) - 1
        stream += mask.to_bytes(fmt.mask_bytes, "little")
        stream += b"".join(
            word.to_bytes(fmt.word_bytes, "little") for word in block if word is not None
        )
    return stream


def is_zero(word, fmt) -> bool:
    """Whether a word is omitted."""
    if fmt.fold_negative_zero:
        return word in (0, 1 << fmt.word_bits - 1)
    return word == fmt.zero_value


def decode(stream, count, fmt, canonical):
    """Words, offset of the end or of the first error, and code."""
    words, at = [], 0
    while len(words) < count:
        start, first = at, len(words)
        length = min(fmt.block_words, count - first)
        mask = int.from_bytes(stream[at : at + fmt.mask_bytes], "little")
        at += fmt.mask_bytes
        if at > len(stream):
            return words + [fmt.zero_value] * (count - first), start, ErrorCode.TRUNCATED
        zero = None
        for i in range(length):
            word = fmt.zero_value
            if mask >> i & 1:
                if at + fmt.word_bytes <= len(stream):
                    word = int.from_bytes(stream[at : at + fmt.word_bytes], "little")
                if is_zero(word, fmt) and zero is None:
                    zero = at
                at += fmt.word_bytes
            words.append(word)
        rest = [fmt.zero_value] * (count - len(words))
        padding = (1 << fmt.block_words - length) - 1 if fmt.tail == "ones" else 0
        if mask >> length != padding:
            return words + rest, start, ErrorCode.MASK_PAST_END
        if at > len(stream):
            return words + rest, start, ErrorCode.TRUNCATED
        if canonical and zero is not None:
            return words + rest, zero, ErrorCode.ZERO_WORD
    return words, at, ErrorCode.TRAILING if at < len(stream) else ErrorCode.NONE


def check_header(data: bytes) -> Container:
    """What a container says of itself, all checks in the order of the document.

    Raises
    ------
    RefusedError
    """
    magic = b"\x89ZVC\r\n\x1a\n"
    if data[:8] != magic[: len(data)]:
        raise RefusedError(0, ErrorCode.CONTAINER)
    _require(len(data) >= SHAPE_AT, len(data))
    field = {
        name: struct.unpack_from("<" + code, data, at)[0] for name, (at, code) in FIELDS.items()
    }
    _require(field["version"] in (1, 2), 8)
    _require(field["flags"] < 8, 10)
    _require(field["header_bytes"] >= 72, 24)
    _require(field["header_bytes"] <= len(data), len(data))
    header = data[: field["header_bytes"]]
    _require(zlib.crc32(header[:-4]) == int.from_bytes(header[-4:], "little"), 0)

    is_lossy = field["version"] == 2 and field["codec"] == 1
    is_plus = field["version"] == 2 and field["codec"] == 2
    _require(field["codec"] == 0 or is_lossy or is_plus, 14)
    _require(field["codec"] == 0 or not field["flags"], 10)
    has_value, folds = field["flags"] >> 1 & 1, field["flags"] >> 2 & 1
    shape_at = SHAPE_AT + LOSSY.size * is_lossy + PLUS.size * is_plus + 8 * has_value
    _require(field["header_bytes"] >= shape_at + 8, 24)
    word_bits, block_words = field["word_bits"], field["block_words"]
    plus = _plus_format(header) if is_plus else None
    _require(not plus or word_bits == plus.word_bits, 12)
    _require(not plus or block_words == plus.block_words, 16)
    _require(word_bits in (8, 16, 32, 64), 12)
    _require(block_words > 0 and block_words % word_bits == 0, 16)
    value = int.from_bytes(header[SHAPE_AT : SHAPE_AT + 8], "little") if has_value else 0
    _require(value or not has_value, SHAPE_AT)
    _require(not (value and folds), 10)
    _require(value < 1 << word_bits, SHAPE_AT)
    names = [name for name in DTYPES if name.encode().ljust(16, b"\0") == field["dtype"]]
    if is_lossy:
        _require(word_bits != 64, 12)
        _require(names and names[0] in LOSSY_DTYPES, 48)
    else:
        _require(names and 8 * DTYPES[names[0]] == word_bits, 48)
    ndim, chunk_blocks = field["ndim"], field["chunk_blocks"]
    _require(ndim <= 32, 13)
    _require(chunk_blocks > 0, 20)

    tail = "ones" if field["flags"] & 1 else "zeros"
    fmt = plus or Format(word_bits, block_words, tail, value, bool(folds))
    words, stream_bytes = field["words"], field["stream_bytes"]
    start = len(header)
    end = start + stream_bytes
    lossy = None
    if is_lossy:
        step, outliers, crc, reserved = LOSSY.unpack_from(header, SHAPE_AT)
        _require(0 < step < float("inf"), SHAPE_AT)
        _require(outliers <= words, SHAPE_AT + 8)
        _require(reserved == 0, SHAPE_AT + 20)
        lossy = step, end, outliers, crc
        end += outliers * (8 + DTYPES[names[0]])
    _require(len(data) >= end, len(data))
    _require(len(data) <= end, end)
    if plus:
        blocks = (words + block_words - 1) // block_words
        _require(2 * blocks <= 8 * stream_bytes <= 1029 * blocks + 7 + 8 * blocks, 40)
    elif field["version"] == 1:
        _require(_can_have(stream_bytes, words, fmt), 40)
    else:  # a last block that is partial and raw may be shorter than its mask
        most = fmt.mask_bytes * ((words + block_words - 1) // block_words) + words * fmt.word_bytes
        least = fmt.mask_bytes * (words // block_words)
        _require(least <= stream_bytes <= most and stream_bytes % fmt.word_bytes == 0, 40)
    chunk_words = chunk_blocks * block_words
    count = (words + chunk_words - 1) // chunk_words
    size = shape_at + 8 * ndim + INDEX_ENTRY.size * count + 4
    _require(start == size + -size % 8, 24)

    shape = struct.unpack_from(f"<{ndim}Q", data, shape_at)
    is_array = prod(filter(None, shape)) * DTYPES[names[0]] < 2**63
    _require(prod(shape) == words and is_array, shape_at)
    index_at = shape_at + 8 * ndim
    index_end = index_at + INDEX_ENTRY.size * count
    _require(not any(header[index_end:-4]), index_end)
    index = [INDEX_ENTRY.unpack_from(data, at) for at in range(index_at, index_end, 12)]
    chunks = []
    raw_bit = 1 << 63 if field["version"] == 2 else 0
    for number, (entry, crc) in enumerate(index):
        held = min(chunk_words, words - number * chunk_words)
        raw, offset = bool(entry & raw_bit), entry & ~raw_bit
        to = index[number + 1][0] & ~raw_bit if number + 1 < count else stream_bytes
        good = to - offset == held * fmt.word_bytes if raw else _can_have(to - offset, held, fmt)
        _require(good and (number > 0 or offset == 0), index_at + 12 * number)
        chunks.append((start + offset, start + to, crc, held, raw))
    return Container(fmt, names[0], shape, words, chunks, lossy)


def read_container(data: bytes) -> tuple[Container, bytes]:
    """The header, and the elements as little-endian bytes.

    Raises
    ------
    RefusedError
    """
    container = check_header(data)
    fmt = container.fmt
    elements = b""
    for start, end, crc, held, raw in container.chunks:
        before = len(elements) // fmt.word_bytes
        if zlib.crc32(data[start:end]) != crc:
            raise RefusedError(start, ErrorCode.CONTAINER, before)
        if raw:
            elements += data[start:end]
            continue
        if isinstance(fmt, zvcplus.Format):
            words, (at, code) = zvcplus_reference.decode(data[start:end], held, fmt)
            at, code = (0, ErrorCode.NONE) if code is None else (at // 8, code)
        else:
            words, at, code = decode(data[start:end], held, fmt, canonical=True)
        if code is not ErrorCode.NONE:
            raise RefusedError(start + at, code, before)
        elements += b"".join(word.to_bytes(fmt.word_bytes, "little") for word in words)
    if container.lossy:
        elements = _dequantise(container, elements, data)
    return container, elements


def check_outliers(container: Container, data: bytes) -> tuple[int, ...]:
    """Places of the outliers of a container of the lossy codec.

    Raises
    ------
    RefusedError
    """
    _, at, count, crc = container.lossy
    if zlib.crc32(data[at:]) != crc:
        raise RefusedError(at, ErrorCode.CONTAINER)
    places = struct.unpack_from(f"<{count}Q", data, at)
    for number, place in enumerate(places):
        rises = number == 0 or place > places[number - 1]
        _require(rises and place < container.words, at + 8 * number)
    return places


def _dequantise(container: Container, numbers: bytes, data: bytes) -> bytes:
    """Elements of the lossy codec: numbers times the step, and the outliers."""
    places = check_outliers(container, data)
    step, at, count, _ = container.lossy
    size, width = container.item_bytes, container.fmt.word_bytes
    elements = [
        _element(int.from_bytes(numbers[first : first + width], "little", signed=True) * step,
                 container.dtype)
        for first in range(0, len(numbers), width)
    ]  # fmt: skip
    for number, place in enumerate(places):
        first = at + 8 * count + size * number
        elements[place] = data[first : first + size]
    return b"".join(elements)


def _element(value: float, dtype: str) -> bytes:
    """Nearest element: by the standard library, and for bfloat16 by exact fractions."""
    if dtype != "bfloat16":
        code = {"float16": "e", "float32": "f", "float64": "d"}[dtype]
        try:
            return struct.pack("<" + code, value)
        except OverflowError:
            return struct.pack("<" + code, inf if value > 0 else -inf)
    if value in (inf, -inf):
        return struct.pack("<f", value)[2:]
    exponent = max(frexp(value)[1] - 8, -133)  # 8 bits of significand, subnormals fewer
    rounded = round(Fraction(value) / Fraction(2) ** exponent)  # ties to even
    magnitude = abs(rounded) * Fraction(2) ** exponent
    if magnitude >= Fraction(2) ** 128:
        return struct.pack("<f", copysign(inf, value))[2:]
    return struct.pack("<f", copysign(float(magnitude), value))[2:]


def seal(data: bytes) -> bytes:
    """The container with correct CRCs: of the header, and of all chunks that can be found.

    A forged file can have correct CRCs, so no check may depend on them.
    """
    sealed = bytearray(data)
    if len(data) < SHAPE_AT:
        return data
    header_bytes, words, stream_bytes = struct.unpack_from("<3Q", data, 24)
    ndim, block_words, chunk_blocks = data[13], *struct.unpack_from("<2I", data, 16)
    if not 72 <= header_bytes <= len(data):
        return data
    count = -(-words // max(1, block_words * chunk_blocks))
    index_at = SHAPE_AT + 8 * ndim
    if data[8:10] + data[14:16] == b"\x02\0\x02\0":
        index_at += PLUS.size
    if data[8:10] + data[14:16] == b"\x02\0\x01\0" and header_bytes >= SHAPE_AT + LOSSY.size + 8:
        index_at += LOSSY.size
        outliers = zlib.crc32(data[header_bytes + stream_bytes :])
        struct.pack_into("<I", sealed, SHAPE_AT + 16, outliers)
    if index_at + INDEX_ENTRY.size * count + 4 <= header_bytes:
        raw_bit = 1 << 63 if data[8:10] == b"\x02\0" else 0
        offsets = [
            INDEX_ENTRY.unpack_from(data, index_at + 12 * number)[0] & ~raw_bit
            for number in range(count)
        ]
        ends = [*offsets, stream_bytes][1:]
        for number, (start, end) in enumerate(zip(offsets, ends, strict=True)):
            part = data[header_bytes + start : header_bytes + end]
            struct.pack_into("<I", sealed, index_at + 12 * number + 8, zlib.crc32(part))
    crc = zlib.crc32(sealed[: header_bytes - 4])
    struct.pack_into("<I", sealed, header_bytes - 4, crc)
    return bytes(sealed)


def _require(condition, offset: int) -> None:
    if not condition:
        raise RefusedError(offset, ErrorCode.CONTAINER)


def _plus_format(header: bytes) -> zvcplus.Format:
    """Format of the fields of ZVC+."""
    type_, repeats, zero, distance, min_beats, zeros = PLUS.unpack_from(header, SHAPE_AT)
    _require(type_ < 4, SHAPE_AT)
    _require(repeats in (0, 1, 3), SHAPE_AT + 1)
    _require(zero == 0, SHAPE_AT + 2)
    _require(zeros == 0, SHAPE_AT + 12)
    if repeats == 3:
        size = (4, 2, 2, 1)[type_]
        _require(1 <= distance <= 4096 // size, SHAPE_AT + 4)
        _require(min_beats >= 1, SHAPE_AT + 8)
    else:
        _require(distance == 0, SHAPE_AT + 4)
        _require(min_beats == 1, SHAPE_AT + 8)
    name = ("fp32", "fp16", "bf16", "int8")[type_]
    return zvcplus.Format(name, ("none", "left", "", "above")[repeats], distance, min_beats)


def _can_have(size: int, words: int, fmt: Format) -> bool:
    """Whether a stream of ``words`` words can have ``size`` bytes."""
    if isinstance(fmt, zvcplus.Format):
        blocks = (words + fmt.block_words - 1) // fmt.block_words
        return 2 * blocks <= 8 * size <= 1029 * blocks + 7
    masks = fmt.mask_bytes * ((words + fmt.block_words - 1) // fmt.block_words)
    payload = size - masks
    return 0 <= payload <= words * fmt.word_bytes and payload % fmt.word_bytes == 0
