"""``cdma offload trace``: steps as a file for Perfetto."""

import argparse
import json

from cdma.cli import options
from cdma.cli.offload import shared
from cdma.files import write_text

EPILOG = """\
Open the file at https://ui.perfetto.dev or in chrome://tracing: a process a system, with its
compute and the copies each way.

example:
  cdma offload trace alexnet --ratio 2.6 --scheme vdnn-all --scheme cdma-zv -o step.json
"""
HELP = "a step of each system as a trace for Perfetto"


def add_parser(commands) -> None:
    """Add the command ``trace``."""
    parser = options.add_verb(commands, "trace", run, HELP, epilog=EPILOG)
    shared.add_setup_options(parser)
    add = parser.add_argument
    add("--scheme", action="append", metavar="NAME", help="system; repeatable (default: all)")
    add("-o", "--output", required=True, metavar="FILE", help="file to write, JSON")


def run(args: argparse.Namespace) -> int:
    """Schedule and write."""
    setup = shared.setup_from(args)
    from cdma.offload.answers.trace import trace
    from cdma.offload.schemes.registry import results

    found = trace(list(results(setup, args.scheme)))
    write_text(args.output, json.dumps(found) + "\n")
    print(f"wrote {args.output}: {len(found['traceEvents'])} events")
    return 0
