"""The codecs that a container can name, beside the zero-value codec and its lossy form.

A codec brings the parts that :class:`Codec` lists. A new one is added to ``CODECS``; nothing else
of the container changes.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cdma.golden.errors import StreamError
from cdma.golden.zvcplus import container as zvcplus


@dataclass(frozen=True)
class Codec:
    """Parts of a codec.

    Attributes
    ----------
    number : int
        Id in the container. 0 and 1 are the zero-value codec and its lossy form.
    name : str
        Name in messages and options.
    format : type
        Parameters of a stream: with ``word_bits``, ``word_bytes``, ``block_words``, ``dtype``, and
        ``least_bytes`` and ``most_bytes`` of a number of words.
    fields : struct.Struct
        What the header has between the common fields and the shape.
    pack : callable
        The values of ``fields``, of a format.
    parse : callable
        Format of the values; raises ``FieldError``.
    compress : callable
        Stream of words, uint8, of a packet and a format.
    decode : callable
        Words of a stream, a count and a format, and the error or ``None``.
    byte_of : callable
        Byte offset in the stream of the offset of an error.
    """

    number: int
    name: str
    format: type
    fields: struct.Struct
    pack: Callable[[object], tuple]
    parse: Callable[..., object]
    compress: Callable[[np.ndarray, object], np.ndarray]
    decode: Callable[[np.ndarray, int, object], tuple[np.ndarray, StreamError | None]]
    byte_of: Callable[[int], int]


#: Codecs by number.
CODECS = {
    each.number: each
    for each in (
        Codec(
            2, "zvcplus", zvcplus.Format, zvcplus.FIELDS, zvcplus.pack, zvcplus.parse,
            zvcplus.compress, zvcplus.decode, zvcplus.byte_of,
        ),
    )
}  # fmt: skip


def codec_of(fmt) -> Codec | None:
    """Codec of a format; ``None`` for the zero-value codec."""
    for codec in CODECS.values():
        if isinstance(fmt, codec.format):
            return codec
    return None
