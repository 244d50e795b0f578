"""Options of a unit's size, and the objects that they describe."""

import argparse

from cdma.cli.options.types import flag
from cdma.errors import UserError, refusals_as_user_errors
from cdma.format import TAILS


def add_format_options(parser: argparse.ArgumentParser, default: str = "32") -> None:
    """Add ``--word-bits`` and ``--block-words``; ``default`` is how the help calls the default."""
    parser.add_argument(
        "--word-bits",
        type=int,
        metavar="N",
        help=f"bits in a word: 8, 16, 32 or 64 (default: {default})",
    )
    parser.add_argument(
        "--block-words",
        type=int,
        metavar="N",
        help="words under one mask, a multiple of the word width (default: 128, 64, 32 or 64 words "
        "of 8, 16, 32 or 64 bits)",
    )
    parser.add_argument(
        "--tail",
        choices=TAILS,
        help="mask bits past the end of the data; with ones, the stream has its number of words "
        "(default: zeros)",
    )


def add_zero_options(parser: argparse.ArgumentParser) -> None:
    """Add what is omitted beside words whose bits are all zero."""
    value = "bit pattern of the words that are omitted, such as 0x80 (default: 0)"
    parser.add_argument("--zero-value", type=whole_number, metavar="N", help=value)
    fold = "omit -0.0 too, which comes back as 0.0: the sign of zeros is lost"
    parser.add_argument("--fold-negative-zero", action="store_true", default=None, help=fold)


def zeros_from(args: argparse.Namespace) -> dict:
    """Arguments of ``Format`` that the options of :func:`add_zero_options` describe."""
    given = {name: getattr(args, name, None) for name in ("zero_value", "fold_negative_zero")}
    return {name: value for name, value in given.items() if value is not None}


def whole_number(text: str) -> int:
    """A number as Python writes it: decimal, or with 0x, 0b or 0o."""
    try:
        return int(text, 0)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be a number such as 128 or 0x80, not {text!r}"
        ) from None


def add_config_options(parser: argparse.ArgumentParser, default: str = "32") -> None:
    """Add ``--config``, and the options that give the same in numbers."""
    parser.add_argument(
        "--config",
        metavar="NAME",
        help="lanes x word bits, such as 8x32, or 8x32b64 with blocks of 64 words, or 8x32-ones "
        "with a tail of ones; instead of the four options below",
    )
    parser.add_argument(
        "--lanes",
        type=int,
        metavar="N",
        help="words in a beat: a power of two, 2 to 64 (default: 8)",
    )
    add_format_options(parser, default)


def format_from(args: argparse.Namespace, word_bits: int = 32):
    """``Format`` that the options describe; ``word_bits`` replaces an option not given."""
    from cdma.golden import Format

    given = word_bits if args.word_bits is None else args.word_bits
    with refusals_as_user_errors():
        return Format(given, args.block_words, args.tail or TAILS[0], **zeros_from(args))


#: Options that ``--config`` gives too.
_OF_A_NAME = ("lanes", "word_bits", "block_words", "tail", "zero_value", "fold_negative_zero")
_OF_A_NAME += ("zero_port",)


def config_from(args: argparse.Namespace, word_bits: int = 32):
    """``Config`` that the options describe; ``word_bits`` replaces an option not given.

    Raises
    ------
    UserError
        When the size is refused, or ``--config`` is given beside the numbers.
    """
    from cdma.hdl.zvc.config import Config

    if args.config is not None:
        for option in _OF_A_NAME:
            if getattr(args, option, None):
                raise UserError(f"--config names the whole size: leave out {flag(option)}")
        return config_named(args.config)
    fmt = format_from(args, word_bits)
    with refusals_as_user_errors():
        port = bool(getattr(args, "zero_port", False))
        return Config(8 if args.lanes is None else args.lanes, fmt, port)


def config_named(name: str):
    """``Config`` of a name such as ``8x32`` or ``8x32b64``."""
    from cdma.hdl.zvc.config import Config

    with refusals_as_user_errors():
        return Config.parse(name)
