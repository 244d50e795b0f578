"""Numbers that a caller gives."""

import operator


def integer(what: str, value) -> int:
    """``value`` as an int, from any type of integer, such as those of NumPy; no truth value.

    Raises
    ------
    TypeError
        When it is no integer.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise TypeError(f"{what} must be an integer, not {value!r}")
    return number
