"""Compressed data of AMD's AIE-ML: chunks of 32 bytes, a mask bit for each byte.

Source: AM020 1.2, "Sparsity", and UG1603 2026.1, "Sparse Matrix Multiplication": of 256 bits, 32
mask bits come first, a bit for each byte in sequence, 0 for a zero byte; the other bytes follow,
and guard bits up to a multiple of 32 bits. The documents do not say which end of the mask is the
first byte's bit, nor what becomes of a last chunk that is not whole. Other versions describe chunks
of 512 bits with 64 mask bits, which is another format (``docs/format.md``).
"""

import numpy as np

from cdma.format import ErrorCode
from cdma.golden.errors import StreamError

CHUNK_BYTES = 32
MASK_BYTES = 4
#: Place of the first byte's bit in the mask, read as a little-endian number.
ORDERS = ("lsb", "msb")


def encode(data: np.ndarray, order: str) -> np.ndarray:
    """Compress bytes.

    Parameters
    ----------
    data : ndarray of uint8, shape (bytes,)
        Whole chunks of 32 bytes.
    order : str
        ``"lsb"``: the first byte has the lowest bit of the mask; ``"msb"``: the highest.

    Returns
    -------
    ndarray of uint8, shape (bytes,)

    Raises
    ------
    ValueError
        When the data are not whole chunks, or the order is unknown.
    """
    _check_order(order)
    if data.size % CHUNK_BYTES:
        raise ValueError(
            f"Data must be whole chunks of {CHUNK_BYTES} bytes, not {data.size} bytes: AM020 does "
            f"not say how a shorter chunk is stored; pad the data"
        )
    chunks = data.reshape(-1, CHUNK_BYTES)
    bits = chunks != 0
    counts = bits.sum(axis=1)
    sizes = MASK_BYTES + -(-counts // 4) * 4
    ends = np.cumsum(sizes)
    out = np.zeros(int(ends[-1]) if ends.size else 0, np.uint8)
    starts = ends - sizes
    out[starts[:, np.newaxis] + np.arange(MASK_BYTES)] = _masks(bits, order)
    chunk, place = np.nonzero(bits)
    rank = np.cumsum(bits, axis=1)[chunk, place] - 1
    out[starts[chunk] + MASK_BYTES + rank] = chunks[chunk, place]
    return out


def decode(data: np.ndarray, order: str) -> np.ndarray:
    """Bytes of compressed chunks, shape (32 * chunks,).

    Guard bytes are not looked at: the documents do not give their value.

    Raises
    ------
    ValueError
        When the order is unknown.
    StreamError
        When the data end inside a chunk, or a byte that is sent is zero.
    """
    _check_order(order)
    starts, at = [], 0
    memory = memoryview(np.ascontiguousarray(data))
    while at < data.size:
        count = int.from_bytes(memory[at : at + MASK_BYTES], "little").bit_count()
        end = at + MASK_BYTES + -(-count // 4) * 4
        if at + MASK_BYTES > data.size or end > data.size:
            reason = f"chunk reaches to byte {end}, the data end at byte {data.size}"
            raise StreamError(reason, at, ErrorCode.TRUNCATED)
        starts.append(at)
        at = end
    first = np.array(starts, np.int64)
    masks = data[first[:, np.newaxis] + np.arange(MASK_BYTES)]
    bits = np.unpackbits(masks, axis=1, bitorder="little").view(bool)
    bits = bits if order == "lsb" else bits[:, ::-1]
    out = np.zeros(bits.shape, np.uint8)
    chunk, place = np.nonzero(bits)
    source = first[chunk] + MASK_BYTES + np.cumsum(bits, axis=1)[chunk, place] - 1
    out[chunk, place] = data[source]
    zeros = np.flatnonzero(data[source] == 0)
    if zeros.size:
        where = int(source[zeros[0]])
        raise StreamError("zero byte sent as non-zero", where, ErrorCode.ZERO_WORD)
    return out.reshape(-1)


def _masks(bits: np.ndarray, order: str) -> np.ndarray:
    return np.packbits(bits if order == "lsb" else bits[:, ::-1], axis=1, bitorder="little")


def _check_order(order: str) -> None:
    if order not in ORDERS:
        raise ValueError(f"Mask order must be {' or '.join(ORDERS)}, not {order!r}")
