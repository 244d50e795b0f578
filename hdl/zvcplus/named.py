"""Configurations of ZVC+ units, of one element type or several, by name and by types."""

from collections.abc import Sequence

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.mixed.config import ALL, MixedConfig
from cdma.zvcplus import Format


def parse(text: str) -> Config | MixedConfig:
    """Configuration of a name such as ``zvcplus-fp32-left``, ``zvcplus-fp32+bf16`` or
    ``zvcplus-all``.

    Raises
    ------
    ValueError
        When the text is no such name, or the configuration is refused.
    """
    types = text.split("-")[1:2]
    is_mixed = types == [ALL] or "+" in "".join(types)
    return (MixedConfig if is_mixed else Config).parse(text)


def of_types(
    types: Sequence[str], repeats: str = "none", lanes: int | None = None
) -> Config | MixedConfig:
    """Configuration of one element type or several, in any order.

    Parameters
    ----------
    types : sequence of str
        Element types.
    repeats : str
        ``"none"`` or ``"left"``.
    lanes : int or None
        Words in a beat, for one type: those in 32 bytes.

    Raises
    ------
    ValueError
        When there is no unit of these parameters.
    """
    if len(types) == 1:
        return Config.of_unit(types[0], repeats, lanes)
    if lanes is not None:
        raise ValueError(f"Number of lanes of several types must be left out, not {lanes!r}")
    return MixedConfig.of_types(types, repeats)


def of_formats(formats: Sequence[Format], lanes: int | None = None) -> Config | MixedConfig:
    """Configuration of formats of ZVC+, one for each type; ``lanes`` as of :func:`of_types`.

    Raises
    ------
    TypeError, ValueError
        When there is no unit of these formats.
    """
    for fmt in formats:
        if not isinstance(fmt, Format):
            raise TypeError(f"Each of several formats must be one of ZVC+, not {fmt!r}")
    repeats = {fmt.repeats for fmt in formats}
    if len(repeats) != 1:
        given = " and ".join(sorted(repeats)) or "no format"
        raise ValueError(f"Formats must have the same repeats, not {given}")
    return of_types([fmt.type for fmt in formats], *repeats, lanes)
