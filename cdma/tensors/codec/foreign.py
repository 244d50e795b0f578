"""Convert a container to the data of other silicon, and back."""

import math
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from cdma.errors import UserError, refusals_as_user_errors
from cdma.files import refuse_same, replacing
from cdma.golden import read_container, read_header, write_container
from cdma.golden.container.elements import DTYPES
from cdma.golden.foreign import aie_ml, iaa, nvdla
from cdma.golden.zvc.words import to_words
from cdma.tables import counted
from cdma.tensors.codec.elements import dtype_of
from cdma.tensors.codec.errors import naming

#: Ends of the names of NVDLA's surfaces.
SURFACES = {"mask": ".wmb", "weights": ".wt", "sizes": ".wgs"}


def write(container: str, output: str, name: str, **options) -> dict:
    """Write the elements of a container in a format of other silicon.

    Parameters
    ----------
    container : str
        File to read.
    output : str
        File to write; of NVDLA's three files the name without its end.
    name : str
        ``iaa``, ``aie-ml`` or ``nvdla``.
    **options
        ``mask_order`` of AIE-ML, ``group_words`` of NVDLA.

    Returns
    -------
    dict
        For JSON: ``wrote``, ``format``, ``dtype``, ``shape``, ``raw_bytes`` and ``bytes``.

    Raises
    ------
    UserError
        When the container is damaged, the format does not have its elements, or a file cannot be
        written or is the container.
    """
    for end in _ends(name):
        refuse_same(output + end, container)
    with naming(container):
        header = read_header(container)
        words = to_words(read_container(container).reshape(-1))
    with refusals_as_user_errors():
        parts = _encoded(words, name, **options)
    files = {output + end: data for end, data in parts.items()}
    with ExitStack() as stack:
        for file, data in files.items():
            stack.enter_context(replacing(file)).write_bytes(data)
    size = sum(data.size for data in parts.values())
    return _facts(list(files), name, header.dtype, header.shape, words.nbytes, size)


def read(
    source: str,
    container: str,
    name: str,
    dtype: str,
    shape: tuple[int, ...] | None = None,
    **options,
) -> dict:
    """Write a container of data of other silicon.

    Parameters
    ----------
    source : str
        File to read; of NVDLA's three files one, or the name without its end.
    container : str
        File to write.
    name, **options
        As for :func:`write`.
    dtype : str
        Element type.
    shape : tuple of int, optional
        Shape; needed for NVDLA, whose surfaces do not have the number of elements. One dimension
        by default.

    Returns
    -------
    dict
        See :func:`write`.

    Raises
    ------
    UserError
        When the data is damaged or does not have this type and shape, or the container cannot be
        written or is one of the files that are read.
    """
    if dtype not in DTYPES:
        raise UserError(f"--dtype must be one of {', '.join(DTYPES)}, not {dtype!r}")
    element = dtype_of(dtype)
    ends = _ends(name)
    if Path(source).suffix in ends:
        source = source.removesuffix(Path(source).suffix)
    refuse_same(container, *(source + end for end in ends))
    parts = [_bytes_of(source + end) for end in ends]
    with refusals_as_user_errors(), naming(source):
        words = _decoded(source, parts, name, element.itemsize, shape, **options)
    if shape is not None and math.prod(shape) != words.size:
        found = counted(words.size, "element")
        raise UserError(f"{source}: has {found}, --shape {math.prod(shape)}")
    array = words.view(element).reshape(words.size if shape is None else shape)
    with replacing(container) as temporary, refusals_as_user_errors():
        write_container(temporary, array)
    size = sum(part.size for part in parts)
    return _facts([container], name, dtype, array.shape, array.nbytes, size)


def _encoded(words, name, mask_order=None, group_words=None) -> dict[str, np.ndarray]:
    """Bytes of each file, by the end of its name."""
    if name == "iaa":
        return {"": iaa.encode(words)}
    if name == "aie-ml":
        return {"": aie_ml.encode(words.view(np.uint8), mask_order)}
    surfaces = nvdla.encode(words, group_words)
    return {end: getattr(surfaces, part) for part, end in SURFACES.items()}


def _ends(name: str) -> tuple[str, ...]:
    """Ends of the names of a format's files."""
    return tuple(SURFACES.values()) if name == "nvdla" else ("",)


def _decoded(source, parts, name, itemsize, shape, mask_order=None, group_words=None) -> np.ndarray:
    """Words of the files of a format."""
    if name == "iaa":
        return iaa.decode(parts[0], 8 * itemsize)
    if name == "aie-ml":
        data = aie_ml.decode(parts[0], mask_order)
        if data.size % itemsize:
            raise ValueError(f"Data of {data.size} bytes must be elements of {itemsize} bytes")
        return data.view(f"<u{itemsize}")
    if shape is None:
        raise ValueError(
            "Data of nvdla needs a shape, --shape: its surfaces have no number of elements"
        )
    surfaces = nvdla.Surfaces(**dict(zip(SURFACES, parts, strict=True)))
    try:
        return nvdla.decode(surfaces, math.prod(shape), group_words, 8 * itemsize)
    except nvdla.SurfaceSizeError as error:
        raise UserError(f"{source}{SURFACES[error.surface]}: {error.problem}") from error


def _bytes_of(name: str) -> np.ndarray:
    return np.frombuffer(Path(name).read_bytes(), np.uint8)


def _facts(written, name, dtype, shape, raw_bytes, size) -> dict:
    return {
        "wrote": written,
        "format": name,
        "dtype": dtype,
        "shape": list(shape),
        "raw_bytes": raw_bytes,
        "bytes": size,
    }
