"""Convert between the engine's stream and index, and a ``.zvc`` container."""

import math
import os
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from cdma.engine_codes import Raw, Status
from cdma.engine_config import EngineConfig
from cdma.golden.container.elements import DTYPES, item_bytes
from cdma.golden.container.file import (
    read_container,
    read_header,
    read_stream,
    write_chunks,
)
from cdma.golden.container.header import MAX_DIMENSIONS, MAX_SPAN, span_bytes
from cdma.golden.engine import stripes
from cdma.golden.engine.index import pack_index, possible, unpack_index
from cdma.golden.engine.offload import offload
from cdma.golden.engine.prefetch import StripeError
from cdma.golden.zvc.words import to_bytes


@dataclass(frozen=True, eq=False)
class Streams:
    """A compressed tensor in the engine's format in host memory.

    Attributes
    ----------
    stream, index : ndarray of uint8
        As from :func:`~cdma.golden.engine.offload.offload`, with CRCs.
    dtype : str
        NumPy name of the element type.
    shape : tuple of int
        Shape of the tensor.
    """

    stream: np.ndarray
    index: np.ndarray
    dtype: str
    shape: tuple[int, ...]

    @property
    def words(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


def write_zvc(
    file: str | os.PathLike | BinaryIO,
    stream,
    index,
    config: EngineConfig,
    dtype: str,
    shape: tuple[int, ...],
) -> None:
    """Write a container from the stream and index of an engine, without encoding again.

    Parameters
    ----------
    file : path or binary file
        Output file. An existing file is overwritten.
    stream, index : bytes-like or ndarray of uint8
        The whole stream, and one entry per stripe.
    config : EngineConfig
        Size of the engine.
    dtype : str
        Element type: supported by the container format, with the width of the engine's words.
    shape : tuple of int
        Shape of the tensor.

    Raises
    ------
    StripeError
        At the first stripe whose entry does not fit the stream or whose CRC does not match. The
        streams are not decoded.
    TypeError, ValueError
        When an argument has a wrong type or value.
    """
    stripes.check_config(config)
    if dtype not in DTYPES:
        raise ValueError(f"Element type must be one of {', '.join(DTYPES)}, not {dtype!r}")
    width = item_bytes(dtype)
    if width != config.word_bytes:
        raise ValueError(f"Element type must have {config.word_bytes} bytes, not {dtype!r}")
    if len(shape) > MAX_DIMENSIONS or any(size < 0 for size in shape):
        raise ValueError(f"Shape must be at most {MAX_DIMENSIONS} sizes, not {shape!r}")
    if span_bytes(shape, dtype) > MAX_SPAN:
        raise ValueError(f"Shape must span at most {MAX_SPAN} bytes, not {shape!r}")
    data = to_bytes(stream)
    entries = unpack_index(index)
    nbytes = math.prod(shape) * config.word_bytes
    stripes.check_entries(len(entries), nbytes, config)
    memory = stripes.memory_sizes(nbytes, config)
    offsets = np.append(0, np.cumsum(config.padded(entries.sizes)))
    bad = np.append(~possible(entries, memory, config) | (offsets[1:] > len(data)), False)
    bad[-1] = offsets[-1] != len(data)
    if bad.any():
        stripe = int(np.argmax(bad))
        reason = "the index does not fit the stream"
        raise StripeError(reason, int(offsets[stripe]), Status.INDEX, stripe)
    crcs = stripes.crcs(data, offsets[:-1], entries.sizes)
    wrong = np.flatnonzero(entries.crc_valid & (crcs != entries.crcs))
    if len(wrong):
        stripe = int(wrong[0])
        reason = "the CRC of the stripe does not match"
        raise StripeError(reason, int(offsets[stripe]), Status.CRC, stripe)
    blocks = config.stripe_bytes // config.block_bytes
    if config.has_padding:  # chunks have none
        data = _placed(data, offsets[:-1], np.cumsum(entries.sizes) - entries.sizes, entries.sizes)
        offsets = np.append(0, np.cumsum(entries.sizes))
    write_chunks(file, data, offsets, entries.raw, config.format, blocks, dtype, tuple(shape))


def _placed(
    data: np.ndarray, starts: np.ndarray, places: np.ndarray, sizes: np.ndarray, total: int = 0
) -> np.ndarray:
    """Bytes of stripes, ``sizes`` of them from ``starts`` in ``data``, at ``places``; else zero."""
    end = int(places[-1] + sizes[-1]) if len(sizes) else 0
    out = np.zeros(max(total, end), np.uint8)
    triples = zip(starts.tolist(), places.tolist(), sizes.tolist(), strict=True)
    for start, place, size in triples:
        out[place : place + size] = data[start : start + size]
    return out


def read_zvc(
    file: str | os.PathLike | BinaryIO, config: EngineConfig, raw: str | Raw = "never"
) -> Streams:
    """Read a container as stream and index of an engine.

    If the chunks of the container equal the engine's stripes, the data is used unchanged. Otherwise
    it is decoded and encoded again, with the raw policy ``raw``.

    Parameters
    ----------
    file : path or binary file
    config : EngineConfig
        Size of the engine that will prefetch the tensor.
    raw : str or Raw
        As for :func:`~cdma.golden.engine.offload.offload`.

    Returns
    -------
    Streams

    Raises
    ------
    StreamError
        When the container is damaged.
    ValueError
        When its codec, its element type, word width or block length differs from the engine's.
    OSError
        When the file cannot be read.
    """
    stripes.check_config(config)
    header = read_header(file)
    if header.lossy:
        raise ValueError("Container is of the lossy codec, which the engine does not have")
    if header.codec_name != config.codec:
        raise ValueError(f"Container is of {header.codec_name}, the engine of {config.codec}")
    if config.is_plus:
        if header.format != config.format:
            given, own = header.format, config.format
            raise ValueError(
                f"Container is of {given.type} with repeats {given.repeats}, the engine of "
                f"{own.type} with repeats {own.repeats}"
            )
    elif header.format.has_options:
        raise ValueError(
            "Container has a tail of ones or another zero, which the engine does not have"
        )
    elif header.format != config.format:
        raise ValueError(
            f"Container has words of {header.format.word_bits} bits in blocks of "
            f"{header.format.block_words}, the engine has {config.word_bits} and "
            f"{config.block_words}"
        )
    if header.chunk_words == config.stripe_words:
        data = read_stream(file)
        sizes = np.diff(header.chunk_offsets)
        index = pack_index(sizes, header.chunk_raw, header.chunk_crcs)
        if config.has_padding:
            ends = np.cumsum(config.padded(sizes))
            places, total = ends - config.padded(sizes), int(ends[-1]) if len(ends) else 0
            data = _placed(data, np.asarray(header.chunk_offsets)[:-1], places, sizes, total)
        return Streams(data, index, header.dtype, header.shape)
    sent = offload(read_container(file), config, raw=raw, crc=True)
    return Streams(sent.stream, sent.index, header.dtype, header.shape)
