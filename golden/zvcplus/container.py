"""ZVC+ in a container: its fields in the header, and the functions of a chunk."""

import struct

from cdma.golden.errors import FieldError
from cdma.golden.zvcplus.codec import compress, decode
from cdma.zvcplus import REPEATS, TYPES, Format

#: Type, repeats, zero, distance in words, least distance in beats, zero.
FIELDS = struct.Struct("<BBHIII")

__all__ = ["FIELDS", "Format", "byte_of", "compress", "decode", "pack", "parse"]


def pack(fmt: Format) -> tuple:
    """Values of ``FIELDS``."""
    return fmt.word.number, fmt.repeat_number, 0, fmt.distance, fmt.min_beats, 0


def parse(type_: int, repeats: int, zero: int, distance: int, min_beats: int, zeros: int) -> Format:
    """Format of the values of ``FIELDS``.

    Raises
    ------
    FieldError
        At the first value that is unknown or breaks a rule, with its offset in ``FIELDS``.
    """
    types = {each.number: name for name, each in TYPES.items()}
    names = {number: name for name, number in REPEATS.items()}
    if type_ not in types:
        raise FieldError(0, f"type must be one of {', '.join(map(str, types))}, not {type_}")
    if repeats not in names:
        raise FieldError(1, f"repeats must be one of {', '.join(map(str, names))}, not {repeats}")
    for offset, value in ((2, zero), (12, zeros)):
        if value:
            raise FieldError(offset, f"reserved field must be 0, not {value}")
    for offset, beats in ((4, 1), (8, min_beats)):  # an error of one, then of the other
        try:
            fmt = Format(types[type_], names[repeats], distance, beats)
        except ValueError as error:
            raise FieldError(offset, str(error)) from None
    return fmt


def byte_of(offset: int) -> int:
    """Byte in the stream of the bit offset of an error."""
    return offset // 8
