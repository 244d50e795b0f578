"""``cdma offload explain``: what limits each tensor."""

import argparse

from cdma.cli import options
from cdma.cli.offload import shared
from cdma.cli.offload.rows import add_output_options, written

EPILOG = """\
Exposed is the time that a copy adds to the step: it is longer than the layer beside it. A limit is
hidden, link, codec, dram, or alone: fetched with no layer beside it.

example:
  cdma offload explain vgg-d --ratio 2.6 --scheme cdma-zv
"""
HELP = "what limits each tensor of a synchronised system"


def add_parser(commands) -> None:
    """Add the command ``explain``."""
    parser = options.add_verb(commands, "explain", run, HELP, epilog=EPILOG)
    shared.add_setup_options(parser)
    scheme = "system (default: cdma-zv)"
    parser.add_argument("--scheme", default="cdma-zv", metavar="NAME", help=scheme)
    add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    """Explain and print."""
    setup = shared.setup_from(args)
    from cdma.offload import output
    from cdma.offload.answers import explain

    found = explain.rows(setup, args.scheme)
    if not written(args, found, network=setup.network.name, scheme=args.scheme):
        print(output.as_table(found, explain.COLUMNS))
    return 0
