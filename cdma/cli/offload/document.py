"""``cdma offload document``: the results as a page with figures."""

import argparse

from cdma.cli import options
from cdma.cli.offload.densities import add_densities_option, needed_files, say_left_out

EPILOG = """\
Published figures are read from the folder CDMA_PUBLISHED, if it is set.

example:
  cdma offload document --densities activations
writes build/offload/offload.md and build/offload/images/offload_*.svg
"""
HELP = "write the results as a page with figures"


def add_parser(commands) -> None:
    """Add the command ``document``."""
    parser = options.add_verb(commands, "document", run, HELP, epilog=EPILOG)
    add_densities_option(parser)
    options.add_folder_option(parser, "document", "build/offload")


def run(args: argparse.Namespace) -> int:
    """Compute, draw and write."""
    files = needed_files(args)
    from cdma.offload.document.document import write
    from cdma.offload.profiles import left_out

    say_left_out(args, left_out(files))
    print(f"wrote {write(args.output, files)} and its figures")
    return 0
