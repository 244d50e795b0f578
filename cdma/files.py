"""Outputs appear whole or not at all."""

import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cdma.errors import UserError


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """Give an empty temporary file beside ``path``; rename it to ``path`` when the block succeeds.

    A block that raises leaves neither the temporary file nor a changed ``path``. A symbolic link
    stays, and its target is replaced.

    Raises
    ------
    UserError
        When ``path`` is a folder or a device, or its folder does not exist or cannot be written.
    """
    given, path = Path(path), Path(os.path.realpath(path))
    if path.is_dir():
        raise UserError(f"{given}: is a folder, expected the name of a file to write")
    if path.exists() and not path.is_file():
        raise UserError(f"{given}: is not a regular file, and only a regular file can be replaced")
    if not path.parent.is_dir():
        raise UserError(f"{given}: the folder {given.parent} does not exist, create it first")
    temporary = path.with_name(f".cdma-{secrets.token_hex(8)}.tmp")
    try:
        temporary.touch(exist_ok=False)
    except OSError as error:
        raise UserError(f"{given}: cannot write there ({error.strerror})") from error
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike, text: str) -> None:
    """Write ``text`` as UTF-8 with plain line feeds, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def read_verilog(path: str | os.PathLike, modules: Sequence[str] = ()) -> str:
    """Text of a Verilog file.

    Raises
    ------
    UserError
        When it cannot be read, or lacks one of the modules.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot read this Verilog ({error})") from None
    for module in modules:
        if not re.search(rf"^\s*module\s+{module}\b", text, re.MULTILINE):
            raise UserError(f"{path}: has no module {module}")
    return text


def make_folder(path: str | os.PathLike) -> Path:
    """Create the folder ``path`` and its parents unless it is there, and give it.

    Raises
    ------
    UserError
        When there is a file of that name, or the folder cannot be created.
    """
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{path}: cannot create this folder ({error.strerror})") from error
    return path
