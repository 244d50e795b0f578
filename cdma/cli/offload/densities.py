"""The tensors that give the compression ratios."""

import argparse
import os


def add_densities_option(
    parser: argparse.ArgumentParser, what: str = "file or folder of tensors"
) -> None:
    """Add ``--densities``."""
    text = f"{what}; repeatable (default: $CDMA_DATA)"
    parser.add_argument("--densities", action="append", metavar="FILE", help=text)


def files_from(args: argparse.Namespace) -> list[str]:
    """Files and folders of ``--densities``, or of ``CDMA_DATA``; none without both."""
    return args.densities or [name for name in [os.environ.get("CDMA_DATA")] if name]
