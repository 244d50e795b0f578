"""Rows as tables, JSON or CSV: the options, and what they ask for."""

import argparse

from cdma.files import write_text


def add_output_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--json`` and ``--csv``."""
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    parser.add_argument("--csv", metavar="FILE", help="write the rows as CSV")


def written(args: argparse.Namespace, rows: list[dict], **about) -> bool:
    """Write ``--csv`` and print ``--json``; gives whether that is all, so no table is wanted."""
    from cdma.offload import output

    if args.csv:
        write_text(args.csv, output.as_csv(rows))
    if args.json:
        print(output.as_json(rows, **about))
    return args.json
