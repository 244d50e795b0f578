"""Options that name a file or folder to write: refused before the work, so that nothing is lost."""

import argparse
from collections.abc import Callable
from pathlib import Path

from cdma.errors import UserError
from cdma.files import check_makeable, check_replaceable


def add_save_option(parser, text: str, option: str = "--save", *, required: bool = False) -> None:
    """Add the option of a file for results; ``text`` is its help."""
    add = parser.add_argument
    add(option, type=file_to_write, metavar="FILE", required=required, help=text)


def folder_to_make(text: str) -> str:
    """Type of an option: a folder to write into, which may not be there yet."""
    return _checked(check_makeable, text)


def file_to_write(text: str) -> Path:
    """Type of an option: a file that can be written, so that no result of long work is lost."""
    return Path(_checked(check_replaceable, text))


def _checked(check: Callable[[str], None], text: str) -> str:
    try:
        check(text)
    except UserError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    except OSError as error:  # a folder on the way that may not be looked into
        raise argparse.ArgumentTypeError(f"{text}: {error.strerror}") from None
    return text
