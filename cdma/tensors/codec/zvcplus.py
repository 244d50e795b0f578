"""Compress a tensor to a container of ZVC+."""

import numpy as np

from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import reading, writing
from cdma.golden import read_header, write_container
from cdma.golden.zvc.words import to_words
from cdma.tensors.codec.elements import typed
from cdma.tensors.codec.figures import codec_figures, figures
from cdma.tensors.load import load_tensor
from cdma.tensors.rows import TYPE_OF, format_for, row_distance
from cdma.zvcplus import Format


def compress_zvcplus(
    name: str,
    output: str,
    *,
    dtype: str | None = None,
    repeats: str | None = None,
    distance: str | None = None,
    layout: str | None = None,
) -> dict:
    """Compress a tensor with ZVC+, and return the sizes.

    Parameters
    ----------
    name, output, dtype
        As of :func:`~cdma.tensors.codec.compress.compress_tensor`.
    repeats : str, optional
        ``none``, ``left`` or ``above``.
    distance : str, optional
        Words to the word above, or ``auto``: that of shape and layout. For ``above`` only.
    layout : str, optional
        Layout of the tensor, see :func:`~cdma.tensors.rows.row_distance`.

    Returns
    -------
    dict
        As ``compress_tensor``, with :func:`~cdma.tensors.codec.figures.codec_figures`.

    Raises
    ------
    UserError
        When the tensor cannot be read, its elements are not of a type of ZVC+, the distance is
        impossible, or the file cannot be written.
    """
    with reading(name, ".npy") as source:
        array, notes = typed(load_tensor(source), dtype)
        fmt = _format(name, array, repeats or "none", distance, layout, notes)
        with writing(output) as temporary:
            with refusals_as_user_errors(name):
                write_container(temporary, array, fmt)
            header = read_header(temporary)
        nonzeros = int(np.count_nonzero(to_words(array)))
    return {
        "output": output,
        "container": True,
        "dtype": header.dtype,
        "shape": list(header.shape),
        **figures(fmt, header.words, nonzeros, header.stream_bytes, header.file_bytes),
        **codec_figures(header),
        "notes": notes,
    }


def _format(
    name: str,
    array: np.ndarray,
    repeats: str,
    distance: str | None,
    layout: str | None,
    notes: list[str],
) -> Format:
    element = array.dtype.name
    if element not in TYPE_OF:
        raise UserError(
            f"{name}: elements are {element}, ZVC+ has {', '.join(TYPE_OF)}; "
            "name the type that the bits are with --dtype"
        )
    type_ = TYPE_OF[element]
    for option, value in (("--distance", distance), ("--layout", layout)):
        if value is not None and repeats != "above":
            raise UserError(f"{option} is for --repeats above: add it, or leave {option} out")
    if repeats != "above":
        return Format(type_, repeats)
    if distance in (None, "auto"):
        words = row_distance(array.shape, layout)
        fmt = format_for(type_, repeats, words)
        if fmt.repeats != "above":
            given = f"{words} words" if words else "no row"
            notes.append(
                f"the shape gives {given} to the word above: words repeat to the left only"
            )
        return fmt
    if not distance.isdecimal():
        raise UserError(f"--distance must be auto or a number of words, not {distance!r}")
    with refusals_as_user_errors():
        return Format(type_, repeats, int(distance))
