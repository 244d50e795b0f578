"""Configuration and format that the options of a size describe."""

import argparse

from cdma.cli.options.codecs import is_plus, one_type, plus_config_from
from cdma.cli.options.types import flag
from cdma.cli.options.zeros import zeros_from
from cdma.errors import UserError, refusals_as_user_errors
from cdma.format import TAILS


def plus_size_from(args: argparse.Namespace):
    """``Config`` of ZVC+ that options describe, or ``None`` for the zero-value codec."""
    return plus_config_from(args) if is_plus(args) else None


def format_from(args: argparse.Namespace, word_bits: int = 32):
    """``Format`` that the options describe; ``word_bits`` replaces an option not given."""
    from cdma.golden import Format

    given = word_bits if args.word_bits is None else args.word_bits
    with refusals_as_user_errors():
        return Format(given, args.block_words, args.tail or TAILS[0], **zeros_from(args))


#: Options that ``--config`` gives too.
_OF_A_NAME = ("lanes", "word_bits", "block_words", "tail", "zero_value", "fold_negative_zero")
_OF_A_NAME += ("zero_port", "target", "codec", "type", "repeats")


def config_from(args: argparse.Namespace, word_bits: int = 32, type_: str = "fp32"):
    """Configuration of a unit that the options describe.

    Parameters
    ----------
    args : argparse.Namespace
        Options of :func:`~cdma.cli.options.sizes.add_config_options`, and of
        :func:`~cdma.cli.options.codecs.add_codec_options` where the verb has them.
    word_bits, type_
        Replace options that are not given: the first codec's and ZVC+'s.

    Raises
    ------
    UserError
        When the size is refused, or ``--config`` is given beside the numbers.
    """
    from cdma.hdl.zvc.config import TARGETS, Config

    if args.config is not None:
        for option in _OF_A_NAME:
            if getattr(args, option, None):
                raise UserError(f"--config names the whole size: leave out {flag(option)}")
        return config_named(args.config)
    target = getattr(args, "target", None)
    if is_plus(args):
        if target:
            why = "whose units are the same"
            raise UserError(f"--target is not for --codec zvcplus, {why}: leave it out")
        return plus_config_from(args, type_)
    fmt = format_from(args, word_bits)
    with refusals_as_user_errors():
        port = bool(getattr(args, "zero_port", False))
        return Config(8 if args.lanes is None else args.lanes, fmt, port, target or TARGETS[0])


def config_or(args: argparse.Namespace, name: str):
    """Configuration of ``--config`` or of ``--codec zvcplus``, without both that of ``name``: of
    one type."""
    plus = plus_size_from(args)
    if plus is not None and args.config is not None:
        raise UserError("--config names the whole size: leave out --codec")
    return one_type(plus or config_named(args.config or name), f"cdma {args.verb}")


def config_named(name: str):
    """Configuration of a name such as ``8x32``, ``8x32b64`` or ``zvcplus-fp32``."""
    from cdma.hdl import codecs

    with refusals_as_user_errors():
        return codecs.config_named(name)
