"""The tensors that give the compression ratios."""

import argparse
from collections.abc import Sequence

from cdma.cli.options.tensors import sample_folder
from cdma.errors import UserError
from cdma.progress import show

#: Lines on tensors that are left out, at most.
_LINES = 4


def add_densities_option(
    parser: argparse.ArgumentParser, what: str = "file or folder of tensors"
) -> None:
    """Add ``--densities``."""
    text = f"{what}; repeatable (default: $CDMA_DATA)"
    parser.add_argument("--densities", action="append", metavar="FILE", help=text)


def files_from(args: argparse.Namespace) -> list[str]:
    """Files and folders of ``--densities``, or of ``CDMA_DATA``; none without both."""
    return args.densities or sample_folder()


def needed_files(args: argparse.Namespace) -> list[str]:
    """The same; UserError when there are none."""
    files = files_from(args)
    if not files:
        raise UserError("no tensors given: name --densities FILE, or set CDMA_DATA")
    return files


def say_left_out(args: argparse.Namespace, lines: Sequence[str]) -> None:
    """Say on stderr, a line each, which tensors are left out, and why; of many, the first few."""
    if len(lines) > _LINES:
        lines = [*lines[: _LINES - 1], f"{len(lines) - _LINES + 1} more"]
    for line in lines:
        show(f"cdma offload {args.command}: left out {line}")
