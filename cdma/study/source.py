"""The tensors that files and folders hold, by the names that ``load_tensor`` takes."""

from pathlib import Path

from cdma.errors import UserError
from cdma.tensors import load


def names_in(argument: str) -> list[str]:
    """Names of the tensors that ``argument`` stands for.

    Parameters
    ----------
    argument : str
        A file, a file with a key, or a folder: every file of tensors in it and below.

    Raises
    ------
    UserError
        When there is no such file, or no tensor in it.
    """
    folder = Path(argument)
    if not folder.is_dir():
        if not folder.suffix and not folder.exists():
            raise UserError(f"{argument}: no such file or folder")
        return load.names(argument)
    files = sorted(file for file in folder.rglob("*") if file.suffix in load.MODULES)
    if not files:
        raise UserError(f"{folder}: holds no file of tensors ({', '.join(load.MODULES)})")
    return [name for file in files for name in load.names(str(file))]
