"""List the tensors of files and folders, by names for ``load_tensor``, with their metadata."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from cdma.errors import UserError
from cdma.files import files_below
from cdma.progress import show
from cdma.study.metadata import Metadata, find, read_folder
from cdma.tensors import load


def described(
    arguments: Sequence[str], failures: dict[str, str] | None = None
) -> list[tuple[str, Metadata]]:
    """Tensors of files and folders, each once, with the metadata of the lists beside them.

    A line on stderr names the tensors that are missing in the list of their folder: they may be
    left from something else.

    Parameters
    ----------
    arguments, failures
        See :func:`names_in`. A file that the list of a folder names, and that is not there, is
        another failure.

    Raises
    ------
    UserError
        When a list cannot be understood, or as :func:`names_in`.
    """
    read = cache(lambda folder: read_folder(folder.resolve()))
    found = {}
    unlisted: dict[str, list[str]] = {}
    for argument in arguments:
        names = names_in(argument, failures)
        paths = {name: load.split(name) for name in names}
        if names and Path(argument).is_dir():
            folders = [Path(argument), *(path.parent for path, _ in paths.values())]
            for folder in dict.fromkeys(folders):
                _check_files(folder, read(folder), failures)
        for name, (path, key) in paths.items():
            # Beside the file, or beside that which a link leads to.
            listed = read(path.parent) or read(path.resolve().parent)
            found[name] = find(listed, path, key)
            if listed and not found[name].listed_in:
                lists = " or ".join(sorted({each.listed_in for each in listed.values()}))
                unlisted.setdefault(f"{path.parent / lists}", []).append(name)
    for lists, names in unlisted.items():
        others = f" and {len(names) - 1} more" if len(names) > 1 else ""
        _tell(f"{names[0]}{others}: not listed in {lists}, described by name only")
    return list(found.items())


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


def _check_files(
    folder: Path, listed: dict[tuple[str, str | None], Metadata], failures: dict[str, str] | None
) -> None:
    """Refuse, or put into ``failures``, each listed file that is not in the folder."""
    for (file, _), metadata in listed.items():
        if not (folder / file).is_file():
            text = f"no such file, but {metadata.listed_in} lists it"
            if failures is None:
                raise UserError(f"{folder / file}: {text}")
            failures[str(folder / file)] = text


@cache
def _tell(text: str) -> None:
    """Show a text once, however often the same tensors are read."""
    show(text)


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
