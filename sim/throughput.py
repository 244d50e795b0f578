"""The throughput rule, cycle-exact.

**Cycles** of a run count from the cycle of its first input handshake to the cycle of its last
output handshake, both included, with a source and a sink that never stall.

The simple rule is: a packet of ``I`` input beats and ``O`` output beats takes ``max(I, O) + L``
cycles, where ``L`` is the documented latency of the unit. With finite buffers, no hardware can do
this for *every* packet. A block with only non-zero words takes more beats as stream (mask and all
words) than as data, and sparse blocks cannot compensate for this time. Later sparse blocks cannot,
because the data side was stalled and transfers at most one beat a cycle. Earlier sparse blocks
cannot, because the full buffers stalled the unit. So the slower side of each block is the limit:

    cycles <= ceil(sum over blocks b of max(D_b, S_b)) + L

``D_b`` is the number of data beats of the block, ``ceil(words / lanes)``. ``S_b`` is the number of
its bits in the stream (of a zero-value codec mask and non-zero words) divided by those of a beat,
an exact fraction because the stream is packed across blocks. If no block has ``S_b > D_b``, or
every block has ``S_b >= D_b``, the sum is ``max(I, O)``, as in the simple rule. A block of 32 words
in 8 lanes of 32 bits has ``D_b = 4`` and ``S_b = (1 + nonzeros) / 8``: its stream is longer only
when all its 32 words are non-zero.

Back-to-back packets overlap: ``L`` is added once. A unit may state cycles that it pauses between
packets: ``L`` again, where packets do not overlap. The sum of each packet is rounded up, because a
packet ends with a separate beat.
"""

from collections.abc import Sequence

import numpy as np

from cdma.golden.codecs import codec_of
from cdma.hdl.codecs import UnitConfig
from cdma.hdl.zvc.decompressor.fetch.base import reads_of


def packet_beats(words: np.ndarray, config: UnitConfig) -> int:
    """Limiting number of beats of a packet: ``ceil(sum(max(D_b, S_b)))``, 1 for an empty packet.

    Parameters
    ----------
    words : np.ndarray, shape (n,)
        The packet's data, unsigned words of any width.
    config : UnitConfig
        Lanes and format.
    """
    block, lanes = config.format.block_words, config.lanes
    stream_bits = codec_of(config.format).block_bits(words, config.format)
    data_beats = np.full(stream_bits.size, block // lanes)
    if words.size % block:
        data_beats[-1] = -(-(words.size % block) // lanes)
    most_bits = np.maximum(data_beats * config.beat_bits, stream_bits)
    return max(1, -(-int(most_bits.sum()) // config.beat_bits))


def dropped_beats(words: np.ndarray, config: UnitConfig) -> int:
    """Cycles that a decompressor takes behind a packet that ends itself: one for each beat that a
    partial last block does not have, and the reads of a mask for the end of the packet.

    They delay only the packet behind.

    Parameters
    ----------
    words, config
        As for :func:`packet_beats`.
    """
    if not config.format.ends_itself:
        return 0
    absent = -words.size % config.format.block_words // config.lanes
    return absent + reads_of(config)


def most_cycles(
    packets: Sequence[np.ndarray],
    configs: UnitConfig | Sequence[UnitConfig],
    latency: int,
    pause: int = 0,
) -> int:
    """Most cycles for one packet or several back-to-back packets.

    Parameters
    ----------
    packets : sequence of np.ndarray
        Uncompressed data of each packet, as words.
    configs : UnitConfig or sequence of UnitConfig
        Lanes and format, of all packets or of each.
    latency : int
        ``L`` of the unit, in cycles.
    pause : int
        Cycles that each packet but the last may add.
    """
    each = configs if isinstance(configs, Sequence) else [configs] * len(packets)
    beats = [packet_beats(words, config) for words, config in zip(packets, each, strict=True)]
    return sum(beats) + latency + pause * max(len(beats) - 1, 0)
