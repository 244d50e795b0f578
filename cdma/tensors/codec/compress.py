"""Compress a tensor to a container or a bare stream."""

import numpy as np

from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import STDIO, reading, refuse_same, writing
from cdma.format import TAILS
from cdma.golden import Format, read_header
from cdma.golden.container.file import write_words
from cdma.golden.lossy.bound import Bound
from cdma.golden.lossy.codec import quantise
from cdma.golden.lossy.file import write_quantised
from cdma.golden.zvc.codec import compress_words
from cdma.golden.zvc.fold import check_fold
from cdma.golden.zvc.stages import count_nonzeros
from cdma.golden.zvc.words import to_words
from cdma.tensors.codec.elements import element_name, typed
from cdma.tensors.codec.figures import figures, lossy_figures
from cdma.tensors.codec.zvcplus import compress_zvcplus
from cdma.tensors.commonest import Commonest, hint
from cdma.tensors.load import load_tensor, split


def compress_tensor(
    name: str,
    output: str,
    *,
    is_raw: bool = False,
    word_bits: int | None = None,
    block_words: int | None = None,
    tail: str | None = None,
    zero_value: int = 0,
    fold_negative_zero: bool = False,
    dtype: str | None = None,
    lossy: str | None = None,
    codec: str = "zvc",
    **plus,
) -> dict:
    """Compress a tensor, and return the sizes.

    Parameters
    ----------
    name : str
        Name for ``load_tensor``, or ``-`` for an ``.npy`` file on stdin.
    output : str
        File to write, or ``-`` for stdout.
    is_raw : bool
        Write the bare stream without a container.
    word_bits, block_words : int, optional
        Format of the stream. A word must have the width of an element.
    tail, zero_value, fold_negative_zero
        See :class:`~cdma.format.Format`.
    dtype : str, optional
        Element type, if the type is not in the file.
    lossy : str, optional
        Error bound, ``abs=EB`` or ``rel=R``: use the lossy codec, which has its own format.
    codec : str
        ``"zvc"`` or ``"zvcplus"``, which has its own format.
    **plus
        Options of :func:`~cdma.tensors.codec.zvcplus.compress_zvcplus`.

    Returns
    -------
    dict
        For JSON: ``output``, ``container``, ``dtype``, ``shape``,
        :func:`~cdma.tensors.codec.figures.figures`, and ``notes``, sentences for the user. With
        ``lossy`` also :func:`~cdma.tensors.codec.figures.lossy_figures`.

    Raises
    ------
    UserError
        When the tensor cannot be read, the file cannot be written, or type and format do not match.
    """
    if name != STDIO:
        refuse_same(output, split(name)[0])
    given = {"--raw": is_raw, "--word-bits": word_bits, "--block-words": block_words}
    given |= {"--tail": tail, "--zero-value": zero_value}
    given["--fold-negative-zero"] = fold_negative_zero
    if lossy is not None:
        _refuse_with("--lossy", {**given, "--codec zvcplus": codec == "zvcplus"})
    elif codec == "zvcplus":
        _refuse_with("--codec zvcplus", given)
        return compress_zvcplus(name, output, dtype=dtype, **plus)
    for option, value in plus.items():
        if value is not None:
            raise UserError(f"--{option} is for --codec zvcplus: add it, or leave --{option} out")
    if lossy is not None:
        return _compress_lossy(name, output, lossy, dtype)
    with reading(name, ".npy") as source:
        array, notes = typed(load_tensor(source), dtype)
        with refusals_as_user_errors():
            bits = array.itemsize * 8 if word_bits is None else word_bits
            fmt = Format(bits, block_words, tail or TAILS[0], zero_value, fold_negative_zero)
        if fmt.word_bytes != array.itemsize:
            raise UserError(
                f"{name}: elements are {array.dtype}, so words have {array.itemsize * 8} "
                f"bits, not {fmt.word_bits}; leave --word-bits out"
            )
        with refusals_as_user_errors(name):
            check_fold(array.dtype, fmt, dtype)
        words, commonest = to_words(array), Commonest(array.itemsize)
        element = element_name(array, dtype)
        with writing(output) as temporary:
            if is_raw:
                temporary.write_bytes(compress_words(words, fmt))
            else:
                with refusals_as_user_errors(name):
                    write_words(temporary, words, fmt, element, array.shape)
            file_bytes = temporary.stat().st_size
        commonest.update(words)
        nonzeros = count_nonzeros(words, fmt)
    zeros = nonzeros / array.size if array.size and fmt.is_plain else None
    stream_bytes = fmt.stream_bytes(array.size, nonzeros)
    advice = _advice(commonest.finish(fmt), zeros, array.nbytes, stream_bytes, fmt)
    return {
        "output": output,
        "container": not is_raw,
        "dtype": element,
        "shape": list(array.shape),
        **figures(fmt, array.size, nonzeros, stream_bytes, file_bytes),
        "notes": [*notes, *([advice] if advice else [])],
    }


def _advice(
    commonest: dict | None, density: float | None, size: int, coded: int, fmt: Format
) -> str | None:
    """The hint, where the word that it names gains more than the format that was used."""
    if commonest is None:
        return hint(None, density)
    if int(commonest["word"], 16) == fmt.zero_value or commonest["ratio"] <= size / coded * 1.01:
        return None
    return f"{hint(commonest, density)}: --zero-value {commonest['word']}"


def _refuse_with(option: str, given: dict) -> None:
    for other, value in given.items():
        if value:
            raise UserError(f"{other} does not go with {option}: leave one of them out")


def _compress_lossy(name: str, output: str, bound: str, dtype: str | None) -> dict:
    with refusals_as_user_errors():
        parsed = Bound.parse(bound)
    with reading(name, ".npy") as source:
        array, notes = typed(load_tensor(source), dtype)
        with refusals_as_user_errors(name):
            quantised = quantise(array, parsed)
        with writing(output) as temporary:
            with refusals_as_user_errors(name):
                write_quantised(temporary, quantised)
            header = read_header(temporary)
    nonzeros = int(np.count_nonzero(quantised.q)) + len(quantised.outliers)
    sizes = header.stream_bytes, header.file_bytes
    return {
        "output": output,
        "container": True,
        "dtype": header.dtype,
        "shape": list(header.shape),
        **figures(header.format, header.words, nonzeros, *sizes),
        **lossy_figures(header),
        "notes": notes,
    }
