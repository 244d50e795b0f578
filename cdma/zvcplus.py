"""Parameters of the ZVC+ stream format, which software and hardware share (``docs/zvcplus.md``)."""

from dataclasses import dataclass
from enum import IntEnum

from cdma.format import BLOCK_BYTES
from cdma.integers import integer

#: Repeat options by their name, with the number that stands for each in files and registers.
REPEATS = {"none": 0, "left": 1, "above": 3}
#: Bytes between a word and the one above it, at most, in software.
MAX_DISTANCE_BYTES = 4096
#: Bytes of a beat, which ``min_beats`` counts in, and the most beats: files have 32 bits for them.
BEAT_BYTES, MAX_BEATS = 32, (1 << 32) - 1
#: Bits of a block from which on it is stored raw.
RAW_BITS = 1029
#: Bits of a block of zeros.
ZERO_BITS = 2
#: No control of a block has more bits, without repeats.
MOST_CONTROL_BITS = 160


class ErrorCode(IntEnum):
    """Why a stream was rejected; numbers that ZVC has too mean the same there."""

    NONE = 0
    TRUNCATED = 1
    TRAILING = 2
    MASK_PAST_END = 3
    ZERO_WORD = 4
    RESERVED = 6
    COUNT = 7
    TOO_LONG = 8
    RANGE = 9
    REPEAT = 10
    NOT_CANONICAL = 11


@dataclass(frozen=True)
class WordType:
    """Fields of a word of one element type.

    Attributes
    ----------
    name : str
        ``"fp32"``, ``"fp16"``, ``"bf16"`` or ``"int8"``.
    number : int
        Number of the type in files and registers.
    bits : int
        Bits of a word.
    mantissa, exponent : int
        Bits of mantissa and exponent; 0 for int8.
    """

    name: str
    number: int
    bits: int
    mantissa: int = 0
    exponent: int = 0

    @property
    def is_float(self) -> bool:
        """Whether words have an exponent."""
        return self.exponent > 0

    @property
    def block_words(self) -> int:
        """Words in a block."""
        return 8 * BLOCK_BYTES // self.bits

    @property
    def beat_words(self) -> int:
        """Words in a beat of 32 bytes."""
        return 8 * BEAT_BYTES // self.bits

    @property
    def flags(self) -> int:
        """Nibbles of a mask."""
        return self.block_words // 4

    @property
    def count_bits(self) -> int:
        """Bits of the last control field: repeated words less 1, or for int8 the payload's bits."""
        return self.block_words.bit_length() - 1 if self.is_float else 10

    @property
    def repeat_gain(self) -> int:
        """Bits that one repeated word counts as saving, in the decision on repeats."""
        return self.mantissa + 2 if self.is_float else 4


#: Element types by name.
TYPES = {
    each.name: each
    for each in (
        WordType("fp32", 0, 32, 23, 8),
        WordType("fp16", 1, 16, 10, 5),
        WordType("bf16", 2, 16, 7, 8),
        WordType("int8", 3, 8),
    )
}


@dataclass(frozen=True)
class Format:
    """Parameters of a ZVC+ stream.

    Parameters
    ----------
    type : str
        Element type: ``"fp32"``, ``"fp16"``, ``"bf16"`` or ``"int8"``.
    repeats : str
        ``"none"``; ``"left"``: a word can repeat the one before it; ``"above"``: or the one
        ``distance`` words before it.
    distance : int
        Words between a word and the one above it, 1 or more and at most 4,096 bytes. For
        ``"above"`` only; 0 for the others.
    min_beats : int
        Least distance in beats of 32 bytes to the word above, 1 to 2^32 - 1. For ``"above"``
        only.

    Raises
    ------
    TypeError, ValueError
        When a parameter is not of its type or breaks its rule.
    """

    type: str = "fp32"
    repeats: str = "none"
    distance: int = 0
    min_beats: int = 1

    def __post_init__(self):
        for name, value, known in (("Type", self.type, TYPES), ("Repeats", self.repeats, REPEATS)):
            if not isinstance(value, str) or value not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, not {value!r}")
        for name in ("distance", "min_beats"):
            object.__setattr__(self, name, integer(name, getattr(self, name)))
        if self.repeats == "above":
            most = 8 * MAX_DISTANCE_BYTES // self.word_bits
            if not 1 <= self.distance <= most:
                raise ValueError(f"distance must be in 1..{most} words, not {self.distance!r}")
            if not 1 <= self.min_beats <= MAX_BEATS:
                raise ValueError(f"min_beats must be in 1..{MAX_BEATS}, not {self.min_beats!r}")
        elif self.distance or self.min_beats != 1:
            raise ValueError('distance and min_beats are for repeats "above" only')

    @property
    def word(self) -> WordType:
        """Fields of a word."""
        return TYPES[self.type]

    @property
    def word_bits(self) -> int:
        """Bits in a word."""
        return self.word.bits

    @property
    def word_bytes(self) -> int:
        """Bytes in a word."""
        return self.word.bits // 8

    @property
    def block_words(self) -> int:
        """Words in a block of 128 bytes."""
        return self.word.block_words

    @property
    def dtype(self) -> str:
        """NumPy name of the little-endian unsigned word."""
        return f"<u{self.word_bytes}"

    @property
    def ends_itself(self) -> bool:
        """The stream has its number of words: never."""
        return False

    @property
    def repeat_number(self) -> int:
        """Repeats as the format numbers them: 0, 1 or 3."""
        return REPEATS[self.repeats]

    def blocks(self, words):
        """Blocks of ``words`` words; numbers or arrays."""
        return -(-words // self.block_words)

    def most_bytes(self, words):
        """Bytes of the longest stream of ``words`` words; numbers or arrays."""
        return -(-self.blocks(words) * RAW_BITS // 8)

    def least_bytes(self, words):
        """Bytes of the shortest stream of ``words`` words; numbers or arrays."""
        return -(-self.blocks(words) * ZERO_BITS // 8)
