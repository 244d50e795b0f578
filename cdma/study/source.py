"""List the tensors of files and folders, by names for ``load_tensor``."""

from pathlib import Path

from cdma.errors import UserError
from cdma.tensors import load


def names_in(argument: str, failures: dict[str, str] | None = None) -> list[str]:
    """Names of the tensors of ``argument``.

    Parameters
    ----------
    argument : str
        A file, a file with a key, or a folder: every file of tensors in the folder and below.
    failures : dict or None
        Receives the error of each file that cannot be opened, by the name of the file. With
        ``None``, the error is raised.

    Raises
    ------
    UserError
        When the file does not exist or has no tensor, and ``failures`` is ``None``.
    """
    found = []
    try:
        for file in _files(argument):
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


def _files(argument: str) -> list[str]:
    folder = Path(argument)
    if not folder.is_dir():
        if not folder.suffix and not folder.exists():
            raise UserError(f"{argument}: no such file or folder")
        return [argument]
    found = (file for file in folder.rglob("*") if file.suffix in load.MODULES)
    files = sorted(str(file) for file in found if not file.is_dir())
    if not files:
        raise UserError(f"{folder}: holds no file of tensors ({', '.join(load.MODULES)})")
    return files
