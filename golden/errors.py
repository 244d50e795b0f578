"""The one exception that a stream or a container is rejected with."""

from cdma.format import ErrorCode


class StreamError(ValueError):
    """A stream or container that breaks its format; its text names the offset and the reason.

    Attributes
    ----------
    reason : str
        What is wrong, in a line without the offset.
    offset : int
        Byte offset of the first error, as ``docs/format.md`` defines it for each code.
    code : ErrorCode
        Kind of error.
    """

    def __init__(self, reason: str, offset: int, code: ErrorCode):
        super().__init__(reason, offset, code)
        self.reason = reason
        self.offset = offset
        self.code = code

    def __str__(self):
        return f"Byte {self.offset}: {self.reason}"


class FieldError(ValueError):
    """A field of a codec in the header of a container that is unknown or breaks a rule.

    Attributes
    ----------
    offset : int
        Byte offset of the field among those of the codec.
    """

    def __init__(self, offset: int, reason: str):
        super().__init__(reason)
        self.offset = offset
