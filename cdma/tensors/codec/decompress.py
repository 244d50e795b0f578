"""Decompress a container or a bare stream to an ``.npy`` file."""

import math
from pathlib import Path

import numpy as np

from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import reading, refuse_same, writing
from cdma.format import TAILS
from cdma.golden import Format, decompress, read_container, read_header
from cdma.tensors.codec.elements import dtype_of, element_name
from cdma.tensors.codec.errors import naming
from cdma.tensors.codec.figures import by, codec_figures, lossy_figures


def decompress_file(name: str, output: str, *, is_raw: bool = False, **stream) -> dict:
    """Decompress a file, and return a description of its array.

    Parameters
    ----------
    name : str
        Container or bare stream, or ``-`` for stdin.
    output : str
        ``.npy`` file to write, or ``-`` for stdout.
    is_raw : bool
        The input is a bare stream.
    **stream
        Options of a bare stream, see :func:`read_raw`.

    Returns
    -------
    dict
        For JSON: ``output``, ``dtype``, ``shape``, ``words`` and ``raw_bytes``. For the lossy codec
        also :func:`~cdma.tensors.codec.figures.lossy_figures`, for ZVC+
        :func:`~cdma.tensors.codec.figures.codec_figures`.

    Raises
    ------
    UserError
        When the input is damaged, the description of a bare stream is incomplete, or the output
        cannot be written.
    """
    refuse_same(output, name)
    with reading(name) as source, naming(name):
        if is_raw:
            array, dtype = read_raw(source, name, **stream)
            lossy = {}
        else:
            header = read_header(source)
            array, dtype = read_container(source), header.dtype
            lossy = {**lossy_figures(header), **codec_figures(header)}
    with writing(output) as temporary, temporary.open("wb") as file:
        np.lib.format.write_array(file, array, allow_pickle=False)
    return {
        "output": output,
        "dtype": dtype,
        "shape": list(array.shape),
        "words": array.size,
        **lossy,
        "raw_bytes": array.nbytes,
    }


def read_raw(
    file: str,
    name: str,
    *,
    count: int | None = None,
    shape: tuple[int, ...] | None = None,
    dtype: str | None = None,
    word_bits: int | None = None,
    block_words: int | None = None,
    tail: str | None = None,
    zero_value: int = 0,
    fold_negative_zero: bool = False,
) -> tuple[np.ndarray, str]:
    """Array of a bare stream, and the name of its element type.

    Parameters
    ----------
    file, name : str
        Path of the stream, and its name in messages.
    count : int, optional
        Words in the stream. Not needed with ``shape``, or with a tail of ones.
    shape : tuple of int, optional
        Shape of the array. One dimension by default.
    dtype : str, optional
        Element type, by default unsigned words.
    word_bits, block_words : int, optional
        Format. By default, words have the width of ``dtype``, or else 32 bits.
    tail, zero_value, fold_negative_zero
        See :class:`~cdma.format.Format`.

    Raises
    ------
    UserError
        When the options contradict each other.
    StreamError
        When the stream is damaged, or has another number of words.
    """
    if count is None and shape is not None:
        count = math.prod(shape)
    if count is None and tail != "ones":
        raise UserError(f"{name}: a raw stream needs --count or --shape")
    if count is not None and count < 0:
        raise UserError(f"--count must be zero or more, not {count}")
    if shape is not None and math.prod(shape) != count:
        raise UserError(f"--shape {by(shape)} has {math.prod(shape)} words, --count is {count}")
    element = None if dtype is None else dtype_of(dtype)
    if word_bits is None:
        word_bits = 32 if element is None else element.itemsize * 8
    with refusals_as_user_errors():
        tail = tail or TAILS[0]
        fmt = Format(word_bits, block_words, tail, zero_value, fold_negative_zero)
    if element is not None and element.itemsize != fmt.word_bytes:
        raise UserError(f"--dtype {dtype} does not have the {fmt.word_bits} bits of a word")
    words = decompress(Path(file).read_bytes(), count, fmt)
    words = words.view(element or words.dtype)
    words = words if shape is None else words.reshape(shape)
    return words, element_name(words, dtype)
