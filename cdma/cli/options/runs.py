"""Options for running a command: processes, libraries, folders, caches and progress."""

import argparse
import os
import sys
from collections.abc import Callable

from cdma.cli.options.saves import folder_to_make
from cdma.cli.options.types import positive


def add_verb(
    subparsers, name: str, run: Callable[[argparse.Namespace], int], help_: str, **texts: str
) -> argparse.ArgumentParser:
    """Add a verb that ``run`` runs; ``texts`` are ``description`` and ``epilog``.

    The description is the help as a sentence unless it is given. The namespace has the verb's whole
    name, such as ``cdma offload run``, as ``prog``.
    """
    texts = {"description": sentence(help_)} | texts
    style = argparse.RawDescriptionHelpFormatter
    parser = subparsers.add_parser(name, help=help_, formatter_class=style, **texts)
    parser.set_defaults(run=run, prog=parser.prog)
    return parser


def sentence(text: str) -> str:
    """A help text as a sentence; its other capital letters stay."""
    return f"{text[:1].upper()}{text[1:]}."


def add_sweep_options(
    parser: argparse.ArgumentParser, jobs: int | None = None, what: str = "processes"
) -> None:
    """Add ``--jobs``, which is ``jobs`` or the number of processors, and ``--scheduler``."""
    parser.add_argument(
        "--jobs",
        type=positive,
        default=jobs or os.cpu_count() or 1,
        metavar="N",
        help=f"{what} (default: {jobs or 'the number of processors'})",
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help=f"run on a Dask cluster, such as tcp://10.0.0.1:8786, in place of {what} here",
    )


def add_liberty_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--liberty``."""
    library = "cell library, .lib or .lib.gz (default: $CDMA_LIBERTY, a file or a folder)"
    parser.add_argument("--liberty", metavar="FILE", help=library)


def liberty_path(args: argparse.Namespace) -> str | None:
    """File or folder that ``--liberty`` or ``CDMA_LIBERTY`` names; ``None`` without both."""
    return args.liberty or os.environ.get("CDMA_LIBERTY") or None


def add_folder_option(
    parser: argparse.ArgumentParser, what: str = "", default: str | None = None
) -> None:
    """Add ``--output``, the folder of ``what``; required without a default."""
    folder = f"folder of the {what}" if what else "folder to write to"
    folder += ", made if missing" + (f" (default: {default})" if default else "")
    texts = {"metavar": "DIR", "help": folder, "default": default, "required": default is None}
    parser.add_argument("-o", "--output", type=folder_to_make, **texts)


def add_cache_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--cache``."""
    kept = "folder of kept results (default: $CDMA_CACHE, or your cache folder)"
    parser.add_argument("--cache", type=folder_to_make, metavar="DIR", help=kept)


def announce(label: str, seconds: float) -> None:
    """Print on stderr what begins, and the seconds since the start."""
    print(f"[{seconds:7.1f} s] {label}", file=sys.stderr, flush=True)
