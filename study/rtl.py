"""The hardware's own figures: tensors through the compiled RTL of the compressor."""

from functools import cache

import numpy as np

from cdma.golden import Format, compress

#: Bytes of a beat, unless the lanes are given.
BEAT_BYTES = 32


@cache
def _model(fmt: Format, lanes: int):
    from cdma.sim import RtlModel  # what it needs is an extra

    return RtlModel("compressor", fmt, lanes)


class RtlCompressor:
    """Sends chunks through the compressor, each as a packet, and holds them to the golden model.

    Parameters
    ----------
    word_bits : int
        8, 16, 32 or 64.
    lanes : int or None
        Words in a beat; ``None`` takes 32 bytes of them.

    Raises
    ------
    UserError
        When a tool is missing, or there is no unit with so many lanes.
    """

    def __init__(self, word_bits: int, lanes: int | None = None):
        self._format = Format(word_bits)
        lanes = BEAT_BYTES * 8 // word_bits if lanes is None else lanes
        self._model = _model(self._format, lanes)
        self._config = f"{lanes}x{word_bits}"
        self._bytes = self._cycles = self._packets = 0
        self._is_equal = True

    def update(self, words: np.ndarray) -> None:
        """Take the next chunk, shape (words,)."""
        result = self._model.run(words)
        output = np.asarray(result.output).reshape(-1).view(np.uint8)
        self._bytes += len(output)
        self._cycles += int(result.cycles)
        self._packets += 1
        self._is_equal &= np.array_equal(output, compress(words, self._format))

    def finish(self) -> dict:
        """``config``, ``bytes`` out, ``cycles``, ``packets``, and whether all were as they must."""
        return {
            "config": self._config,
            "bytes": self._bytes,
            "cycles": self._cycles,
            "packets": self._packets,
            "equal": self._is_equal,
        }
