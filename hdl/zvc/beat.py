"""Payloads of the streams: beats, commands and statuses."""

from amaranth.hdl import Cat, Const, Value, unsigned
from amaranth.lib import data

from cdma.hdl.zvc.config import Config

COUNT_BITS = 32  # of words and bytes in commands and statuses; counts are modulo 2**32


class Beat(data.StructLayout):
    """One beat of a packet, as AXI4-Stream has it.

    Members
    -------
    words : array of ``lanes`` words, word 0 first in the packet
    keep : one bit per byte, contiguous from byte 0; ignored before a packet's last beat
    last : the packet ends with this beat
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "words": data.ArrayLayout(config.format.word_bits, config.lanes),
                "keep": unsigned(config.beat_bytes),
                "last": unsigned(1),
            }
        )


class Row(data.StructLayout):
    """One beat before the output: like :class:`Beat`, but kept by whole words.

    Members
    -------
    words : array of ``lanes`` words
    keep : one bit per word, contiguous from word 0; all are set before the packet's last beat
    last : the packet ends with this beat
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "words": data.ArrayLayout(config.format.word_bits, config.lanes),
                "keep": unsigned(config.lanes),
                "last": unsigned(1),
            }
        )


class CompressorStatus(data.StructLayout):
    """Status of the compressor for a packet.

    Members
    -------
    words : words of the input packet
    bytes : bytes of the stream
    """

    def __init__(self):
        super().__init__({"words": unsigned(COUNT_BITS), "bytes": unsigned(COUNT_BITS)})


class DecompressorCommand(data.StructLayout):
    """Command of the decompressor for a packet.

    Members
    -------
    words : words of the output packet
    """

    def __init__(self):
        super().__init__({"words": unsigned(COUNT_BITS)})


class DecompressorStatus(data.StructLayout):
    """Status of the decompressor for a packet.

    Members
    -------
    bytes : length of what was decoded without error
    error : 0, or one of ``config.error_codes`` of the decompressor's configuration
    """

    def __init__(self):
        super().__init__({"bytes": unsigned(COUNT_BITS), "error": unsigned(8)})


class CountedStatus(data.StructLayout):
    """Status of a decompressor that counts the words of a packet: a tail of ones.

    Members
    -------
    bytes : length of what was decoded without error
    words : words of the output packet
    error : ``cdma.format.ErrorCode``, 0 or 1
    """

    def __init__(self):
        super().__init__(
            {"bytes": unsigned(COUNT_BITS), "words": unsigned(COUNT_BITS), "error": unsigned(8)}
        )


def thermometer(count: Value, width: int) -> Value:
    """``width`` bits of which the lowest ``count`` are set."""
    top = (1 << len(count)) - 1  # no count is above it
    return Cat(count > index if index < top else Const(0, 1) for index in range(width))


def kept_words(words, keep: Value) -> Value:
    """``words``, an array, with zeros in the lanes whose bit of ``keep`` is not set."""
    return Cat(word & bit.replicate(len(word)) for word, bit in zip(words, keep, strict=True))


def count_thermometer(bits: Value) -> Value:
    """How many bits are set in ``bits``, which are contiguous from bit 0."""
    width = len(bits)
    count_bits = width.bit_length()
    # The boundary between ones and zeros is one-hot: an OR of its place, no adders.
    edges = [bits[i] & ~bits[i + 1] if i + 1 < width else bits[i] for i in range(width)]
    return Cat(
        Cat(edge for i, edge in enumerate(edges) if (i + 1) >> bit & 1).any()
        for bit in range(count_bits)
    )
