"""Add the name of a file to errors of the golden model about its content."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from cdma.errors import UserError
from cdma.golden import StreamError


@contextmanager
def naming(path: str | os.PathLike) -> Iterator[None]:
    """Convert a ``StreamError`` about the content of a file to a ``UserError`` with its name."""
    try:
        yield
    except StreamError as error:
        raise UserError(f"{path}: {error}") from error
