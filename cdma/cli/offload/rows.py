"""Rows as tables, JSON or CSV: the options, and what they ask for."""

import argparse
from collections.abc import Callable, Mapping

from cdma.files import write_text


def add_output_options(parser: argparse.ArgumentParser, figures: bool = False) -> None:
    """Add ``--json`` and ``--csv``, and ``--figures`` where a picture helps."""
    if figures:
        parser.add_argument("--figures", metavar="DIR", help="write figures there, as SVG")
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


def draw(args: argparse.Namespace, drawings: Mapping[str, Callable]) -> None:
    """Write the figures of ``--figures``, by name; each function gets a figure.

    What is written is listed on stderr, since the table or JSON is on stdout.
    """
    from cdma.offload.pictures.canvas import draw as on_disk
    from cdma.progress import show

    for path in on_disk(args.figures, drawings, "--figures").values():
        show(f"wrote {path}")
