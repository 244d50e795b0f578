"""Size of ZVC+, by the rules of the golden encoder."""

import numpy as np

from cdma.golden.zvcplus.plan import plan_blocks
from cdma.zvcplus import Format

_BATCH_BLOCKS = 2048


class ZeroValuePlus:
    """Size of the stream of ``docs/zvcplus.md`` as one packet.

    Parameters
    ----------
    fmt : Format
    """

    def __init__(self, fmt: Format):
        self._format = fmt
        self._base = 0
        self._bits = 0
        # Whole blocks of the words before, as far as repeats reach back.
        self._kept = fmt.blocks(max(1, fmt.distance))
        self._before = np.zeros(0, fmt.dtype)

    def update(self, words: np.ndarray) -> None:
        """Process the next chunk, shape (words,): whole blocks, unless it is the last."""
        fmt = self._format
        skipped = len(self._before) // fmt.block_words
        known = np.concatenate([self._before, words.view(fmt.dtype)])
        blocks = fmt.blocks(len(known))
        for first in range(skipped, blocks, _BATCH_BLOCKS):
            plan = plan_blocks(known, first, min(first + _BATCH_BLOCKS, blocks), fmt, self._base)
            self._bits += int(plan.control.sum() + plan.payload.sum())
            self._base = int(plan.base[-1])
        self._before = known[max(0, blocks - self._kept) * fmt.block_words :]

    def finish(self) -> int:
        """Size in bytes."""
        return -(-self._bits // 8)
