"""Options of a unit's size."""

import argparse

from cdma.cli.options.codecs import add_codec_options
from cdma.format import TAILS


def add_format_options(parser: argparse.ArgumentParser, default: str = "32") -> None:
    """Add ``--word-bits`` and ``--block-words``; ``default`` is how the help calls the default."""
    add = parser.add_argument
    word = f"bits in a word: 8, 16, 32 or 64 (default: {default})"
    add("--word-bits", type=int, metavar="N", help=word)
    block = "words under one mask, a multiple of the word width (default: 128, 64, 32 or 64 words "
    add("--block-words", type=int, metavar="N", help=f"{block}of 8, 16, 32 or 64 bits)")
    tail = "mask bits past the end of the data; with ones, the stream has its number of words"
    add("--tail", choices=TAILS, help=f"{tail} (default: zeros)")


def add_config_options(parser: argparse.ArgumentParser, default: str = "32") -> None:
    """Add ``--config``, and the options that give the same in numbers."""
    parser.add_argument(
        "--config",
        metavar="NAME",
        help="lanes x word bits, such as 8x32, or 8x32b64 with blocks of 64 words, or 8x32-ones "
        "with a tail of ones (-z80: a zero value, -zport, -fold and -asic likewise), or "
        "zvcplus-fp32; instead of the options of the size",
    )
    parser.add_argument(
        "--lanes",
        type=int,
        metavar="N",
        help="words in a beat: a power of two, 2 to 64 (default: 8; of ZVC+ 32 bytes of words)",
    )
    add_format_options(parser, default)


def add_number_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that give one size in numbers, beside a ``--config`` of the verb's own."""
    lanes = "words in a beat, in place of --config (default: 8; of ZVC+ 32 bytes of words)"
    parser.add_argument("--lanes", type=int, metavar="N", help=lanes)
    add_format_options(parser)
    add_codec_options(parser)
