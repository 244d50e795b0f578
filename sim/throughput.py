"""The throughput rule, cycle-exact.

**Cycles** of a run count from the cycle of its first input handshake to the cycle of its last
output handshake, both included, with a source and a sink that never stall.

A packet of ``I`` input beats and ``O`` output beats should take ``max(I, O) + L`` cycles, ``L``
being the unit's documented latency. No machine with finite buffers can do that for *every* packet:
a block whose words are all non-zero takes more beats as stream (mask and all words) than as data,
and sparse blocks cannot give that time back. Not later ones: by then the data side has been held
up, and it moves one beat a cycle at most. Not earlier ones: what they saved was spent waiting with
full buffers. So what binds is the slower side of each block:

    cycles <= ceil(sum over blocks b of max(D_b, S_b)) + L

where ``D_b`` is the block's data beats, ``ceil(words / lanes)``, and ``S_b`` its stream words (mask
and non-zero words) divided by ``lanes``, an exact fraction because the stream is packed across
blocks. Where no block has ``S_b > D_b``, or every block has ``S_b >= D_b``, the sum is `max(I, O)`
and the rule is the simple one. A block of 32 words in 8 lanes of 32 bits has ``D_b = 4`` and
``S_b = (1 + nonzeros) / 8``: it is slower as stream only when all its 32 words are non-zero.

Back-to-back packets overlap: ``L`` is paid once, and each packet's own sum is rounded up, because
a packet ends with a beat of its own.
"""

from collections.abc import Iterable

import numpy as np

from cdma.hdl.zvc.config import Config


def packet_beats(words: np.ndarray, config: Config) -> int:
    """Beats that bind a packet: ``ceil(sum(max(D_b, S_b)))``, and 1 for an empty packet.

    Parameters
    ----------
    words : np.ndarray, shape (n,)
        The packet's data, unsigned words of any width.
    config : Config
        Lanes and format.
    """
    block, lanes = config.format.block_words, config.lanes
    whole = np.zeros(-(-words.size // block) * block, bool)
    whole[: words.size] = words != 0
    stream_words = whole.reshape(-1, block).sum(axis=1) + config.format.mask_words
    data_words = np.full(stream_words.size, block)
    if words.size % block:
        data_words[-1] = -(-(words.size % block) // lanes) * lanes
    return max(1, -(-int(np.maximum(data_words, stream_words).sum()) // lanes))


def most_cycles(packets: Iterable[np.ndarray], config: Config, latency: int) -> int:
    """Most cycles that back-to-back packets (or one) may take.

    Parameters
    ----------
    packets : iterable of np.ndarray
        Data of each packet, as words; for the decompressor what its streams decode to.
    config : Config
        Lanes and format.
    latency : int
        ``L`` of the unit, in cycles.
    """
    return sum(packet_beats(words, config) for words in packets) + latency
