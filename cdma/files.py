"""Outputs appear whole or not at all; text files that a user gives."""

import csv
import errno
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cdma.errors import UserError, reason_of

#: Name of stdin and of stdout, where a verb takes it.
STDIO = "-"
#: What a full disk, a quota and a limit on the size of files say.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """Give an empty temporary file beside ``path``; rename it to ``path`` when the block succeeds.

    A block that raises leaves neither the temporary file nor a changed ``path``. A symbolic link
    is kept, and its target is replaced. A file keeps its permissions.

    Raises
    ------
    UserError
        When :func:`check_replaceable` refuses ``path``, its folder cannot be written, or the disk
        is full.
    """
    check_replaceable(path)
    given, path = Path(path), Path(os.path.realpath(path))
    temporary = path.with_name(f".cdma-{secrets.token_hex(8)}.tmp")
    try:  # around it all: a signal may raise at any line
        try:
            temporary.touch(exist_ok=False)
            mode = path.stat().st_mode & 0o777 if path.exists() else None
            if mode is not None:
                temporary.chmod(mode | stat.S_IWUSR)  # nobody else may read it before the end
        except OSError as error:
            raise UserError(f"{given}: cannot write there ({error.strerror})") from error
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        temporary.replace(path)
    except OSError as error:
        # NumPy has a text only, on how much of an array it could write.
        is_short = error.errno is None and "requested and" in str(error)
        if error.errno in _FULL or is_short:
            raise UserError(
                f"{given}: cannot write all of it ({error.strerror or error})"
            ) from error
        raise
    finally:
        temporary.unlink(missing_ok=True)


def refuse_same(output: str | os.PathLike, *inputs: str | os.PathLike) -> None:
    """Refuse an output that is one of the inputs, whatever both are called; raises UserError."""
    for name in inputs:
        if os.path.exists(output) and os.path.exists(name) and os.path.samefile(output, name):
            raise UserError(f"{output}: is the input too and would be lost, choose another name")


def refuse_twice(*outputs: str | os.PathLike) -> None:
    """Refuse two outputs that are one file, whatever both are called; raises UserError.

    The file need not exist yet.
    """
    targets = set()
    for name in outputs:
        target = os.path.realpath(name)
        if target in targets:
            raise UserError(f"{name}: two outputs would be this one file, choose another name")
        targets.add(target)


@contextmanager
def writing(name: str) -> Iterator[Path]:
    """As :func:`replacing`; what is written for ``-`` goes to stdout when the block succeeds."""
    if name != STDIO:
        with replacing(name) as temporary:
            yield temporary
        return
    with tempfile.TemporaryDirectory(prefix="cdma-") as folder:
        temporary = Path(folder) / "stdout"
        temporary.touch()
        yield temporary
        with temporary.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        sys.stdout.buffer.flush()


@contextmanager
def reading(name: str, suffix: str = "") -> Iterator[str]:
    """Give the name of a file to read; for ``-`` that of a copy of stdin, with this suffix.

    Raises
    ------
    UserError
        What the block raises about the copy, in the name of ``-``.
    """
    if name != STDIO:
        yield name
        return
    with tempfile.TemporaryDirectory(prefix="cdma-") as folder:
        copy = Path(folder) / f"stdin{suffix}"
        with copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            yield str(copy)
        except UserError as error:
            raise UserError(str(error).replace(str(copy), STDIO)) from error


def check_replaceable(path: str | os.PathLike) -> None:
    """Refuse a name of a file to write as :func:`replacing` does, before long work.

    Raises
    ------
    UserError
        When ``path`` is empty, ``-``, a folder or a device, or its folder does not exist or is a
        file.
    """
    if os.fspath(path) == "":
        raise UserError("the name of the file to write is empty")
    if os.fspath(path) == STDIO:
        raise UserError(f"{STDIO}: this output cannot be stdout, give the name of a file")
    given, path = Path(path), Path(os.path.realpath(path))
    if path.is_dir():
        raise UserError(f"{given}: is a folder, expected the name of a file to write")
    if path.exists() and not path.is_file():
        raise UserError(f"{given}: is not a regular file, and only a regular file can be replaced")
    if path.parent.exists() and not path.parent.is_dir():
        raise UserError(f"{given}: {given.parent} is a file, expected a folder")
    if not path.parent.is_dir():
        raise UserError(f"{given}: the folder {given.parent} does not exist, create it first")


def files_below(
    folder: str | os.PathLike,
    suffixes: Collection[str],
    failures: dict[str, str] | None = None,
) -> list[Path]:
    """Files with one of these suffixes in a folder and its subfolders, in no order.

    Parameters
    ----------
    folder : path
    suffixes : collection of str
        With their dots.
    failures : dict or None
        Receives the error of each folder that cannot be read, by the name of the folder. With
        ``None``, the error is raised.

    Raises
    ------
    UserError
        When a folder cannot be read, and ``failures`` is ``None``.
    """

    def refuse(error: OSError) -> None:
        text = f"{error.filename}: cannot read this folder ({error.strerror})"
        if failures is None:
            raise UserError(text) from error
        failures[str(error.filename)] = text

    # Not Path.rglob, which leaves out a folder that it cannot read.
    walk = os.walk(folder, onerror=refuse)
    found = (Path(root, name) for root, _, names in walk for name in names)
    return [file for file in found if file.suffix in suffixes]


def write_text(path: str | os.PathLike, text: str) -> None:
    """Write ``text`` as UTF-8 with plain line feeds, whole or not at all; see :func:`encoded`."""
    with replacing(path) as temporary:
        temporary.write_bytes(encoded(text))


def encoded(text: str) -> bytes:
    r"""UTF-8 of a text. What has no UTF-8 becomes an escape, such as ``\udcff``, as on stdout.

    Names of files may hold bytes that are not UTF-8.
    """
    return text.encode("utf-8", "backslashreplace")


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
        raise UserError(f"{path}: cannot read this Verilog ({reason_of(error)})") from None
    for module in modules:
        if not re.search(rf"^\s*module\s+{module}\b", text, re.MULTILINE):
            raise UserError(f"{path}: has no module {module}")
    return text


def read_csv(
    path: str | os.PathLike, what: str, columns: Sequence[str]
) -> tuple[list[str], list[dict]]:
    """Header and lines of a CSV file in UTF-8, with a byte-order mark or without.

    Spreadsheets write the mark, which is no part of the first column's name.

    Parameters
    ----------
    path : str or path
    what : str
        What the file holds, for the message, such as ``"times"``.
    columns : sequence of str
        Columns that the file must have; others may be there.

    Returns
    -------
    header : list of str
    lines : list of dict
        As :class:`csv.DictReader` gives them: ``None`` for a cell that a line lacks, and under the
        key ``None`` for cells without a column.

    Raises
    ------
    UserError
        When the file cannot be read, or lacks a column.
    """
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            header, lines = list(reader.fieldnames or ()), list(reader)
    except (OSError, ValueError, csv.Error) as error:
        raise UserError(f"{path}: cannot read these {what} ({reason_of(error)})") from None
    missing = [column for column in columns if column not in header]
    if missing:
        found = ", ".join(header) or "none"
        raise UserError(f"{path}: lacks the column {missing[0]} (columns found: {found})")
    return header, lines


def check_makeable(path: str | os.PathLike) -> None:
    """Refuse a name of a folder to write into that :func:`make_folder` cannot make.

    Raises
    ------
    UserError
        When ``path`` is empty, or it or a folder above it is a file.
    """
    if os.fspath(path) == "":  # Python takes it as the current folder
        raise UserError("the name of the folder to write into is empty")
    path = Path(path)
    for each in (path, *path.parents):
        if each.exists() and not each.is_dir():
            which = "" if each == path else f"{each} "
            raise UserError(f"{path}: {which}is a file, expected a folder")


def make_folder(path: str | os.PathLike) -> Path:
    """Create the folder ``path`` and its parents unless it is there, and give it.

    Raises
    ------
    UserError
        When :func:`check_makeable` refuses ``path``, or the folder cannot be created.
    """
    check_makeable(path)
    path = Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{path}: cannot create this folder ({error.strerror})") from error
    return path
