"""The codecs of the hardware, and what each brings.

A codec ``name`` is the package ``hdl/<name>`` with ``config.py`` (a configuration that obeys
:class:`UnitConfig`, and ``NAMED``) and the components of its units. All else, from the ports to the
simulations and the measurements, asks the configuration and knows no codec. The golden models
follow the same rule, see :mod:`cdma.golden.codecs`.
"""

from collections.abc import Sequence
from typing import Protocol

from cdma import zvcplus
from cdma.format import StreamFormat
from cdma.hdl.zvc import config as zvc_config
from cdma.hdl.zvcplus import config as zvcplus_config
from cdma.hdl.zvcplus import named as zvcplus_named
from cdma.hdl.zvcplus.mixed.config import MixedConfig


class UnitConfig(Protocol):
    """Configuration of a compressor and a decompressor, of any codec.

    Attributes
    ----------
    codec : str
        Name of the codec.
    name : str
        Short name, unique among all codecs; ``config_named`` reads it.
    title : str
        Size and options in a line.
    parameters : dict
        Parameters by name, for the manifest.
    format : StreamFormat
        Format of the stream.
    lanes : int
        Words in a beat.
    beat_bits, beat_bytes : int
        Bits and bytes in a beat, of words or of the stream.
    block_beats : int
        Beats in a whole block.
    parts : dict of int to UnitConfig
        Of a unit of several element types, the configuration of a unit of each, by the number that
        a command has for the type; else empty.
    constants : dict of str to int
        Inputs of a word that do not change in a packet, such as ``s_zero``, with their value in
        simulations.
    has_options : bool
        Ports differ from those of the first codec without options.
    error_codes : tuple of IntEnum
        Error codes of the decompressor's status, the first is no error.
    """

    codec: str
    error_codes: tuple

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def parameters(self) -> dict: ...
    @property
    def format(self) -> StreamFormat: ...
    @property
    def lanes(self) -> int: ...
    @property
    def beat_bits(self) -> int: ...
    @property
    def beat_bytes(self) -> int: ...
    @property
    def block_beats(self) -> int: ...
    @property
    def parts(self) -> "dict[int, UnitConfig]": ...
    @property
    def constants(self) -> dict[str, int]: ...
    @property
    def has_options(self) -> bool: ...


#: Modules with the configurations of each codec.
CODECS = {"zvc": zvc_config, "zvcplus": zvcplus_config}
#: What reads the names of each codec.
_PARSERS = {"zvc": zvc_config.Config.parse, "zvcplus": zvcplus_named.parse}


def config_named(name: str) -> UnitConfig:
    """Configuration of a name such as ``8x32``, ``8x32b64``, ``zvcplus-fp32`` or ``zvcplus-all``.

    Raises
    ------
    ValueError
        When the text is no such name, or the size is refused.
    """
    codec = name.partition("-")[0]
    return _PARSERS[codec if codec in CODECS else "zvc"](name)


def config_of(fmt: StreamFormat | Sequence[zvcplus.Format], lanes: int | None = None) -> UnitConfig:
    """Configuration of a format of a stream.

    Parameters
    ----------
    fmt : StreamFormat or sequence of Format
        Format of any codec; or several of ZVC+, one for each type of a unit of several types.
    lanes : int or None
        Words in a beat; by default 8 for the first codec, and 32 bytes of words for ZVC+.

    Raises
    ------
    TypeError, ValueError
        When the hardware has no such unit.
    """
    if isinstance(fmt, Sequence):
        return zvcplus_named.of_formats(fmt, lanes)
    if isinstance(fmt, zvcplus.Format):
        return zvcplus_config.Config.of_unit(fmt.type, fmt.repeats, lanes)
    return zvc_config.Config(8 if lanes is None else lanes, fmt)


def checked(config: UnitConfig) -> UnitConfig:
    """``config`` itself; TypeError, in the words of a constructor, when it is none of any codec."""
    if not isinstance(config, (zvc_config.Config, zvcplus_config.Config, MixedConfig)):
        raise TypeError(f"Configuration must be that of a unit, not {config!r}")
    return config
