"""The index: the exact size, the raw flag and the CRC of each stripe."""

from dataclasses import dataclass

import numpy as np

from cdma.engine_config import INDEX_BYTES, EngineConfig
from cdma.golden.zvc.words import to_bytes

#: Type of an entry. ``flags``: size in bits 23 to 0, raw in bit 24, CRC valid in bit 25.
ENTRY = np.dtype([("flags", "<u4"), ("crc", "<u4")])
assert ENTRY.itemsize == INDEX_BYTES

_SIZE = (1 << 24) - 1
_RAW, _CRC = 1 << 24, 1 << 25
_RESERVED = 0x3F << 26


@dataclass(frozen=True, eq=False)
class Index:
    """Entries of consecutive stripes; all arrays have shape (stripes,).

    Attributes
    ----------
    sizes : ndarray of int64
        Exact number of stream bytes of each stripe.
    raw : ndarray of bool
        Whether the stripe is uncompressed.
    crc_valid : ndarray of bool
        Whether ``crcs`` is valid.
    crcs : ndarray of uint32
        CRC-32 of the exact bytes.
    reserved : ndarray of bool
        Whether a reserved bit is set. Such an entry is invalid.
    """

    sizes: np.ndarray
    raw: np.ndarray
    crc_valid: np.ndarray
    crcs: np.ndarray
    reserved: np.ndarray

    def __len__(self):
        return len(self.sizes)


def pack_index(sizes: np.ndarray, raw: np.ndarray, crcs: np.ndarray | None = None) -> np.ndarray:
    """Entries as bytes.

    Parameters
    ----------
    sizes, raw : ndarray, shape (stripes,)
        As in :class:`Index`.
    crcs : ndarray of uint32, shape (stripes,), or None
        ``None`` writes entries without CRCs.

    Returns
    -------
    ndarray of uint8, shape (8 * stripes,)
    """
    entries = np.zeros(len(sizes), ENTRY)
    entries["flags"] = sizes + np.where(raw, _RAW, 0)
    if crcs is not None:
        entries["flags"] |= _CRC
        entries["crc"] = crcs
    return entries.view(np.uint8)


def unpack_index(index) -> Index:
    """Parse the bytes of an index.

    Raises
    ------
    TypeError, ValueError
        When ``index`` is not bytes, or its size is not whole entries.
    """
    data = to_bytes(index)
    if len(data) % INDEX_BYTES:
        raise ValueError(f"Index must be whole entries of {INDEX_BYTES} bytes, not {len(data)}")
    entries = np.ascontiguousarray(data).view(ENTRY)
    flags = entries["flags"]
    return Index(
        sizes=(flags & _SIZE).astype(np.int64),
        raw=flags & _RAW != 0,
        crc_valid=flags & _CRC != 0,
        crcs=entries["crc"].copy(),
        reserved=flags & _RESERVED != 0,
    )


def possible(index: Index, memory_bytes: np.ndarray, config: EngineConfig) -> np.ndarray:
    """Whether each entry is possible for its stripe, bool of shape (stripes,).

    A raw stripe has its size in memory. A compressed stripe has what its codec can give; of
    zero-value compression at least its masks, at most its masks and all its words, whole words.

    Parameters
    ----------
    index : Index
    memory_bytes : ndarray of int64, shape (stripes,)
        Bytes of each stripe in device memory.
    config : EngineConfig
    """
    fmt, words = config.format, memory_bytes // config.word_bytes
    coded = (index.sizes >= fmt.least_bytes(words)) & (index.sizes <= fmt.most_bytes(words))
    if not config.has_padding:
        coded &= index.sizes % config.word_bytes == 0
    return ~index.reserved & np.where(index.raw, index.sizes == memory_bytes, coded)
