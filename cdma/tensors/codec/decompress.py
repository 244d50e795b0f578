"""The array of a container or of a bare stream, as an ``.npy`` file."""

import math
from pathlib import Path

import numpy as np

from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import reading, refuse_same, writing
from cdma.golden import Format, decompress, read_container, read_header
from cdma.tensors.codec.elements import dtype_of
from cdma.tensors.codec.errors import naming
from cdma.tensors.codec.figures import by, lossy_figures


def decompress_file(name: str, output: str, *, is_raw: bool = False, **stream) -> dict:
    """Decompress a file, and tell what was in it.

    Parameters
    ----------
    name : str
        Container or bare stream; ``-`` for stdin.
    output : str
        ``.npy`` file to write; ``-`` for stdout.
    is_raw : bool
        Whether it is a bare stream.
    **stream
        Of a bare stream, see :func:`read_raw`.

    Returns
    -------
    dict
        Fit for JSON: ``output``, ``dtype``, ``shape``, ``words`` and ``raw_bytes``; of the lossy
        codec also :func:`~cdma.tensors.codec.figures.lossy_figures`.

    Raises
    ------
    UserError
        When the input is damaged or not described, or the output cannot be written.
    """
    refuse_same(output, name)
    with reading(name) as source, naming(name):
        if is_raw:
            array, dtype = read_raw(source, name, **stream)
            lossy = {}
        else:
            header = read_header(source)
            array, dtype, lossy = read_container(source), header.dtype, lossy_figures(header)
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
) -> tuple[np.ndarray, str]:
    """Array of a bare stream, and the name of its element type.

    Parameters
    ----------
    file, name : str
        Where the stream is, and what a user calls it.
    count : int, optional
        Words in it; not needed where the shape is given.
    shape : tuple of int, optional
        Of the array; one dimension by default.
    dtype : str, optional
        Element type, by default unsigned words.
    word_bits, block_words : int, optional
        Format; words have the bits of ``dtype``, or else 32.

    Raises
    ------
    UserError
        When these do not fit each other.
    StreamError
        When the stream is damaged, or not of so many words.
    """
    if count is None and shape is None:
        raise UserError(f"{name}: a raw stream needs --count or --shape")
    count = math.prod(shape) if count is None else count
    shape = (count,) if shape is None else shape
    if count < 0:
        raise UserError(f"--count must be zero or more, not {count}")
    if math.prod(shape) != count:
        raise UserError(f"--shape {by(shape)} has {math.prod(shape)} words, --count is {count}")
    element = None if dtype is None else dtype_of(dtype)
    if word_bits is None:
        word_bits = 32 if element is None else element.itemsize * 8
    with refusals_as_user_errors():
        fmt = Format(word_bits, block_words)
    if element is not None and element.itemsize != fmt.word_bytes:
        raise UserError(f"--dtype {dtype} does not have the {fmt.word_bits} bits of a word")
    words = decompress(Path(file).read_bytes(), count, fmt)
    words = words.view(element or words.dtype).reshape(shape)
    return words, dtype if dtype == "bfloat16" else words.dtype.name
