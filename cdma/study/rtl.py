"""Compress tensors with the compiled RTL of the compressor, and count bytes and cycles."""

from functools import cache

import numpy as np

from cdma.errors import UserError
from cdma.golden import Format, compress

#: Default bytes of a beat.
BEAT_BYTES = 32


class RtlCompressor:
    """Compresses chunks, each as a packet, and compares the streams with the golden model's.

    Parameters
    ----------
    word_bits : int
        8, 16, 32 or 64.
    lanes : int or None
        Words in a beat. With ``None``, a beat has 32 bytes.

    Raises
    ------
    UserError
        When no unit has this number of lanes, a tool is missing, or the model cannot be built.
    """

    def __init__(self, word_bits: int, lanes: int | None = None):
        self._format = Format(word_bits)
        lanes = BEAT_BYTES * 8 // word_bits if lanes is None else lanes
        self._model = _model(self._format, lanes)
        self._config = f"{lanes}x{word_bits}"
        self._bytes = self._cycles = self._packets = 0
        self._problem = ""

    def update(self, words: np.ndarray) -> None:
        """Compress the next chunk, shape (words,). After a problem, chunks are ignored."""
        from cdma.sim import SimulationError, Violation

        if self._problem:
            return
        self._packets += 1
        try:
            result = self._model.run(words)
        except (SimulationError, Violation) as error:
            self._problem = f"packet {self._packets}: {error}"
            return
        self._bytes += len(result.output)
        self._cycles += result.cycles
        if not np.array_equal(result.output, compress(words, self._format)):
            self._problem = f"packet {self._packets}: the stream is not the golden model's"

    def finish(self) -> dict:
        """``config``, ``bytes`` of output, ``cycles``, ``packets``, and ``problem`` or ``""``."""
        return {
            "config": self._config,
            "bytes": self._bytes,
            "cycles": self._cycles,
            "packets": self._packets,
            "problem": self._problem,
        }


@cache
def _model(fmt: Format, lanes: int):
    from cdma.sim import RtlModel, SimulationError  # the packages they need are an extra

    try:
        return RtlModel("compressor", fmt, lanes)
    except SimulationError as error:
        raise UserError(f"no model of the RTL: {error}") from error
