"""Records that pass between the components of the compressor."""

from amaranth.lib import data

from cdma.hdl.zvcplus.config import Config

#: How a block is coded; ``NOTHING`` is a block without a word, which has no control.
ALL_ZERO, DIFFERENCES, AS_IS, RAW_MASK, DENSE, RAW, NOTHING = range(7)
#: ``d`` where the base is sent, and ``k`` where exponents are sent as they are.
SENT = 7


class Masks(data.StructLayout):
    """Mask of a block and the nibbles that are not zero in its two codings.

    Members
    -------
    mask : a bit per word that is not zero
    as_is : a bit per nibble of the mask
    differences : a bit per nibble of the mask's differences
    """

    def __init__(self, config: Config):
        word = config.word
        super().__init__({"mask": word.block_words, "as_is": word.flags, "differences": word.flags})


class Extent(data.StructLayout):
    """Where a block ends.

    Members
    -------
    beats : its beats, less 1
    words : words of its last beat
    last : the packet ends with the block
    is_empty : the block has no word
    """

    def __init__(self, config: Config):
        super().__init__({"beats": 2, "words": range(config.lanes + 1), "last": 1, "is_empty": 1})


class BlockStats(data.StructLayout):
    """What is known of a block of floats before its coding is chosen.

    Members
    -------
    masks : :class:`Masks`
    extent : :class:`Extent`
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


class BlockPlan(data.StructLayout):
    """How a block is coded.

    Members
    -------
    mask : a bit per word that is not zero
    extent : :class:`Extent`
    kind : ``ALL_ZERO`` to ``NOTHING``
    is_wide : words carry their sign
    d, k, base : fields of the control
    bits : length of the control
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "mask": config.word.block_words,
                "extent": Extent(config),
                "kind": 3,
                "is_wide": 1,
                "d": 3,
                "k": 3,
                "base": config.word.exponent,
                "bits": range(config.control_bits + 1),
            }
        )


class Item(data.StructLayout):
    """What is appended to the stream in one cycle: a control, the payload of a beat, or both.

    Members
    -------
    control : :class:`BlockPlan` of the control
    has_control : there is a control
    is_after : the control begins the next packet, behind the payload
    block : :class:`BlockPlan` of the payload's block
    mask : the words that are sent
    has_payload : there is a beat
    words : words of the beat
    last : the packet ends with the beat
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "control": BlockPlan(config),
                "has_control": 1,
                "is_after": 1,
                "block": BlockPlan(config),
                "mask": config.lanes,
                "has_payload": 1,
                "words": range(config.lanes + 1),
                "last": 1,
            }
        )
