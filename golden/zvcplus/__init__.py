"""ZVC+: zero-value compression with coded exponents, widths and repeats (``docs/zvcplus.md``)."""

from cdma.golden.zvcplus.codec import compress, decompress
from cdma.golden.zvcplus.errors import StreamError
from cdma.golden.zvcplus.salvage import salvage
from cdma.zvcplus import ErrorCode, Format

__all__ = ["ErrorCode", "Format", "StreamError", "compress", "decompress", "salvage"]
