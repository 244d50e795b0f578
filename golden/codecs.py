"""The golden model of each codec of the hardware, chosen by the format of a stream.

Simulations, fuzzers and reports ask :func:`codec_of` and know no codec. The configurations of the
hardware follow the same rule, see :mod:`cdma.hdl.codecs`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cdma import zvcplus as plus_format
from cdma.format import StreamFormat
from cdma.golden import zvcplus
from cdma.golden.zvc import codec as zvc
from cdma.golden.zvc import sizes as zvc_sizes
from cdma.golden.zvc import words as zvc_words
from cdma.golden.zvcplus import codec as zvcplus_codec
from cdma.golden.zvcplus import sizes as zvcplus_sizes
from cdma.golden.zvcplus.salvage import salvage as zvcplus_salvage


@dataclass(frozen=True)
class Codec:
    """Golden model of a codec.

    Attributes
    ----------
    words_of : callable
        Words of an array and a format, shape (n,); raises ``TypeError`` or ``ValueError`` when the
        elements are no words of the format. Unsigned numbers are bare words of any type.
    compress : callable
        Stream of an array, as of ``words_of``, and a format, uint8.
    salvage : callable
        Words, bytes decoded without error, and error code of a stream, a count of words and a
        format: what the decompressor gives for any bytes. The words may be fewer than the count:
        those behind them may be anything.
    block_bits : callable
        Bits in the stream of each block of words and a format, int64 of shape (blocks,).
    place_of : callable
        Text that says what a byte of a stream is, of the byte's offset, the stream's words and a
        format.
    """

    words_of: Callable[[np.ndarray, StreamFormat], np.ndarray]
    compress: Callable[[np.ndarray, StreamFormat], np.ndarray]
    salvage: Callable[[bytes, int | None, StreamFormat], tuple[np.ndarray, int, int]]
    block_bits: Callable[[np.ndarray, StreamFormat], np.ndarray]
    place_of: Callable[[int, np.ndarray, StreamFormat], str]


def _compress(array, fmt):
    return zvc.compress_words(zvc_words.words_of(array, fmt), fmt)


_ZVC = Codec(zvc_words.words_of, _compress, zvc.salvage, zvc_sizes.block_bits, zvc_sizes.place_of)
_ZVCPLUS = Codec(
    zvcplus_codec.words_of,
    zvcplus.compress,
    zvcplus_salvage,
    zvcplus_sizes.block_bits,
    zvcplus_sizes.place_of,
)


def codec_of(fmt: StreamFormat) -> Codec:
    """Golden model of the codec that a format belongs to."""
    return _ZVCPLUS if isinstance(fmt, plus_format.Format) else _ZVC
