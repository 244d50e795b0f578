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
    """What is known of a block before its coding is chosen.

    Members
    -------
    masks : :class:`Masks`
    extent : :class:`Extent`
    is_wide : floats: some word has its sign set
    top, least : floats: largest and smallest exponent of the words that are not zero
    new_top, new_least : with repeats: those of the words that are not repeated
    repeated : with repeats: a bit per word that equals the word before it and is not zero
    nonzeros, repeats : with repeats: words that are not zero, and those of them that are repeated
    widths : int8: per group of 16 words, bits of its largest value less 1
    small_bits, large_bits : int8: bits of all words with groups of 16, and of 32
    small_raised, large_raised : int8: bits that are added to them in a wide block, whose widths
        are at least 1
    new_widths, new_small_bits, new_large_bits, new_small_raised, new_large_raised : int8 with
        repeats: the same of the words that are not repeated
    """

    def __init__(self, config: Config):
        word = config.word
        fields = {"masks": Masks(config), "extent": Extent(config)}
        if word.is_float:
            fields |= {"is_wide": 1, "top": word.exponent, "least": word.exponent}
            if config.has_repeats:
                fields |= {"new_top": word.exponent, "new_least": word.exponent}
        else:
            most, size = word.block_words, word.bits
            own = {
                "widths": data.ArrayLayout(range(size + 1), config.block_groups),
                **dict.fromkeys(("small_bits", "large_bits"), range(most * size + 1)),
                **dict.fromkeys(("small_raised", "large_raised"), range(most + 1)),
            }
            fields |= own
            if config.has_repeats:
                fields |= {f"new_{name}": shape for name, shape in own.items()}
        if config.has_repeats:
            count = range(word.block_words + 1)
            fields |= {"repeated": word.block_words, "nonzeros": count, "repeats": count}
        super().__init__(fields)


class Coding(data.StructLayout):
    """How the words of a block are coded.

    Members
    -------
    base : floats: largest exponent
    k : floats: bits of an offset, or ``SENT``; a raw block has ``SENT``
    is_wide : floats: words carry their sign; set in a raw block
    is_raw : int8: words are sent as they are
    """

    def __init__(self, config: Config):
        of_floats = {"base": config.word.exponent, "k": 3, "is_wide": 1}
        super().__init__(of_floats if config.word.is_float else {"is_raw": 1})


class Groups(data.StructLayout):
    """Widths of a block of int8.

    Members
    -------
    half : groups have 16 words
    is_wide : some width is 8
    widths : per group of 16 words, bits of a word that is sent; 8 in a raw block
    """

    def __init__(self, config: Config):
        widths = data.ArrayLayout(range(config.word.bits + 1), config.block_groups)
        super().__init__({"half": 1, "is_wide": 1, "widths": widths})


class BlockPlan(data.StructLayout):
    """How a block is coded.

    Members
    -------
    extent : :class:`Extent`
    coding : :class:`Coding`
    kind : ``ALL_ZERO`` to ``NOTHING``
    d : floats: field of the control
    groups : int8: :class:`Groups`
    mask : a bit per word that is not zero; a raw block sends the others too
    nibbles : the mask as coded, zero where the control has none
    flags : a bit per nibble that is sent
    repeated : with repeats: a bit per repeated word; none if the block does not use repeats
    has_repeats : the block uses repeats
    count : with repeats: repeated words less 1; int8: bits of the payload
    bits : length of the control
    """

    def __init__(self, config: Config):
        word = config.word
        super().__init__(
            {
                "extent": Extent(config),
                "coding": Coding(config),
                "kind": 3,
                **({"d": 3} if word.is_float else {"groups": Groups(config)}),
                "mask": word.block_words,
                "nibbles": word.block_words,
                "flags": word.flags,
                **(
                    {"repeated": word.block_words, "has_repeats": 1, "count": word.count_bits}
                    if config.has_repeats
                    else {}
                ),
                "bits": range(config.control_bits + 1),
            }
        )


class Payload(data.StructLayout):
    """The payload of a beat.

    Members
    -------
    behind : array of the places of the words, from the payload's first bit on
    total : bits of the payload
    mask : the words that are sent
    coding : :class:`Coding`
    words : words of the beat
    end : the block ends with the beat
    final : the block is its packet's last
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "behind": data.ArrayLayout(8, config.lanes),
                "total": range(config.beat_bits + 1),
                "mask": config.lanes,
                "coding": Coding(config),
                "words": range(config.lanes + 1),
                "end": 1,
                "final": 1,
            }
        )


class RepeatBits(data.StructLayout):
    """Bits in front of the payload of a block, one for each word that is not zero.

    Members
    -------
    bits : 1 for a repeated word; zeros behind the last
    count : their number; 0 in a block without repeats
    """

    def __init__(self, config: Config):
        words = config.word.block_words
        super().__init__({"bits": words, "count": range(words + 1)})


class Place(data.StructLayout):
    """Where an item lands: a control, the payload of a beat, or both.

    Rows count from the one that was being filled before the item.

    Members
    -------
    at : place of the control in its row
    control_row : row of the control's first bit
    start : place of the first bit of payload in its row
    start_row : row of that bit
    rows : rows that are full or ended behind the item
    is_open : the last of those may yet be the packet's last
    last : the packet ends with the item
    bytes : bytes of the packet's last row
    words : words of the item
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "at": 8,
                "control_row": 2,
                "start": 8,
                "start_row": 1,
                "rows": 2,
                "is_open": 1,
                "last": 1,
                "bytes": range(config.beat_bytes + 1),
                "words": range(config.lanes + 1),
            }
        )


class BitRow(data.StructLayout):
    """A row of the stream.

    Members
    -------
    bits : the row, zero behind its end
    last : the packet ends with the row
    bytes : bytes that are kept, meaningful when ``last``
    words : words of the packet, meaningful when ``last``
    """

    def __init__(self, config: Config, count_bits: int):
        super().__init__(
            {
                "bits": config.beat_bits,
                "last": 1,
                "bytes": range(config.beat_bytes + 1),
                "words": count_bits,
            }
        )
