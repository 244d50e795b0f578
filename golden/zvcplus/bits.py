"""Fields of any width in a string of bits, written and read many at a time."""

import numpy as np

_LOW = np.uint64(0xFFFFFFFF)


def mask_of(widths) -> np.ndarray:
    """Numbers of ``widths`` ones, uint64; widths of 0 to 32."""
    return (np.uint64(1) << np.asarray(widths).astype(np.uint64)) - np.uint64(1)


def put_fields(out: np.ndarray, places: np.ndarray, values: np.ndarray) -> None:
    """OR fields into a string of bits.

    Parameters
    ----------
    out : ndarray of uint32
        The bits, 32 an element; one element more than the last field needs.
    places : ndarray of int64, shape (fields,)
        Bit offsets of the fields, ascending.
    values : ndarray of unsigned, shape (fields,)
        Their values, of at most 32 bits and not more than the distance to the next field.
    """
    if not len(places):
        return
    cells = places >> 5
    shifted = values.astype(np.uint64)
    shifted <<= (places & 31).astype(np.uint64)
    starts = np.flatnonzero(cells[1:] != cells[:-1])
    starts += 1
    starts = np.append(0, starts)
    totals = np.bitwise_or.reduceat(shifted, starts)
    cells = cells[starts]
    out[cells] |= (totals & _LOW).astype(np.uint32)
    out[cells + 1] |= (totals >> np.uint64(32)).astype(np.uint32)


class BitReader:
    """Reads fields out of a part of a stream.

    Parameters
    ----------
    data : ndarray of uint8
        The stream, followed by at least 16 bytes that do not belong to it.
    start, stop : int
        Bit offsets between which fields can start.
    """

    def __init__(self, data: np.ndarray, start: int, stop: int):
        first, last = start >> 5, (stop >> 5) + 1
        self._base = 32 * first
        cells = data[4 * first : 4 * last + 4]
        cells = np.ascontiguousarray(cells[: len(cells) // 4 * 4]).view("<u4").astype(np.uint64)
        self._pairs = cells[:-1] | cells[1:] << np.uint64(32)
        self._last = len(self._pairs) - 1

    def windows(self, places: np.ndarray) -> np.ndarray:
        """At least 33 bits from each bit offset on, uint64; places outside give any bits."""
        relative = places - self._base
        pairs = self._pairs.take(relative >> 5, mode="clip")
        pairs >>= (relative & 31).astype(np.uint64)
        return pairs
