"""Results of steps kept by what went into them, so that an unchanged unit costs nothing."""

import gzip
import hashlib
import json
import os
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from threading import Lock

from cdma.errors import UserError
from cdma.files import replacing
from cdma.toolchain.cache import cache_folder
from cdma.toolchain.tool import Tool, execute


class Steps:
    """Runs steps of the flow, or finds what they gave last time.

    A step is a tool, its version, its arguments and the text of its input files; a change in any of
    them is another step. An entry that cannot be read is made anew.

    Parameters
    ----------
    cache : path or None
        Where results are kept and tools work, see :func:`cdma.toolchain.cache.cache_folder`.
    announce : callable, optional
        Called with the label of each step that has to run, and the seconds since the start.

    Attributes
    ----------
    cache : str or None
        As it was given.

    Raises
    ------
    UserError
        When the folder cannot be made.
    """

    def __init__(
        self,
        cache: str | os.PathLike | None = None,
        announce: Callable[[str, float], None] | None = None,
    ):
        self.cache = None if cache is None else str(cache)
        self.folder = cache_folder(cache, "steps")
        self._announce = announce or (lambda label, seconds: None)
        self._start = time.monotonic()
        self._lock = Lock()
        self.ran = 0
        self.found = 0

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start

    def announce(self, label: str) -> None:
        """Report something that runs beside the steps."""
        self._announce(label, self.seconds)

    def run(
        self,
        label: str,
        tool: Tool,
        arguments: list[str],
        inputs: dict[str, str],
        outputs: list[str],
    ) -> dict[str, str]:
        """Text of each of ``outputs`` of ``tool.execute``, which raises what this raises."""
        path = self.folder / f"{_key(tool, arguments, inputs, outputs)}.json.gz"
        kept = _load(path, outputs)
        with self._lock:
            if kept is None:
                self.ran += 1
                self._announce(label, self.seconds)
            else:
                self.found += 1
        if kept is not None:
            return kept
        try:
            texts = execute(tool, arguments, inputs, outputs, self.folder)
        except UserError as error:
            raise UserError(f"{label}: {error}") from error
        with replacing(path) as temporary:
            temporary.write_bytes(
                gzip.compress(json.dumps(texts).encode(), compresslevel=1, mtime=0)
            )
        return texts


def _key(tool: Tool, arguments: list[str], inputs: dict[str, str], outputs: list[str]) -> str:
    digests = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in inputs.items()}
    whole = [tool.name, tool.version, arguments, sorted(digests.items()), sorted(outputs)]
    return hashlib.sha256(json.dumps(whole).encode()).hexdigest()[:32]


def _load(path: Path, outputs: list[str]) -> dict[str, str] | None:
    try:
        texts = json.loads(gzip.decompress(path.read_bytes()))
    except (OSError, EOFError, zlib.error, ValueError):
        return None
    whole = isinstance(texts, dict) and set(texts) == set(outputs)
    return texts if whole and all(isinstance(text, str) for text in texts.values()) else None
