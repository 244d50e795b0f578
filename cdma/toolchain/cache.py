"""The cache: one folder for everything that takes long to build, shared by all processes."""

import contextlib
import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import platformdirs

from cdma.errors import UserError


def cache_folder(cache: str | os.PathLike | None = None, part: str = "") -> Path:
    """The folder of kept builds and results, made when missing.

    Parameters
    ----------
    cache : path or None
        ``None`` is ``$CDMA_CACHE``, or the user's cache folder (``~/.cache/cdma`` on Linux).
    part : str
        Subfolder for one kind of results.

    Raises
    ------
    UserError
        When the folder cannot be made.
    """
    root = cache or os.environ.get("CDMA_CACHE") or platformdirs.user_cache_path("cdma", False)
    folder = (Path(root) / part).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{folder}: cannot keep builds there ({error.strerror}); "
            "name another folder in CDMA_CACHE"
        ) from error
    return folder


def kept_json(file: Path):
    """What a result that is kept as JSON says; None when there is none, or it cannot be read."""
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError):  # it is made again, as if it was not there
        return None


def digest(*parts) -> str:
    """Name of a build made from ``parts``, texts and lists of texts."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


def kept(folder: Path, name: str, make: Callable[[Path], None]) -> Path:
    """Folder ``name`` in ``folder``; where it is missing, one process or thread builds it.

    ``make`` is called with a temporary folder and leaves the result in its subfolder ``out``, which
    is renamed when it is complete. When ``make`` raises, nothing is kept. All others wait.
    """
    path = folder / name
    if not path.is_dir():
        with locked(folder / f"{name}.lock"):
            if not path.is_dir():
                with tempfile.TemporaryDirectory(dir=folder, prefix=".build-") as work:
                    make(Path(work))
                    (Path(work) / "out").rename(path)
    return path


@contextlib.contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold a lock that other processes and threads wait for; it ends with its process."""
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
