"""Size of a quantised array, by which the width of its numbers is chosen."""

import numpy as np

from cdma.format import Format
from cdma.golden.container.header import CHUNK_BLOCKS

#: Bits that a quantised number can have.
Q_BITS = (8, 16, 32)
#: Bytes of an outlier's place.
PLACE_BYTES = 8
_INDEX_BYTES = 12


def stored_bytes(q: np.ndarray, outliers: int, item_bytes: int) -> int:
    """Bytes that numbers and outliers take in a file, index included, header excluded.

    Parameters
    ----------
    q : ndarray of int8, int16 or int32, shape (elements,)
    outliers : int
        Number of outliers.
    item_bytes : int
        Bytes of an element of the array.
    """
    fmt = Format(8 * q.itemsize)
    chunk_words = CHUNK_BLOCKS * fmt.block_words
    size = outliers * (PLACE_BYTES + item_bytes)
    for first in range(0, len(q), chunk_words):
        chunk = q[first : first + chunk_words]
        packed = fmt.stream_bytes(len(chunk), int(np.count_nonzero(chunk)))
        size += min(packed, chunk.nbytes) + _INDEX_BYTES
    return size
