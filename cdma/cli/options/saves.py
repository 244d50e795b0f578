"""Options that name a file or folder to write: refused before the work, so that nothing is lost."""

import argparse
from pathlib import Path

from cdma.errors import UserError
from cdma.files import check_replaceable


def add_save_option(parser, text: str, option: str = "--save", *, required: bool = False) -> None:
    """Add the option of a file for results; ``text`` is its help."""
    add = parser.add_argument
    add(option, type=file_to_write, metavar="FILE", required=required, help=text)


def folder_to_make(text: str) -> str:
    """Type of an option: a folder to write into. Of an empty name, Python makes the current one."""
    if not text:
        raise argparse.ArgumentTypeError("the name of the folder to write into is empty")
    return text


def file_to_write(text: str) -> Path:
    """Type of an option: a file that can be written, so that no result of long work is lost."""
    try:
        check_replaceable(text)
    except UserError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return Path(text)
