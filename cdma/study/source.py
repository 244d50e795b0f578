"""List the tensors of files and folders, by names for ``load_tensor``."""

from pathlib import Path

from cdma.errors import UserError
from cdma.files import files_below
from cdma.tensors import load


def names_in(argument: str, failures: dict[str, str] | None = None) -> list[str]:
    """Names of the tensors of ``argument``.

    Parameters
    ----------
    argument : str
        A file, a file with a key, or a folder: every file of tensors in the folder and below.
    failures : dict or None
        Receives the error of each file or folder that cannot be opened, by its name. With
        ``None``, the error is raised.

    Raises
    ------
    UserError
        When the file does not exist or has no tensor, or a folder cannot be read, and
        ``failures`` is ``None``.
    """
    found = []
    try:
        for file in _files(argument, failures):
            try:
                found += load.names(file)
            except UserError as error:
                if failures is None:
                    raise
                failures[file] = str(error)
    except UserError as error:
        if failures is None:
            raise
        failures[argument] = str(error)
    return found


def _files(argument: str, failures: dict[str, str] | None) -> list[str]:
    folder = Path(argument)
    if not folder.is_dir():
        if not folder.suffix and not folder.exists():
            raise UserError(f"{argument}: no such file or folder")
        return [argument]
    unread = None if failures is None else {}
    files = sorted(map(str, files_below(folder, load.MODULES, unread)))
    if unread:
        failures |= unread
    elif not files:
        raise UserError(f"{folder}: holds no file of tensors ({', '.join(load.MODULES)})")
    return files
