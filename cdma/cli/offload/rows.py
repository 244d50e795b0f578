"""Rows as tables, JSON or CSV: the options, and what they ask for."""

import argparse
from collections.abc import Callable, Mapping

from cdma.cli.options.saves import add_save_option, folder_to_make
from cdma.errors import require
from cdma.files import write_text


def add_output_options(parser: argparse.ArgumentParser, figures: bool = False) -> None:
    """Add ``--json`` and ``--csv``, and ``--figures`` where a picture helps."""
    if figures:
        text = "write figures there, as SVG"
        parser.add_argument("--figures", type=folder_to_make, metavar="DIR", help=text)
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    add_save_option(parser, "write the rows as CSV", "--csv")


def written(args: argparse.Namespace, rows: list[dict], **about) -> bool:
    """Write ``--csv`` and print ``--json``; gives whether that is all, so no table is wanted."""
    from cdma.offload import output

    if args.csv:
        write_text(args.csv, output.as_csv(rows))
    if args.json:
        print(output.as_json(rows, **about))
    return args.json


def check_figures(args: argparse.Namespace) -> None:
    """Refuse ``--figures`` without matplotlib, before long work."""
    if args.figures is not None:
        require("matplotlib", extra="study", verb="--figures")


def draw(args: argparse.Namespace, drawings: Mapping[str, Callable]) -> None:
    """Write the figures of ``--figures``, by name; each function gets a figure.

    What is written is listed on stderr, since the table or JSON is on stdout.
    """
    from cdma.offload.pictures.canvas import draw as on_disk
    from cdma.progress import show

    for path in on_disk(args.figures, drawings, "--figures").values():
        show(f"wrote {path}")
