"""The one exception that a ZVC+ stream is rejected with."""

from cdma.golden import errors
from cdma.zvcplus import ErrorCode


class StreamError(errors.StreamError):
    """A stream that breaks the ZVC+ format; its text names the offset in bits and the reason.

    Attributes
    ----------
    reason : str
        What is wrong, in a line without the offset.
    offset : int
        Bit offset of the first error, as ``docs/zvcplus.md`` defines it.
    code : ErrorCode
        Kind of error.
    """

    def __init__(self, reason: str, offset: int, code: ErrorCode):
        super().__init__(reason, offset, code)

    def __str__(self):
        return f"Bit {self.offset}: {self.reason}"
