"""Parameters of a hardware unit, and the configurations that command, tests and reports share."""

import re
from dataclasses import dataclass, field
from typing import ClassVar

from cdma.format import ErrorCode, Format
from cdma.integers import integer

LANES = (2, 4, 8, 16, 32, 64)
MOST_BLOCK_WORDS = 1024  # a block waits in the compressor; far longer ones need a real memory
MOST_MASK_BEATS = 2  # a mask is written in one cycle, with its block's first beat
TARGETS = ("fpga", "asic")
COUNTED_BEATS = 4  # from so many beats a block on, there is time to count the ones of a mask


def most_block_words(lanes: int, word_bits: int) -> int:
    """Words of the longest block that the hardware supports."""
    return min(MOST_BLOCK_WORDS, MOST_MASK_BEATS * lanes * word_bits)


@dataclass(frozen=True)
class Config:
    """Size of a compressor or decompressor.

    Parameters
    ----------
    lanes : int
        Words in a beat: a power of two from 2 to 64 that divides the block length.
    format : Format
        Word width and block length of the stream; the block has at most 1024 words, its mask at
        most two beats.
    zero_port : bool
        The zero value comes from a port, ``s_zero``, and not from ``format``, whose zero value is
        then the one that simulations drive.
    target : str
        What the unit is made of: ``fpga``, look-up tables and small memories, or ``asic``, standard
        cells. Ports and function are the same, the latency differs.

    Raises
    ------
    TypeError, ValueError
        When a parameter has the wrong type or breaks its rule.
    """

    lanes: int = 8
    format: Format = field(default_factory=Format)
    zero_port: bool = False
    target: str = "fpga"

    codec: ClassVar[str] = "zvc"
    error_codes: ClassVar[tuple[ErrorCode, ...]] = (
        ErrorCode.NONE,
        ErrorCode.TRUNCATED,
        ErrorCode.TRAILING,
        ErrorCode.MASK_PAST_END,
    )

    def __post_init__(self):
        if not isinstance(self.format, Format):
            raise TypeError(f"Format must be a Format, not {self.format!r}")
        if not isinstance(self.zero_port, bool):
            raise TypeError(f"Zero port must be a bool, not {self.zero_port!r}")
        if self.target not in TARGETS:
            raise ValueError(f"Target must be one of {TARGETS}, not {self.target!r}")
        if self.zero_port and self.format.fold_negative_zero:
            raise ValueError("Zero port must be absent where -0.0 is folded into 0.0")
        object.__setattr__(self, "lanes", integer("Number of lanes", self.lanes))
        if self.lanes not in LANES:
            raise ValueError(f"Number of lanes must be a power of two in 2..64, not {self.lanes!r}")
        if self.format.block_words > MOST_BLOCK_WORDS:
            raise ValueError(
                f"Block length of hardware must be at most {MOST_BLOCK_WORDS} words, "
                f"not {self.format.block_words!r}: take blocks of {self._nearest_block} words"
            )
        if self.format.block_words % self.lanes:
            raise ValueError(
                f"Number of lanes must divide the block length {self.format.block_words}, "
                f"not {self.lanes!r}: take blocks of {self._nearest_block} words"
            )
        if self.format.block_words > most_block_words(self.lanes, self.format.word_bits):
            raise ValueError(
                f"Mask of a block must be at most {MOST_MASK_BEATS} beats, "
                f"{MOST_MASK_BEATS * self.lanes} words for {self.lanes} lanes, "
                f"not {self.format.mask_words!r} words: take blocks of {self._nearest_block} words"
            )

    @property
    def _nearest_block(self) -> int:
        """The block length nearest to the given one that these lanes and words can have."""
        bits = self.format.word_bits
        step = max(self.lanes, bits)  # both are powers of two
        most = min(MOST_BLOCK_WORDS, most_block_words(self.lanes, bits))
        return min(max(round(self.format.block_words / step), 1) * step, most)

    @classmethod
    def of(
        cls,
        lanes: int = 8,
        word_bits: int = 32,
        block_words: int | None = None,
        tail: str = "zeros",
    ) -> "Config":
        """Configuration from plain numbers."""
        return cls(lanes, Format(word_bits, block_words, tail))

    @classmethod
    def parse(cls, text: str) -> "Config":
        """Configuration of a name: ``8x32``, or ``8x32b64`` with blocks of 64 words, or
        ``8x32-ones`` with a tail of ones. ``-z80`` gives a zero value in hexadecimal, ``-zport``
        a port for it, ``-fold`` folds ``-0.0`` into ``0.0``, ``-asic`` is for standard cells.

        Raises
        ------
        ValueError
            When the text is no such name, or the size is refused.
        """
        pattern = r"(\d+)x(\d+)(?:b(\d+))?(-ones)?(?:-z([0-9a-f]+))?(-zport)?(-fold)?(-asic)?"
        parts = re.fullmatch(pattern, text, re.ASCII)
        if parts is None:
            raise ValueError(
                f"Configuration must be lanes x word bits such as 8x32 or 8x32b64, not {text!r}"
            )
        *numbers, tail, zero, port, fold, asic = parts.groups()
        lanes, *sizes = (int(number) if number else None for number in numbers)
        value = int(zero, 16) if zero else 0
        fmt = Format(*sizes, "ones" if tail else "zeros", value, fold is not None)
        return cls(lanes, fmt, port is not None, TARGETS[asic is not None])

    @property
    def is_asic(self) -> bool:
        """The unit is for standard cells: rows of flip-flops in place of small memories."""
        return self.target == "asic"

    @property
    def counts_masks(self) -> bool:
        """The decompressor counts the ones of a mask, and does not look them up in a table."""
        return self.block_beats >= COUNTED_BEATS

    @property
    def name(self) -> str:
        """Short name, ``lanes x word_bits``; block length and options where they are not the
        default."""
        fmt = self.format
        plain = f"{self.lanes}x{fmt.word_bits}"
        is_default = fmt.block_words == Format(fmt.word_bits).block_words
        sized = plain if is_default else f"{plain}b{fmt.block_words}"
        options = "-ones" if fmt.ends_itself else ""
        options += f"-z{fmt.zero_value:x}" if fmt.zero_value else ""
        options += "-zport" if self.zero_port else ""
        options += "-fold" if fmt.fold_negative_zero else ""
        return sized + options + ("-asic" if self.is_asic else "")

    @property
    def title(self) -> str:
        """Size and options, for the first line of the Verilog."""
        fmt = self.format
        options = {
            "tail of ones": fmt.ends_itself,
            "zero value from s_zero": self.zero_port,
            f"zero value 0x{fmt.zero_value:x}": fmt.zero_value and not self.zero_port,
            "-0.0 as zero": fmt.fold_negative_zero,
            "for standard cells": self.is_asic,
        }
        size = f"{self.lanes} lanes x {fmt.word_bits} bits, blocks of {fmt.block_words} words"
        return size + "".join(f", {name}" for name, is_on in options.items() if is_on)

    @property
    def parameters(self) -> dict:
        """Parameters by name, for the manifest."""
        return {
            "lanes": self.lanes,
            "word_bits": self.format.word_bits,
            "block_words": self.format.block_words,
            "tail": self.format.tail,
            "zero_value": None if self.zero_port else self.format.zero_value,
            "fold_negative_zero": self.format.fold_negative_zero,
            "target": self.target,
        }

    @property
    def parts(self) -> dict:
        """Units of one element type have no parts."""
        return {}

    @property
    def constants(self) -> dict[str, int]:
        """Inputs of a word that do not change in a packet, with the value in simulations."""
        return {"s_zero": self.format.zero_value} if self.zero_port else {}

    @property
    def has_options(self) -> bool:
        """The format has options, or its zero value comes from a port."""
        return self.zero_port or self.format.has_options

    @property
    def fills(self) -> bool:
        """Omitted words may be other than zero: the decompressor fills them in."""
        return self.zero_port or self.format.zero_value != 0

    @property
    def beat_bits(self) -> int:
        """Bits of words in a beat."""
        return self.lanes * self.format.word_bits

    @property
    def beat_bytes(self) -> int:
        """Bytes of words in a beat."""
        return self.beat_bits // 8

    @property
    def block_beats(self) -> int:
        """Beats in a whole block."""
        return self.format.block_words // self.lanes


#: The configurations that documents, reports and the regression name.
NAMED = {
    config.name: config
    for config in (Config.of(8, 32), Config.of(16, 16), Config.of(32, 8), Config.of(32, 32))
}


def checked(config: Config) -> Config:
    """``config`` itself; TypeError, in the words of a constructor, when it is none."""
    if not isinstance(config, Config):
        raise TypeError(f"Configuration must be a Config, not {config!r}")
    return config
