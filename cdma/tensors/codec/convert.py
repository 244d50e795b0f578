"""Convert a container to the stream and the index of the engine, and back."""

import math
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from cdma.engine_config import EngineConfig
from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import refuse_same, refuse_twice, replacing
from cdma.golden import read_header
from cdma.golden.container.elements import DTYPES
from cdma.golden.engine import read_zvc, write_zvc
from cdma.tensors.codec.errors import naming
from cdma.tensors.rows import TYPE_OF


def to_streams(
    container: str,
    stream: str,
    index: str,
    *,
    stripe_bytes: int = 4096,
    lanes: int | None = None,
    block_words: int | None = None,
    raw: str = "never",
) -> dict:
    """Write the stream and the index for a prefetch of the engine.

    Parameters
    ----------
    container : str
        File to read.
    stream, index : str
        Files to write.
    stripe_bytes, lanes, block_words : int, optional
        Size of the engine. By default, beats of 32 bytes and the blocks of the container.
    raw : str
        Policy for raw stripes if the container is encoded again.

    Returns
    -------
    dict
        For JSON: ``wrote``, ``dtype``, ``shape``, ``stripes``, ``raw_stripes`` and
        ``stream_bytes``.

    Raises
    ------
    UserError
        When the container is damaged or has other words than the engine, a file cannot be
        written, or two of the three are one file.
    """
    refuse_twice(stream, index)
    for output in (stream, index):
        refuse_same(output, container)
    with naming(container):
        header = read_header(container)
        blocks = header.format.block_words if block_words is None else block_words
        type_ = header.format.type if header.codec_name == "zvcplus" else None
        config = _config(header.format.word_bits, lanes, stripe_bytes, blocks, type_)
        with refusals_as_user_errors():
            streams = read_zvc(container, config, raw=raw)
    with ExitStack() as files:
        files.enter_context(replacing(stream)).write_bytes(streams.stream)
        files.enter_context(replacing(index)).write_bytes(streams.index)
    return _facts([stream, index], streams.dtype, streams.shape, streams.index, streams.stream)


def to_container(
    stream: str,
    index: str,
    container: str,
    dtype: str,
    shape: Sequence[int],
    *,
    stripe_bytes: int = 4096,
    lanes: int | None = None,
    block_words: int | None = None,
    codec: str | None = None,
) -> dict:
    """Write a container from the stream and the index that an offload wrote to host memory.

    Parameters
    ----------
    stream, index : str
        Files to read.
    container : str
        File to write.
    dtype : str
        Element type.
    shape : sequence of int
        Shape of the tensor.
    stripe_bytes, lanes, block_words : int, optional
        Size of the engine. By default, beats of 32 bytes and blocks of 128 bytes.
    codec : str, optional
        Codec of the engine: ``"zvc"`` (by default) or ``"zvcplus"`` of the element type.

    Returns
    -------
    dict
        See :func:`to_streams`.

    Raises
    ------
    UserError
        When the files are damaged or do not match type and shape, or the container cannot be
        written or is one of them.
    """
    if dtype not in DTYPES:
        raise UserError(f"--dtype must be one of {', '.join(DTYPES)}, not {dtype!r}")
    width = 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
    refuse_same(container, stream, index)
    type_ = TYPE_OF.get(dtype, dtype) if codec == "zvcplus" else None
    config = _config(8 * width, lanes, stripe_bytes, block_words, type_)
    data, entries = (np.frombuffer(Path(name).read_bytes(), np.uint8) for name in (stream, index))
    expected = 8 * config.stripes(math.prod(shape) * width)
    if len(entries) != expected:
        raise UserError(f"{index}: expected {expected} bytes of index, not {len(entries)}")
    with replacing(container) as temporary, naming(stream):
        write_zvc(temporary, data, entries, config, dtype, shape)
    return _facts([container], dtype, shape, entries, data)


def _config(
    word_bits: int,
    lanes: int | None,
    stripe_bytes: int,
    block_words: int | None,
    type_: str | None = None,
):
    """Engine of ZVC+ with a ``type_``, else of the first codec."""
    codec = {} if type_ is None else {"codec": "zvcplus", "type": type_}
    with refusals_as_user_errors():
        lanes = 256 // word_bits if lanes is None else lanes
        return EngineConfig(1, lanes, word_bits, stripe_bytes, block_words=block_words, **codec)


def _facts(
    written: list[str], dtype: str, shape: Sequence[int], index: np.ndarray, stream: np.ndarray
) -> dict:
    flags = index.view("<u4")[::2]
    return {
        "wrote": written,
        "dtype": dtype,
        "shape": list(shape),
        "stripes": len(flags),
        "raw_stripes": int((flags >> 24 & 1).sum()),
        "stream_bytes": len(stream),
    }
