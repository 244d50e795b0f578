"""A tensor into a container or a bare stream."""

import numpy as np

from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import STDIO, reading, refuse_same, writing
from cdma.golden import Format, compress, write_container
from cdma.golden.zvc.words import to_words
from cdma.tensors.codec.elements import typed
from cdma.tensors.codec.figures import figures
from cdma.tensors.commonest import Commonest, hint
from cdma.tensors.load import load_tensor, split


def compress_tensor(
    name: str,
    output: str,
    *,
    is_raw: bool = False,
    word_bits: int | None = None,
    block_words: int | None = None,
    dtype: str | None = None,
) -> dict:
    """Compress a tensor, and tell what it came to.

    Parameters
    ----------
    name : str
        As ``load_tensor`` takes it; ``-`` for an ``.npy`` file on stdin.
    output : str
        File to write; ``-`` for stdout.
    is_raw : bool
        Write the bare stream, no container.
    word_bits, block_words : int, optional
        Format of the stream; a word has the bits of an element, and no others.
    dtype : str, optional
        Element type, where the file has no name for it.

    Returns
    -------
    dict
        Fit for JSON: ``output``, ``container``, ``dtype``, ``shape``,
        :func:`~cdma.tensors.codec.figures.figures`, and ``notes``, sentences for the user.

    Raises
    ------
    UserError
        When the tensor cannot be read, the file cannot be written, or type and format do not fit.
    """
    if name != STDIO:
        refuse_same(output, split(name)[0])
    with reading(name, ".npy") as source:
        array, notes = typed(load_tensor(source), dtype)
        with refusals_as_user_errors():
            fmt = Format(array.itemsize * 8 if word_bits is None else word_bits, block_words)
        if fmt.word_bytes != array.itemsize:
            raise UserError(
                f"{name}: elements are {array.dtype}, so words have {array.itemsize * 8} "
                f"bits, not {fmt.word_bits}; leave --word-bits out"
            )
        with writing(output) as temporary:
            if is_raw:
                temporary.write_bytes(compress(array, fmt))
            else:
                with refusals_as_user_errors():
                    write_container(temporary, array, fmt)
            file_bytes = temporary.stat().st_size
        words, commonest = to_words(array), Commonest(array.itemsize)
        commonest.update(words)
        nonzeros = int(np.count_nonzero(words))
    advice = hint(commonest.finish(), nonzeros / array.size if array.size else None)
    stream_bytes = fmt.stream_bytes(array.size, nonzeros)
    return {
        "output": output,
        "container": not is_raw,
        "dtype": array.dtype.name,
        "shape": list(array.shape),
        **figures(fmt, array.size, nonzeros, stream_bytes, file_bytes),
        "notes": [*notes, *([advice] if advice else [])],
    }
