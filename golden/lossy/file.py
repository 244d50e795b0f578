"""Containers of the lossy codec: ``.zvc`` of version 2 with the codec id of ``lossy-zvc``."""

import os
import zlib
from typing import BinaryIO

import numpy as np

from cdma.format import Format
from cdma.golden.container.file import compress_chunks, write_chunks
from cdma.golden.container.header import CHUNK_BLOCKS, MAX_DIMENSIONS, LossyFields
from cdma.golden.lossy.bound import Bound
from cdma.golden.lossy.codec import Quantised, quantise


def write_lossy(
    file: str | os.PathLike | BinaryIO,
    array,
    bound: float | Bound,
    q_bits: int | None = None,
) -> Quantised:
    """Quantise and compress an array into a container.

    ``read_container`` reads it. The array read differs from ``array`` as
    :func:`~cdma.golden.lossy.codec.quantise` guarantees.

    Parameters
    ----------
    file : path or binary file
        Where to write; a path is overwritten.
    array, bound, q_bits
        As of :func:`~cdma.golden.lossy.codec.quantise`; of up to 32 dimensions.

    Returns
    -------
    Quantised
        What was written.

    Raises
    ------
    TypeError, ValueError
        When the array or the bound is refused; nothing is written then.
    """
    array = np.asarray(array)
    if array.ndim > MAX_DIMENSIONS:
        raise ValueError(f"Array must have at most {MAX_DIMENSIONS} dimensions, not {array.ndim!r}")
    quantised = quantise(array, bound, q_bits)
    write_quantised(file, quantised)
    return quantised


def write_quantised(file: str | os.PathLike | BinaryIO, quantised: Quantised) -> None:
    """Write the container of an array that is quantised already."""
    fmt = Format(8 * quantised.q.itemsize)
    chunks = compress_chunks(quantised.q.view(fmt.dtype), fmt, raw_chunks=True)
    outliers = quantised.outliers.astype("<u8").tobytes() + quantised.outlier_words.tobytes()
    write_chunks(
        file,
        *chunks,
        fmt,
        CHUNK_BLOCKS,
        quantised.dtype,
        quantised.shape,
        LossyFields(quantised.step, len(quantised.outliers), zlib.crc32(outliers)),
        outliers,
    )
