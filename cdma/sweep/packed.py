"""A value that many tasks use, such as the text of a design."""

import hashlib
import pickle
import zlib
from functools import cached_property, lru_cache
from typing import Any

#: Values that a process keeps unpacked.
_KEPT = 8


class Packed:
    """A value that is sent compressed to a process or worker, and unpacked there once.

    Two objects are equal when their values pickle to the same bytes, so an object can be the key of
    a cache.

    Parameters
    ----------
    value : object
        The value is pickled when it is sent or compared.
    """

    def __init__(self, value: Any):
        self._value = value

    @property
    def value(self) -> Any:
        """The value. In the process that made this object, the original value."""
        return self._value

    @cached_property
    def _pickled(self) -> bytes:
        return zlib.compress(pickle.dumps(self._value), 1)

    @cached_property
    def _digest(self) -> bytes:
        return hashlib.sha256(self._pickled).digest()

    def __eq__(self, other):
        return isinstance(other, Packed) and self._digest == other._digest

    def __hash__(self):
        return hash(self._digest)

    def __reduce__(self):
        return _Arrived, (self._pickled,)


class _Arrived(Packed):
    """A packed value in the receiving process."""

    def __init__(self, pickled: bytes):
        self._pickled = pickled

    @property
    def value(self) -> Any:
        return _unpacked(self)


@lru_cache(maxsize=_KEPT)
def _unpacked(packed: _Arrived) -> Any:
    return pickle.loads(zlib.decompress(packed._pickled))
