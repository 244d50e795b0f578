"""The golden decoders held to the reference, for tests and fuzzers alike.

Both functions return what the verdict was, and raise AssertionError where the golden model gives
another; any other exception than its StreamError comes through.
"""

import io

import reference

from cdma.golden import (
    ErrorCode,
    StreamError,
    decompress,
    read_container,
    read_header,
    read_range,
    salvage,
)
from cdma.golden.codecs import codec_of


def check_stream(fmt, stream: bytes, count: int) -> str:
    """``salvage`` and ``decompress`` on any bytes."""
    words, offset, code = reference.decode(stream, count, fmt, canonical=False)
    salvaged, consumed, found = salvage(stream, count, fmt)
    assert salvaged.tolist() == words
    assert (consumed, found) == (offset, code)
    words, offset, code = reference.decode(stream, count, fmt, canonical=True)
    if code is ErrorCode.NONE:
        decoded = decompress(stream, count, fmt)
        assert decoded.tolist() == words
        assert (
            codec_of(fmt).compress(decoded, fmt).tobytes() == stream
        )  # and no other stream decodes to it
    else:
        assert _verdict(decompress, stream, count, fmt) == (offset, code)
    return code.name


def check_container(data: bytes) -> str:
    """All readers of a container, on any bytes."""
    file = io.BytesIO(data)
    refused = _refusal(reference.read_container, data)
    if refused is None:
        header, elements = reference.read_container(data)
        array = read_container(file)
        assert (array.dtype.name, array.shape) == (header.dtype, header.shape)
        assert array.tobytes() == elements
        assert read_header(file).shape == header.shape
        part = read_range(file, header.words // 3, header.words)
        assert part.tobytes() == elements[header.words // 3 * header.item_bytes :]
        return "array"
    assert 0 <= refused.verdict[0] <= len(data)
    assert _verdict(read_container, file) == refused.verdict
    if _refusal(reference.check_header, data):
        assert _verdict(read_header, file) == refused.verdict
        assert _verdict(read_range, file, 0, 0) == refused.verdict
    else:  # what lies before the chunk with the error can still be read
        container = reference.check_header(data)
        assert read_header(file).words == container.words
        refused_outliers = container.lossy and _refusal(
            lambda data: reference.check_outliers(container, data), data
        )
        if refused_outliers:  # which every range needs
            assert _verdict(read_range, file, 0, refused.words) == refused_outliers.verdict
        else:
            assert len(read_range(file, 0, refused.words)) == refused.words
        end = min(refused.words + 1, container.words)
        assert _verdict(read_range, file, refused.words, end) == refused.verdict
    return refused.verdict[1].name


def _refusal(check, data: bytes):
    try:
        check(data)
    except reference.RefusedError as error:
        return error
    return None


def _verdict(read, *args):
    try:
        read(*args)
    except StreamError as error:
        return error.offset, error.code
    return None
