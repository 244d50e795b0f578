"""What the verbs of the codec share: options and their types."""

import argparse
from collections.abc import Iterable

from cdma.cli.options import add_verb, flag
from cdma.cli.options.runs import sentence
from cdma.errors import UserError
from cdma.files import STDIO


def add_codec_verb(subparsers, name: str, run, summary: str, epilog: str):
    """Add a verb with ``--json``."""
    description = sentence(f"{summary} with the golden model")
    parser = add_verb(subparsers, name, run, summary, description=description, epilog=epilog)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


#: Options that say what the elements of a container are.
OF_A_CONTAINER = ("dtype", "shape")
#: Options of ZVC+.
PLUS = ("repeats", "distance", "layout")


def add_plus_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--codec`` and the options of ZVC+."""
    codec = "zvc, the zero-value codec, or zvcplus (default: zvc)"
    parser.add_argument("--codec", choices=("zvc", "zvcplus"), default="zvc", help=codec)
    plus = parser.add_argument_group("ZVC+")
    repeats = "what a word can repeat: the one before it, or also the one above (default: none)"
    plus.add_argument("--repeats", choices=("none", "left", "above"), help=repeats)
    distance = "words to the one above (default: auto, that of shape and layout)"
    plus.add_argument("--distance", metavar="auto|D", help=distance)
    layout = "axes, for the distance (default: the last axis is a row)"
    plus.add_argument("--layout", choices=("NCHW", "NHWC", "CHWN"), help=layout)


def given(args: argparse.Namespace, names: Iterable[str]) -> dict:
    """Those of these options that are given, by name."""
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


def refuse_given(args: argparse.Namespace, names: Iterable[str], why: str) -> None:
    """Refuse the first of these options that is given; ``why`` follows its name."""
    for name in names:
        if getattr(args, name) is not None:
            raise UserError(f"{flag(name)} {why}: leave it out")


def refuse_json_on_stdout(args: argparse.Namespace) -> None:
    """Refuse ``--json`` where the output itself goes to stdout."""
    if args.output == STDIO and args.json:
        raise UserError("-o - writes to stdout, where --json would print: leave one of them out")
