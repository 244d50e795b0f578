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


def of_formats(formats: Sequence[Format]) -> MixedConfig:
    """Configuration of several formats, one for each type.

    Raises
    ------
    ValueError
        When there is no unit of these formats.
    """
    repeats = {fmt.repeats for fmt in formats}
    if len(repeats) != 1:
        raise ValueError(f"Formats must have the same repeats, not {' and '.join(sorted(repeats))}")
    return MixedConfig.of_types([fmt.type for fmt in formats], *repeats)
