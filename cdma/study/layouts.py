"""Memory layouts: the order in which a tensor's axes are stored."""

import numpy as np

from cdma.errors import UserError

#: Layouts of the paper: images N, channels C, rows H, columns W. The last axis is contiguous.
LAYOUTS = ("NCHW", "NHWC", "CHWN")
#: Name of the layout of a tensor with other axes.
FLAT = "flat"
#: Axes of an array when nothing specifies them.
DEFAULT_AXES = {2: "NC", 4: "NCHW"}


def check_axes(given: str | None) -> None:
    """Refuse axes of a user that :func:`axes_of` would not know; raises UserError.

    Those of a list may be any: its tensors are flat then.
    """
    known = DEFAULT_AXES.values()
    if given is not None and sorted(given) not in map(sorted, known):
        names = " or ".join(known)
        raise UserError(f"--axes must be {names} in any order, not {given!r}")


def axes_of(shape: tuple[int, ...], given: str | None) -> str:
    """Axes of a stored array, such as ``"NHWC"``, or ``"flat"`` when they are not known.

    Parameters
    ----------
    shape : tuple of int
    given : str or None
        Axes from a list. With ``None``, four dimensions are NCHW and two are NC. All axes other
        than permutations of these are flat.

    Raises
    ------
    UserError
        When the axes are a permutation and the array has another number of dimensions.
    """
    axes = DEFAULT_AXES.get(len(shape), FLAT) if given is None else given
    if sorted(axes) not in map(sorted, DEFAULT_AXES.values()):
        return FLAT
    if len(axes) != len(shape):
        raise UserError(f"layout {axes} has {len(axes)} axes, the tensor {len(shape)}")
    return axes


def layouts_of(axes: str) -> tuple[str, ...]:
    """Layouts to compare for a tensor stored with ``axes``: all three, or only ``axes``."""
    return LAYOUTS if sorted(axes) == sorted("NCHW") else (axes,)


def arranged(array: np.ndarray, axes: str, layout: str) -> np.ndarray:
    """View of ``array``, stored with ``axes``, with ``layout`` as its C order."""
    return array if layout == axes else array.transpose([axes.index(axis) for axis in layout])
