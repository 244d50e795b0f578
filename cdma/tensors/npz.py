"""``.npz`` archives: each array is read as a whole, with a check of its CRC."""

import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from cdma.errors import UserError
from cdma.tensors.npy import as_numbers, refusal


@contextmanager
def opened(path: Path) -> Iterator[dict[str, Callable[[], np.ndarray]]]:
    """Functions that read the arrays, by their names in the archive."""
    try:
        archive = zipfile.ZipFile(path)
    except Exception as error:
        raise UserError(f"{path}: not an .npz file ({error})") from error
    with archive:
        members = {member.removesuffix(".npy"): member for member in archive.namelist()}
        yield {
            key: partial(_read, archive, member, f"{path}:{key}") for key, member in members.items()
        }


def _read(archive: zipfile.ZipFile, member: str, name: str) -> np.ndarray:
    try:
        file = archive.open(member)
    except Exception as error:
        raise UserError(f"{name}: damaged file ({error})") from error
    with file:
        try:
            array = np.lib.format.read_array(file, allow_pickle=False)
            extra = file.read(1)  # at the end of the data, zipfile checks the CRC
        except Exception as error:
            raise refusal(name, error) from error
    if extra:
        raise UserError(f"{name}: damaged file (bytes follow after the array)")
    return as_numbers(array)
