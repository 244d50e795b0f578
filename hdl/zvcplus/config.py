"""Parameters of a ZVC+ unit, and the configurations that command, tests and reports share."""

import re
from dataclasses import dataclass
from typing import ClassVar

from cdma.format import BLOCK_BYTES
from cdma.hdl.zvc.config import Config as ByteConfig
from cdma.zvcplus import BEAT_BYTES, RAW_BITS, TYPES, ErrorCode, Format, WordType

#: Repeat options that the hardware has.
REPEATS = ("none", "left")
#: Bits of the width of a group in a control.
WIDTH_BITS = 3
#: Words of int8 in the smallest group with a width of its own.
GROUP_WORDS = 16
#: Error codes in the status of a decompressor with repeats. All other errors of a stream give some
#: words.
ERROR_CODES = (
    ErrorCode.NONE,
    ErrorCode.TRUNCATED,
    ErrorCode.TRAILING,
    ErrorCode.MASK_PAST_END,
    ErrorCode.RESERVED,
    ErrorCode.COUNT,
    ErrorCode.TOO_LONG,
)


class ByteBeats:
    """What units of one element type and of several have in common: beats of 32 bytes, blocks of
    four of them, of the words of ``format``."""

    codec: ClassVar[str] = "zvcplus"

    @property
    def error_codes(self) -> tuple[ErrorCode, ...]:
        """Error codes in the status of the decompressor."""
        has_repeats = self.repeats != "none"
        return tuple(code for code in ERROR_CODES if has_repeats or code != ErrorCode.COUNT)

    @property
    def lanes(self) -> int:
        """Words in a beat; with several types, of the first."""
        return self.format.word.beat_words

    @property
    def beat_bits(self) -> int:
        """Bits in a beat."""
        return 8 * BEAT_BYTES

    @property
    def beat_bytes(self) -> int:
        """Bytes in a beat."""
        return BEAT_BYTES

    @property
    def block_beats(self) -> int:
        """Beats in a whole block."""
        return self.format.block_words // self.lanes

    @property
    def constants(self) -> dict[str, int]:
        """Inputs that do not change in a packet: ZVC+ has none."""
        return {}


@dataclass(frozen=True)
class Config(ByteBeats):
    """Element type and options of a ZVC+ compressor or decompressor.

    A beat has 32 bytes, a block four beats.

    Parameters
    ----------
    type : str
        Element type: ``"fp32"``, ``"fp16"``, ``"bf16"`` or ``"int8"``.
    repeats : str
        ``"none"``, or ``"left"``: a word can repeat the one before it.

    Raises
    ------
    ValueError
        When a parameter breaks its rule.
    """

    type: str = "fp32"
    repeats: str = "none"

    def __post_init__(self):
        Format(self.type)  # refuses an unknown type
        if self.repeats not in REPEATS:
            raise ValueError(
                f"Repeats of hardware must be {' or '.join(REPEATS)}, not {self.repeats!r}"
            )

    @classmethod
    def of_unit(
        cls, type: str = "fp32", repeats: str = "none", lanes: int | None = None
    ) -> "Config":
        """Configuration of a whole unit.

        Parameters
        ----------
        type, repeats
            As of the class.
        lanes : int or None
            Words in a beat, if given: those in 32 bytes.

        Raises
        ------
        ValueError
            When there is no unit of these parameters.
        """
        config = cls(type, repeats)
        if lanes not in (None, config.lanes):
            raise ValueError(
                f"Number of lanes of ZVC+ must be {config.lanes} for {type}, a beat of "
                f"{BEAT_BYTES} bytes, not {lanes!r}"
            )
        return config

    @classmethod
    def parse(cls, text: str) -> "Config":
        """Configuration of a whole unit by its name: ``zvcplus-fp32``, ``zvcplus-fp32-left``.

        Raises
        ------
        ValueError
            When the text is no such name, or the configuration is refused.
        """
        parts = re.fullmatch(r"zvcplus-([a-z0-9]+)(?:-([a-z]+))?", text, re.ASCII)
        if parts is None:
            raise ValueError(f"Configuration must be a name such as zvcplus-fp32, not {text!r}")
        return cls.of_unit(parts[1], parts[2] or "none")

    @property
    def name(self) -> str:
        """Short name, ``zvcplus-fp32`` or ``zvcplus-fp32-left``."""
        return f"zvcplus-{self.type}{'-left' if self.has_repeats else ''}"

    @property
    def has_repeats(self) -> bool:
        """Words can repeat the word before them."""
        return self.repeats != "none"

    @property
    def format(self) -> Format:
        """Format of the stream."""
        return Format(self.type, self.repeats)

    @property
    def word(self) -> WordType:
        """Fields of a word."""
        return TYPES[self.type]

    @property
    def block_groups(self) -> int:
        """Groups of words in a block that can have a width of their own."""
        return 1 if self.word.is_float else self.word.block_words // GROUP_WORDS

    @property
    def beat_groups(self) -> int:
        """Groups in a beat, at least 1."""
        return -(-self.block_groups // self.block_beats)

    @property
    def control_bits(self) -> int:
        """Bits of the longest control."""
        word = self.word
        # A mask coding is at most as long as a raw mask with its extension.
        mask = word.block_words + 3
        widths = WIDTH_BITS * self.block_groups
        repeats = 1 + word.count_bits if self.has_repeats else 0
        return 2 + mask + repeats + (6 + word.exponent if word.is_float else 1 + widths)

    @property
    def most_zeros(self) -> int:
        """Words of a raw block that are zero, at most: with more, no control is so long that the
        block would be raw."""
        return (self.control_bits - (RAW_BITS - 8 * BLOCK_BYTES)) // self.word.bits

    @property
    def heading_bits(self) -> int:
        """Bits of a control in front of its mask or nibbles, at most."""
        word = self.word
        widths = WIDTH_BITS * self.block_groups
        own = 6 + word.exponent if word.is_float else 1 + widths
        return 5 + self.has_repeats + own + word.flags

    @property
    def body_bits(self) -> int:
        """Bits of a mask, or of its nibbles, at most."""
        return self.word.block_words

    @property
    def has_late_controls(self) -> bool:
        """A control goes with the last beat of a block, behind it: in front of a beat, a control
        and the bits of repeats of int8 would be too long for the rows that an item can fill."""
        return self.has_repeats and not self.word.is_float

    @property
    def front_bits(self) -> int:
        """Bits beside the words of a beat, at most: a control, and a bit per word that says whether
        it is repeated; of int8 not both."""
        repeats = self.word.block_words if self.has_repeats else 0
        return (
            max(self.control_bits, repeats)
            if self.has_late_controls
            else self.control_bits + repeats
        )

    @property
    def block_bits(self) -> int:
        """Bits of the longest block, control and payload."""
        return RAW_BITS

    @property
    def stream_side(self) -> ByteConfig:
        """Size of the stream's beats, as bytes."""
        return ByteConfig.of(BEAT_BYTES, 8)

    @property
    def title(self) -> str:
        """Type and size, for the first line of the Verilog."""
        word = self.word
        size = f"{self.lanes} lanes x {word.bits} bits, blocks of {word.block_words} words"
        return f"ZVC+ of {self.type}, repeats {self.repeats}, {size}"

    @property
    def parameters(self) -> dict:
        """Parameters by name, for the manifest."""
        return {
            "type": self.type,
            "repeats": self.repeats,
            "lanes": self.lanes,
            "word_bits": self.word.bits,
            "block_words": self.word.block_words,
        }

    @property
    def parts(self) -> dict:
        """Units of one element type have no parts."""
        return {}

    @property
    def has_options(self) -> bool:
        """Options that change the ports: ZVC+ has none."""
        return False


#: The configurations that documents, reports and the regression name.
NAMED = {
    config.name: config
    for config in (Config(type_, repeats) for repeats in REPEATS for type_ in TYPES)
}


def checked(config: Config) -> Config:
    """``config`` itself; TypeError, in the words of a constructor, when it is none."""
    if not isinstance(config, Config):
        raise TypeError(f"Configuration must be a ZVC+ Config, not {config!r}")
    return config
