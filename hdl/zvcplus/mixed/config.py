"""Parameters of a ZVC+ unit of several element types."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cdma.hdl.zvc.config import Config as ByteConfig
from cdma.hdl.zvcplus.config import REPEATS, ByteBeats, Config
from cdma.zvcplus import BEAT_BYTES, TYPES, Format

#: Name of all types together.
ALL = "all"


@dataclass(frozen=True)
class MixedConfig(ByteBeats):
    """Element types and options of a ZVC+ compressor or decompressor of several types.

    A beat has 32 bytes, a block four beats, of any type.

    Parameters
    ----------
    types : tuple of str
        Two element types or more, in the order of their numbers.
    repeats : str
        ``"none"``, or ``"left"``: a word can repeat the one before it.

    Raises
    ------
    TypeError, ValueError
        When a parameter is of another type or breaks its rule.
    """

    types: tuple[str, ...]
    repeats: str = "none"

    def __post_init__(self):
        if isinstance(self.types, str) or not isinstance(self.types, Sequence):
            raise TypeError(f"Types must be a sequence of names, not {self.types!r}")
        object.__setattr__(self, "types", tuple(self.types))
        for type_ in self.types:
            Config(type_, self.repeats)  # refuses an unknown type, and other repeats
        ordered = tuple(type_ for type_ in TYPES if type_ in self.types)
        if len(self.types) < 2 or self.types != ordered:
            raise ValueError(
                f"Types must be two or more of {', '.join(TYPES)}, each once and in this order, "
                f"not {', '.join(self.types)!r}"
            )

    @classmethod
    def of_types(cls, types: Sequence[str], repeats: str = "none") -> "MixedConfig":
        """Configuration of types in any order. For errors see the class."""
        order = list(TYPES)
        known = [type_ for type_ in types if type_ in order]
        unknown = [type_ for type_ in types if type_ not in order]
        return cls((*unknown, *sorted(known, key=order.index)), repeats)

    @classmethod
    def parse(cls, text: str) -> "MixedConfig":
        """Configuration by its name: ``zvcplus-fp32+bf16``, ``zvcplus-all``, ``zvcplus-all-left``.

        Raises
        ------
        ValueError
            When the text is no such name, or the configuration is refused.
        """
        parts = re.fullmatch(r"zvcplus-([a-z0-9+]+)(?:-([a-z]+))?", text, re.ASCII)
        if parts is None:
            raise ValueError(f"Configuration must be a name such as zvcplus-all, not {text!r}")
        types = tuple(TYPES) if parts[1] == ALL else tuple(parts[1].split("+"))
        return cls(types, parts[2] or REPEATS[0])

    @property
    def name(self) -> str:
        """Short name, such as ``zvcplus-fp32+bf16-left``; of all types ``zvcplus-all``."""
        types = ALL if self.types == tuple(TYPES) else "+".join(self.types)
        return f"zvcplus-{types}{'-left' if self.repeats != 'none' else ''}"

    @property
    def parts(self) -> dict[int, Config]:
        """Configuration of a unit of each type, by the type's number."""
        return {TYPES[type_].number: Config(type_, self.repeats) for type_ in self.types}

    @property
    def format(self) -> Format:
        """Format of the stream of the first type."""
        return Format(self.types[0], self.repeats)

    @property
    def stream_side(self) -> ByteConfig:
        """Size of the beats, as bytes."""
        return ByteConfig.of(BEAT_BYTES, 8)

    @property
    def title(self) -> str:
        """Types and size, for the first line of the Verilog."""
        types = ", ".join(self.types)
        return f"ZVC+ of {types}, repeats {self.repeats}, {BEAT_BYTES} bytes of words of one type"

    @property
    def parameters(self) -> dict:
        """Parameters by name, for the manifest."""
        return {
            "types": {type_: TYPES[type_].number for type_ in self.types},
            "repeats": self.repeats,
            "lanes": {type_: TYPES[type_].beat_words for type_ in self.types},
            "word_bits": {type_: TYPES[type_].bits for type_ in self.types},
            "block_words": {type_: TYPES[type_].block_words for type_ in self.types},
        }

    @property
    def has_options(self) -> bool:
        """The ports differ from those of the first codec: the command has a type."""
        return True


#: The configurations of several types that documents, reports and the regression name.
NAMED = {
    config.name: config
    for config in (
        MixedConfig(("fp32", "bf16")),
        MixedConfig(tuple(TYPES)),
        MixedConfig(tuple(TYPES), "left"),
    )
}


def checked(config: MixedConfig) -> MixedConfig:
    """``config`` itself; TypeError, in the words of a constructor, when it is none."""
    if not isinstance(config, MixedConfig):
        raise TypeError(f"Configuration must be a ZVC+ MixedConfig, not {config!r}")
    return config
