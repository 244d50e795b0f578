"""What the components of the decompressor pass on about blocks, beats and packets."""

from amaranth.lib import data

from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.config import WIDTH_BITS, Config

#: Bits of a place in a row.
BIT_BITS = 8


def row_bits(depth: int) -> int:
    """Bits of a row's number with a ring of ``depth`` rows. A wrong stream reaches for rows that
    are not in the ring, at most as many."""
    return depth.bit_length() + 1


def place_bits(depth: int) -> int:
    """Bits of a place: a row's number, and a bit in it."""
    return row_bits(depth) + BIT_BITS


def window_bits(config: Config) -> int:
    """Bits of the longest control that a stream can have, right or wrong."""
    if config.parts:
        return max(window_bits(part) for part in config.parts.values())
    word = config.word
    code = 3 + 3 + word.exponent if word.is_float else 1 + WIDTH_BITS * config.block_groups
    repeats = 1 + word.count_bits if config.has_repeats else 0
    return 2 + 3 + repeats + code + word.flags + word.block_words


def reach(config: Config) -> int:
    """Bits from the place of a control on that are read: the control, and bits of repeats."""
    if config.parts:
        return max(reach(part) for part in config.parts.values())
    return window_bits(config) + (config.word.block_words if config.has_repeats else 0)


def most_crossed(config: Config) -> int:
    """Rows from a packet's first control to its first word, at most: two controls and bits of
    repeats are between them; at least 1."""
    return max(1, (window_bits(config) + reach(config)) >> BIT_BITS)


def most_passed(config: Config) -> int:
    """Rows from the first bit of a beat to that of the next, at most: a control and bits of repeats
    can be between them."""
    return (2 * config.beat_bits - 1 + reach(config)) >> BIT_BITS


class Header(data.StructLayout):
    """Fields of a control, up to its mask.

    Members
    -------
    coded : the block has a mask
    raw, reserved : it has none, because it is raw, or because its extension is reserved
    differences, dense : how the mask is coded; with neither it is as it is
    wide : words have a sign; of int8, the widths are greater by 1
    k : floats: bits of an exponent's offset, 7 for exponents as they are
    d : floats: difference of the bases, 7 for a base that follows
    base : floats: that base
    widths : int8: per group of 16 words, its width, or with ``wide`` 1 less
    flags : nibbles that are in the body
    body : nibbles of the mask, in order; with repeats, and what is behind them
    has_repeats : with repeats: the block uses them
    nibbles : with repeats: nibbles in the body, of a raw mask too
    length : bits of the control
    """

    def __init__(self, config: Config):
        word = config.word
        super().__init__(
            {
                "coded": 1,
                "raw": 1,
                "reserved": 1,
                "differences": 1,
                "dense": 1,
                "wide": 1,
                **(
                    {"k": 3, "d": 3, "base": word.exponent}
                    if word.is_float
                    else {"widths": data.ArrayLayout(WIDTH_BITS, config.block_groups)}
                ),
                "flags": word.flags,
                "body": word.block_words + (word.count_bits if config.has_repeats else 0),
                **(
                    {"has_repeats": 1, "nibbles": range(word.flags + 1)}
                    if config.has_repeats
                    else {}
                ),
                "length": range(window_bits(config) + 1),
            }
        )


class WordCode(data.StructLayout):
    """How the new words of a block are coded.

    Members
    -------
    raw : as they are: of floats, the same as with a sign and with exponents as they are
    wide : floats: with a sign
    k : floats: bits of an exponent's offset, 7 for exponents as they are
    base : floats: exponent that offsets are subtracted from, 0 if exponents are as they are
    """

    def __init__(self, config: Config):
        of_floats = {"wide": 1, "k": 3, "base": config.word.exponent}
        super().__init__({"raw": 1, **(of_floats if config.word.is_float else {})})


class Block(data.StructLayout):
    """A block, as its control describes it.

    Members
    -------
    mask : a bit per word, all of a raw block's
    widths : per group of words, bits of a word that is not omitted
    code : :class:`WordCode`
    has_repeats : with repeats: a bit per word of the mask says whether it is repeated
    last : the packet ends with the block
    words : words of the packet in the block; counts only when ``last``
    parity : of the packet
    failed : with repeats: an error was found in front of the block
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "mask": config.word.block_words,
                "widths": data.ArrayLayout(range(config.word.bits + 1), config.block_groups),
                "code": WordCode(config),
                **({"has_repeats": 1} if config.has_repeats else {}),
                "last": 1,
                "words": range(config.word.block_words + 1),
                "parity": 1,
                **({"failed": 1} if config.has_repeats else {}),
            }
        )


class BeatTags(data.StructLayout):
    """What stays with a beat up to the output.

    Members
    -------
    mask : a bit per lane, 1 for words that are not omitted
    code : :class:`WordCode`
    widths : int8: per group, bits of its words
    repeated : with repeats: a bit per lane, 1 for words that equal the word before
    words : words that belong to the packet
    given : the beat goes to the output
    last : the output packet ends with it
    final : the packet's last payload bits are in it or before it; at the last beat or behind it
    parity : of the packet
    failed : with repeats: an error was found in front of the beat's block
    """

    def __init__(self, config: Config):
        widths = data.ArrayLayout(range(config.word.bits + 1), config.beat_groups)
        super().__init__(
            {
                "mask": config.lanes,
                "code": WordCode(config),
                **({} if config.word.is_float else {"widths": widths}),
                **({"repeated": config.lanes} if config.has_repeats else {}),
                "words": range(config.lanes + 1),
                "given": 1,
                "last": 1,
                "final": 1,
                "parity": 1,
                **({"failed": 1} if config.has_repeats else {}),
            }
        )


def tags_of(config: Config) -> data.StructLayout:
    """Tags of a beat; what several types share has its own."""
    return config.beat_tags if config.parts else BeatTags(config)


class StreamEnd(data.StructLayout):
    """Where the stream of a packet ends.

    Members
    -------
    row, byte : place of its end; that of a full row is the start of the next row
    start : number of the next packet's first row
    rest : its last byte
    dropped : rows behind its payload were dropped
    """

    def __init__(self, config: Config, depth: int):
        super().__init__(
            {
                "row": row_bits(depth),
                "byte": range(config.beat_bytes),
                "start": row_bits(depth),
                "rest": 8,
                "dropped": 1,
            }
        )


class PayloadPlace(data.StructLayout):
    """Where the words of a payload begin.

    Members
    -------
    slot : a bit per slot of the ring: of the row, or with ``wraps`` of the one in front
    wraps : the row is the next behind that slot's
    bit : bit of the row
    crosses : rows from that of the control in front to it
    """

    def __init__(self, config: Config, depth: int):
        crosses = range(most_crossed(config) + 1)
        super().__init__({"slot": depth, "wraps": 1, "bit": BIT_BITS, "crosses": crosses})


class SizedBeat(data.StructLayout):
    """A beat and where its words are in its part of the payload.

    Members
    -------
    starts : per lane, bits of the beat's payload in front of its word, modulo a row
    length : bits of the beat's payload
    first, begins : the beat begins a block; three copies that synthesis does not merge
    tags : :class:`BeatTags`
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "starts": data.ArrayLayout(BIT_BITS, config.lanes),
                "length": BIT_BITS + 1,
                "first": 1,
                "begins": 2,
                "tags": tags_of(config),
            }
        )


class PlacedBeat(data.StructLayout):
    """A beat and where its words are in the rows.

    Members
    -------
    slot : a bit per slot of the ring: of the row with the beat's first bit
    is_odd : the number of that slot is odd
    bit : place of that bit in the row
    starts : per lane, place of its word
    is_empty : the beat has no payload
    crosses : of a block's first beat: rows from that of the control in front to its own
    tags : :class:`BeatTags`
    """

    def __init__(self, config: Config, depth: int):
        super().__init__(
            {
                "slot": depth,
                "is_odd": 1,
                "bit": BIT_BITS,
                "starts": data.ArrayLayout(BIT_BITS, config.lanes),
                "is_empty": 1,
                "crosses": range(most_crossed(config) + 1),
                "tags": tags_of(config),
            }
        )


class PacketEnd(data.StructLayout):
    """What the controls tell of a packet.

    Members
    -------
    error : ``cdma.zvcplus.ErrorCode``
    bytes : length of what was decoded without error
    """

    def __init__(self):
        super().__init__({"error": 4, "bytes": COUNT_BITS})
