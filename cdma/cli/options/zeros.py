"""Options of what is omitted, beside words whose bits are all zero."""

import argparse


def add_zero_options(parser: argparse.ArgumentParser) -> None:
    """Add what is omitted beside words whose bits are all zero."""
    value = "bit pattern of the words that are omitted, such as 0x80 (default: 0)"
    parser.add_argument("--zero-value", type=whole_number, metavar="N", help=value)
    fold = "omit -0.0 too, which comes back as 0.0: the sign of zeros is lost. For floating-point "
    fold += "words only: of integers, the one of the highest bit alone, such as -128 of 8 bits, "
    fold += "would come back as 0"
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
