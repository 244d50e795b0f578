"""Options that choose the codec of a unit, and the parameters of ZVC+."""

import argparse

from cdma.cli.options.types import flag
from cdma.errors import UserError, refusals_as_user_errors

CODECS = ("zvc", "zvcplus")
#: Options of ZVC+ alone.
_OF_PLUS = ("type", "repeats")
#: Options of the zero-value codec that ZVC+ does not have, and why.
_OF_ZVC = {
    "word_bits": "the type gives it",
    "block_words": "its blocks have 128 bytes",
    "tail": "its decoder needs a word count",
    "zero_value": "words are zero in all bits",
    "fold_negative_zero": "words are zero in all bits",
    "zero_port": "words are zero in all bits",
}


def add_codec_options(parser: argparse.ArgumentParser, default: str = "fp32") -> None:
    """Add ``--codec``, and the options of ZVC+; ``default`` is how the help calls that type."""
    codec = "zvc, the zero-value codec, or zvcplus (default: zvc)"
    parser.add_argument("--codec", choices=CODECS, help=codec)
    plus = parser.add_argument_group("ZVC+")
    type_ = f"element type: fp32, fp16, bf16 or int8; several with commas (default: {default})"
    plus.add_argument("--type", metavar="TYPE", help=type_)
    repeats = "what a word can repeat: none or left (default: none)"
    plus.add_argument("--repeats", metavar="REPEATS", help=repeats)


def is_plus(args: argparse.Namespace) -> bool:
    """Whether the options choose ZVC+.

    Raises
    ------
    UserError
        When options of ZVC+ are given for the zero-value codec, or the other way round.
    """
    if getattr(args, "codec", None) == "zvcplus":
        for name, why in _OF_ZVC.items():
            if getattr(args, name, None):
                raise UserError(f"{flag(name)} is not for --codec zvcplus, {why}: leave it out")
        return True
    for name in _OF_PLUS:
        if getattr(args, name, None) is not None:
            raise UserError(
                f"{flag(name)} is for --codec zvcplus: add it, or leave {flag(name)} out"
            )
    return False


def plus_config_from(args: argparse.Namespace, type_: str = "fp32"):
    """Configuration of ZVC+ that the options describe; ``type_`` replaces an option not given."""
    from cdma.hdl.zvcplus.named import of_types

    with refusals_as_user_errors():
        lanes = getattr(args, "lanes", None)
        return of_types((args.type or type_).split(","), args.repeats or "none", lanes)


def one_type(config, what: str):
    """``config`` itself; UserError when its units have several types, which ``what`` does not
    take."""
    if config.parts:
        raise UserError(f"{what} takes units of one type, not {config.name}")
    return config


def only_zvc(config, verb: str):
    """``config`` itself, for a verb of the zero-value codec; UserError when it is of another."""
    if config.codec != CODECS[0]:
        raise UserError(f"cdma {verb} is for codec {CODECS[0]}, not for {config.codec}")
    return config
