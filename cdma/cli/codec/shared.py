"""What the verbs of the codec share: options and their types."""

import argparse

from cdma.cli.options import add_verb
from cdma.errors import UserError
from cdma.files import STDIO


def add_codec_verb(subparsers, name: str, run, summary: str, epilog: str):
    """Add a verb with ``--json``."""
    description = f"{summary.capitalize()} with the golden model."
    parser = add_verb(subparsers, name, run, summary, description=description, epilog=epilog)
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser


def refuse_json_on_stdout(args: argparse.Namespace) -> None:
    """Refuse ``--json`` where the output itself goes to stdout."""
    if args.output == STDIO and args.json:
        raise UserError("-o - writes to stdout, where --json would print: leave one of them out")
