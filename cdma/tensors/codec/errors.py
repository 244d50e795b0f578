"""Errors of the golden model about the content of a file, with the name of that file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from cdma.errors import UserError
from cdma.golden import StreamError


@contextmanager
def naming(path: str | os.PathLike) -> Iterator[None]:
    """Turn a ``StreamError`` about the content of a file into a ``UserError`` that names it."""
    try:
        yield
    except StreamError as error:
        raise UserError(f"{path}: {error}") from error
