"""``cdma study``: check the paper's claims on tensors, as a document with figures."""

import argparse
from pathlib import Path

from cdma.cli.options import add_folder_option, add_sweep_options, add_verb
from cdma.cli.options.tensors import sample_folder
from cdma.errors import UserError, require

EPILOG = """\
Tensors need a manifest.json or capture.json beside them, as for cdma analyze.

example:
  cdma capture -o activations
  cdma study activations -o study
writes study/study.md and study/images/study_*.svg
"""


def add_parser(subparsers) -> None:
    """Add the verb ``study``."""
    text = (
        "Write a document that holds the paper's claims on compression ratio and density to the "
        "tensors of networks."
    )
    help_ = "check the paper's claims on tensors, and write a document"
    parser = add_verb(subparsers, "study", run, help_, description=text, epilog=EPILOG)
    parser.add_argument(
        "files", nargs="*", metavar="FILE", help="file of tensors or folder (default: $CDMA_DATA)"
    )
    add_folder_option(parser, "document", "build/study")
    add_sweep_options(parser)


def run(args: argparse.Namespace) -> int:
    """Analyze and write."""
    from cdma.study.algorithms.registry import ALGORITHMS, installed
    from cdma.study.analysis import plan
    from cdma.study.report import document
    from cdma.study.run import analyze_all, reasons

    files = args.files or sample_folder()
    if not files:
        raise UserError("no tensors given: name files or folders, or set CDMA_DATA")
    require("matplotlib", extra="study", verb="cdma study")
    algorithms, _ = installed(tuple(ALGORITHMS))
    tasks = plan(files, algorithms=tuple(algorithms))
    records, failures = analyze_all(tasks, args.jobs, args.scheduler)
    if failures:  # a document on a part of the tensors would not say so
        raise UserError("; ".join(reasons(failures)))
    folder = Path(args.output)
    document.write(records, folder)
    print(f"wrote {folder / 'study.md'} and its figures")
    return 0
