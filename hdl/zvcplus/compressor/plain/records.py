"""Records that pass between the components of the coder of floats without repeats."""

from amaranth.lib import data

from cdma.hdl.zvcplus.compressor.records import Coding, Extent
from cdma.hdl.zvcplus.config import Config

#: Bits of a part of a row, in which a control begins.
WINDOW_WORD = 32


class Masks(data.StructLayout):
    """Mask of a block, and what the choice of its coding depends on.

    Members
    -------
    mask : a bit per word that is not zero
    is_zero : there is none
    is_differences : the differences of the mask do not have more nibbles that are not zero than
        the mask itself
    nibbles : number of these nibbles, of the differences or else of the mask
    zeros : for each number from 1 on, at least so many words are zero
    """

    def __init__(self, config: Config):
        word = config.word
        super().__init__(
            {
                "mask": word.block_words,
                "is_zero": 1,
                "is_differences": 1,
                "nibbles": range(word.flags + 1),
                "zeros": config.most_zeros + 1,
            }
        )


class BlockStats(data.StructLayout):
    """What is known of a block before its coding is chosen.

    Members
    -------
    masks : :class:`Masks`
    extent : :class:`~cdma.hdl.zvcplus.compressor.records.Extent`
    is_wide : some word has its sign set
    top, least : largest and smallest exponent of the words that are not zero
    """

    def __init__(self, config: Config):
        exponent = config.word.exponent
        super().__init__(
            {
                "masks": Masks(config),
                "extent": Extent(config),
                "is_wide": 1,
                "top": exponent,
                "least": exponent,
            }
        )


class FieldCoding(data.StructLayout):
    """How words become fields.

    Members
    -------
    changes : a bit per word that is not zero, unless exponents are sent as they are
    base : largest exponent; 0 if exponents are sent as they are
    sent : the bits of an offset that are sent
    is_wide : the sign is sent
    """

    def __init__(self, config: Config):
        exponent = config.word.exponent
        super().__init__(
            {"changes": config.lanes, "base": exponent, "sent": exponent, "is_wide": 1}
        )


class BlockPlan(data.StructLayout):
    """The control of a block.

    Members
    -------
    kind : ``ALL_ZERO`` to ``NOTHING``
    coding : :class:`~cdma.hdl.zvcplus.compressor.records.Coding`
    d : field of the control
    nibbles : the mask as coded, zero where the control has none
    flags : a bit per nibble that is sent
    bits : length of the control
    last : the block is its packet's last
    """

    def __init__(self, config: Config):
        word = config.word
        super().__init__(
            {
                "kind": 3,
                "coding": Coding(config),
                "d": 3,
                "nibbles": word.block_words,
                "flags": word.flags,
                "bits": range(config.control_bits + 1),
                "last": 1,
            }
        )


class BlockCoding(data.StructLayout):
    """How the payload of a block is coded.

    Members
    -------
    coding : :class:`~cdma.hdl.zvcplus.compressor.records.Coding`
    is_raw : the block is sent as it is
    words : words of its last beat
    last : the block is its packet's last
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "coding": Coding(config),
                "is_raw": 1,
                "words": range(config.lanes + 1),
                "last": 1,
            }
        )


class LineBeat(data.StructLayout):
    """A beat that waits.

    Members
    -------
    words : array of its words; those that the packet does not have are anything
    mask : a bit per word that is not zero
    end : the block ends with the beat
    """

    def __init__(self, config: Config):
        words = data.ArrayLayout(config.word.bits, config.lanes)
        super().__init__({"words": words, "mask": config.lanes, "end": 1})


class Payload(data.StructLayout):
    """The payload of a beat.

    Members
    -------
    behind : array of the places of the words, from the payload's first bit on
    total : bits of the payload
    words : words of the beat, meaningful when ``final`` and ``end``
    end : the block ends with the beat
    final : the block is its packet's last
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "behind": data.ArrayLayout(8, config.lanes),
                "total": range(config.beat_bits + 1),
                "words": range(config.lanes + 1),
                "end": 1,
                "final": 1,
            }
        )


class Window(data.StructLayout):
    """Bits of a control at their place in a part of a row, and that part.

    Parameters
    ----------
    size : int
        Bits from the start of the part on.
    parts : int
        Parts in which the first bit can be, from the row's first on; beyond the row, of the row
        behind.

    Members
    -------
    bits : the bits at their places, zero elsewhere
    at : one-hot, the part in which they begin; zero without any
    """

    def __init__(self, size: int, parts: int):
        super().__init__({"bits": size, "at": parts})


def heading_window(config: Config) -> tuple[int, int]:
    """Size and parts of the window of what a control has in front of its mask."""
    return config.heading_bits + WINDOW_WORD - 1, config.beat_bits // WINDOW_WORD


def body_window(config: Config) -> tuple[int, int]:
    """Size and parts of the window of a control's mask, or its nibbles, and what is behind."""
    last = config.beat_bits - 1 + config.heading_bits
    return config.body_bits + WINDOW_WORD - 1, last // WINDOW_WORD + 1


class Landing(data.StructLayout):
    """Where an item lands: a control, the payload of a beat, or both.

    Rows count from the one that was being filled before the item. Place ``16 * h + l`` is at or
    behind the first bit of payload if ``below[h]``, or if ``here[h]`` and ``from_low[l]``.

    Members
    -------
    below : a bit per 16 places, all behind the first bit of payload
    here : a bit per 16 places, with that bit among them
    from_low : a bit per place of 16, at or behind that bit's
    start_row : row of that bit
    control_row : row of the control's first bit, unless ``is_after``
    is_after : the control begins the row behind all that are left behind
    rows : rows that are left behind
    reach : the last row with a bit of the item
    last : the packet ends with the item
    bytes : bytes of the packet's last row
    words : words of the item
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "below": 16,
                "here": 16,
                "from_low": 16,
                "start_row": 1,
                "control_row": 1,
                "is_after": 1,
                "rows": 2,
                "reach": 2,
                "last": 1,
                "bytes": range(config.beat_bytes + 1),
                "words": range(config.lanes + 1),
            }
        )
