"""Golden model: the stream format, its codec and its container, on NumPy arrays."""

from cdma.format import ErrorCode, Format
from cdma.golden.container.file import (
    read_container,
    read_header,
    read_range,
    write_container,
)
from cdma.golden.container.header import Header
from cdma.golden.errors import StreamError
from cdma.golden.zvc.codec import compress, decompress, salvage

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
