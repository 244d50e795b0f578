"""``cdma offload validate``: the model beside published figures."""

import argparse
import os

from cdma.cli import options
from cdma.cli.offload import shared
from cdma.files import write_text

EPILOG = """\
Published figures are read from the folder CDMA_PUBLISHED; without it most rows are "not given".
Tensors of --densities or CDMA_DATA give the measured ratios of cDMA's rows.

example:
  cdma offload validate --csv validation.csv
"""
HELP = "compare the model with published figures"


def add_parser(commands) -> None:
    """Add the command ``validate``."""
    texts = {"description": HELP.capitalize() + ".", "epilog": EPILOG}
    parser = options.add_verb(commands, "validate", run, HELP, **texts)
    files = "file or folder of tensors; repeatable (default: $CDMA_DATA)"
    parser.add_argument("--densities", action="append", metavar="FILE", help=files)
    shared.add_output_options(parser)


def run(args: argparse.Namespace) -> int:
    """Compare and print; the status is 0 whatever the verdicts are."""
    from cdma.offload import output
    from cdma.offload.validate import report
    from cdma.offload.validate.rows import COLUMNS

    files = args.densities or [name for name in [os.environ.get("CDMA_DATA")] if name]
    found = report.rows(tuple(files))
    rows = [row.as_dict() for row in found]
    if args.csv:
        write_text(args.csv, output.as_csv(rows))
    if args.json:
        print(output.as_json(rows, summary=report.summary(found)))
        return 0
    print(output.as_table(rows, COLUMNS))
    for row in found:
        if row.reason:
            print(f"{row.claim}: {row.verdict}: {row.reason}")
    print(report.summary(found))
    return 0
