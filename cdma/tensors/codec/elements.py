"""Element types of tensors that a user gives by name."""

import numpy as np

from cdma.errors import UserError
from cdma.golden.container.elements import numpy_dtype
from cdma.tables import counted
from cdma.tensors.safetensors import FLOAT8


def dtype_of(name: str) -> np.dtype:
    """NumPy type of a name. Raises UserError unless the type is a number of 1, 2, 4 or 8 bytes.

    Floats of 8 bits are unsigned words: files have no name for them.
    """
    if name in FLOAT8.values():
        return np.dtype("u1")
    try:
        dtype = numpy_dtype(name)
    except TypeError:
        dtype = None
    is_number = dtype is not None and (dtype.kind in "biufc" or name == "bfloat16")
    if not is_number or dtype.itemsize not in (1, 2, 4, 8):
        raise UserError(f"--dtype must be a NumPy type of 1, 2, 4 or 8 bytes, not {name!r}")
    return dtype


def element_name(array: np.ndarray, name: str | None) -> str:
    """Name of the elements' type, where a user gave ``name`` or ``None``.

    Without ml_dtypes, elements of bfloat16 are unsigned words.
    """
    return "bfloat16" if name == "bfloat16" else array.dtype.name


def typed(array: np.ndarray, name: str | None) -> tuple[np.ndarray, list[str]]:
    """View a tensor as elements of the named type.

    Parameters
    ----------
    array : ndarray
        From :func:`cdma.tensors.load.load_tensor`.
    name : str or None
        Type of the elements. With ``None``, the type of the array.

    Returns
    -------
    array : ndarray
        A view of the array.
    notes : list of str
        Notes on the type for the user.

    Raises
    ------
    UserError
        When the type does not exist or has another size.
    """
    notes = []
    stored_as = (array.dtype.metadata or {}).get("stored_as")
    if name is not None:
        dtype = dtype_of(name)
        if dtype.itemsize != array.itemsize:
            size = f"{counted(dtype.itemsize, 'byte')} an element"
            tensor = f"the tensor ({array.dtype.name}) has {array.itemsize}"
            raise UserError(f"--dtype {name} has {size}, {tensor}")
        array = array.view(dtype.newbyteorder(array.dtype.byteorder))
    elif stored_as:
        notes.append(f"the elements, {stored_as}, are stored as {array.dtype.name}; see --dtype")
    if array.dtype.str.startswith(">"):
        notes.append("the elements, big-endian, are stored little-endian")
    return array, notes
