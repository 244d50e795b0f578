"""Golden model: the stream format, its codec and its container, on NumPy arrays."""

from cdma.golden.codec import compress, decompress, salvage
from cdma.golden.container import (
    read_container,
    read_header,
    read_range,
    write_container,
)
from cdma.golden.errors import StreamError
from cdma.golden.format import ErrorCode, Format
from cdma.golden.header import Header

__all__ = [
    "ErrorCode",
    "Format",
    "Header",
    "StreamError",
    "compress",
    "decompress",
    "read_container",
    "read_header",
    "read_range",
    "salvage",
    "write_container",
]
