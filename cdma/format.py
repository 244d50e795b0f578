"""Parameters of the stream format, the one object that software and hardware share."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from cdma.integers import integer

WORD_BITS = (8, 16, 32, 64)
#: Bytes of words under one mask by default: the paper's line of 128 bytes.
BLOCK_BYTES = 128
#: Bits of a partial last block's mask past the end of the data.
TAILS = ("zeros", "ones")


class ErrorCode(IntEnum):
    """Why a stream was rejected; 0 to 3 are the decompressor's status codes too."""

    NONE = 0
    TRUNCATED = 1
    TRAILING = 2
    MASK_PAST_END = 3
    ZERO_WORD = 4
    CONTAINER = 5


class StreamFormat(Protocol):
    """What the format of every codec has: what hardware, simulation and reports need of it.

    The formats are :class:`Format` and :class:`cdma.zvcplus.Format`.

    Attributes
    ----------
    word_bits, word_bytes : int
        Bits and bytes in a word.
    block_words : int
        Words in a block.
    dtype : str
        NumPy name of the little-endian unsigned word.
    ends_itself : bool
        The stream has its number of words; without it a decoder needs that number.
    """

    @property
    def word_bits(self) -> int: ...
    @property
    def word_bytes(self) -> int: ...
    @property
    def block_words(self) -> int: ...
    @property
    def dtype(self) -> str: ...
    @property
    def ends_itself(self) -> bool: ...

    def most_bytes(self, words: int) -> int:
        """Bytes of the longest stream of ``words`` words."""

    def least_bytes(self, words: int) -> int:
        """Bytes of the shortest stream of ``words`` words."""


@dataclass(frozen=True)
class Format:
    """Shape of a zero-value-compressed stream (``docs/format.md``).

    Parameters
    ----------
    word_bits : int
        Bits in a word: 8, 16, 32 or 64.
    block_words : int or None
        Words under one mask, a positive multiple of ``word_bits`` so that a mask is a whole number
        of words. ``None`` gives 128 bytes of words: 128, 64 and 32 words of 8, 16 and 32 bits; and
        64 words of 64 bits, the fewest whose mask is a whole word.
    tail : str
        Bits past the end in the mask of a partial last block. ``"zeros"``: a decoder needs the
        number of words. ``"ones"``, as in Intel's IAA: the stream ends at the first bit that is one
        and has no word, so that the stream itself has the number of words.
    zero_value : int
        Bit pattern of the words that are omitted, such as the zero point of asymmetric int8. The
        padding of a partial block counts as such words.
    fold_negative_zero : bool
        Also omit ``-0.0``, the word of which only the highest bit is set. It comes back as ``0.0``:
        the codec then loses the sign of zeros. Only with a zero value of 0, and for words of
        floating point: of integers, the word of the highest bit, -128 of int8, would become 0.

    Raises
    ------
    TypeError, ValueError
        When a parameter is not an integer or breaks its rule.
    """

    word_bits: int = 32
    block_words: int | None = None
    tail: str = "zeros"
    zero_value: int = 0
    fold_negative_zero: bool = False

    def __post_init__(self):
        object.__setattr__(self, "word_bits", integer("Word width", self.word_bits))
        if self.word_bits not in WORD_BITS:
            raise ValueError(f"Word width must be 8, 16, 32 or 64 bits, not {self.word_bits!r}")
        if self.block_words is None:
            words = max(8 * BLOCK_BYTES // self.word_bits, self.word_bits)
            object.__setattr__(self, "block_words", words)
        object.__setattr__(self, "block_words", integer("Block length", self.block_words))
        if self.block_words <= 0 or self.block_words % self.word_bits:
            raise ValueError(
                f"Block length must be a positive multiple of the word width "
                f"{self.word_bits}, not {self.block_words!r}"
            )
        if self.tail not in TAILS:
            raise ValueError(f"Tail must be {' or '.join(TAILS)}, not {self.tail!r}")
        object.__setattr__(self, "zero_value", integer("Zero value", self.zero_value))
        if not 0 <= self.zero_value < 1 << self.word_bits:
            raise ValueError(
                f"Zero value must be a word of {self.word_bits} bits, from 0 to "
                f"{(1 << self.word_bits) - 1}, not {self.zero_value!r}"
            )
        if not isinstance(self.fold_negative_zero, bool):
            raise TypeError(f"Folding of -0.0 must be a bool, not {self.fold_negative_zero!r}")
        if self.fold_negative_zero and self.zero_value:
            raise ValueError(
                f"Zero value must be 0 where -0.0 is folded into 0.0, not {self.zero_value!r}"
            )

    @property
    def is_plain(self) -> bool:
        """Words are omitted if all their bits are zero, and no others."""
        return not self.zero_value and not self.fold_negative_zero

    @property
    def ends_itself(self) -> bool:
        """The stream has its number of words."""
        return self.tail == "ones"

    @property
    def has_options(self) -> bool:
        """The stream ends itself, or words are omitted that are not zero in all bits."""
        return self.ends_itself or not self.is_plain

    @property
    def word_bytes(self) -> int:
        """Bytes in a word."""
        return self.word_bits // 8

    @property
    def mask_words(self) -> int:
        """Words that a mask takes in the stream."""
        return self.block_words // self.word_bits

    @property
    def mask_bytes(self) -> int:
        """Bytes that a mask takes in the stream."""
        return self.block_words // 8

    @property
    def dtype(self) -> str:
        """NumPy name of the little-endian unsigned word."""
        return f"<u{self.word_bytes}"

    def stream_bytes(self, words: int, nonzeros: int) -> int:
        """Size in bytes of the stream of ``words`` words of which ``nonzeros`` are not zero."""
        blocks = -(-words // self.block_words)
        return blocks * self.mask_bytes + nonzeros * self.word_bytes

    def most_bytes(self, words: int) -> int:
        """Bytes of the longest stream of ``words`` words."""
        return self.stream_bytes(words, words)

    def least_bytes(self, words: int) -> int:
        """Bytes of the shortest stream of ``words`` words."""
        return self.stream_bytes(words, 0)
