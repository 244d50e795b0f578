"""Where the blocks of a stream are, and how long each is."""

import numpy as np

from cdma.golden.zvcplus.plan import plan_blocks
from cdma.zvcplus import Format

_BATCH_BLOCKS = 1024


def lengths(words: np.ndarray, fmt: Format) -> tuple[np.ndarray, np.ndarray]:
    """Bits of the control and of the payload of each block; int64 of shape (blocks,)."""
    blocks, base = fmt.blocks(len(words)), 0
    controls, payloads = np.zeros(blocks, np.int64), np.zeros(blocks, np.int64)
    for first in range(0, blocks, _BATCH_BLOCKS):
        last = min(first + _BATCH_BLOCKS, blocks)
        plan = plan_blocks(words, first, last, fmt, base)
        base = int(plan.base[-1])
        controls[first:last], payloads[first:last] = plan.control, plan.payload
    return controls, payloads


def block_bits(words: np.ndarray, fmt: Format) -> np.ndarray:
    """Bits of each block in the stream, control and payload; int64 of shape (blocks,).

    Parameters
    ----------
    words : ndarray of unsigned words, shape (n,)
        The packet's data.
    fmt : Format
    """
    return np.sum(lengths(words, fmt), axis=0)


def place_of(byte: int, words: np.ndarray, fmt: Format) -> str:
    """What the first bit of a byte of the stream of ``words`` is: its block, control or payload."""
    controls, payloads = lengths(words, fmt)
    # C(0) C(1) P(0) C(2) P(1) ... : the control of a block comes before the payload of the last.
    parts = [(0, "control")] if len(controls) else []
    for block in range(len(controls)):
        parts += [(block + 1, "control")] if block + 1 < len(controls) else []
        parts.append((block, "payload"))
    sizes = [(controls if part == "control" else payloads)[block] for block, part in parts]
    ends = np.cumsum(sizes)
    index = int(np.searchsorted(ends, 8 * byte, side="right"))
    if index == len(parts):
        return "behind the last block"
    block, part = parts[index]
    return f"block {block}, bit {8 * byte - int(ends[index] - sizes[index])} of the {part}"
