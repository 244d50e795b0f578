"""A mask's words, in the order of the banks that take them."""

from amaranth.hdl import Cat, Const, Module, Value

from cdma.hdl.lib.shifter import rotate_up
from cdma.hdl.zvc.config import Config

#: A mask of more words is rotated in two parts on an FPGA, before and behind its register: four
#: levels of multiplexers in front of a row would be the longest path, and the mapping to LUTs then
#: merges them into each bank, which doubles the unit.
MOST_AT_ONCE = 4


def turn_bits(config: Config) -> range:
    """Bits of a lane by which the words of a mask are rotated."""
    return range(min((config.format.mask_words - 1).bit_length(), config.lanes.bit_length() - 1))


def bits_ahead(config: Config) -> int:
    """How many of them, the lowest, are for the cycle before the mask is written."""
    is_long = config.format.mask_words > MOST_AT_ONCE
    return len(turn_bits(config)) // 2 if is_long and not config.is_asic else 0


def width_turned(config: Config) -> int:
    """Bits of a mask that is rotated in part: up to a power of two of words."""
    fmt = config.format
    words = 1 << (fmt.mask_words - 1).bit_length() if bits_ahead(config) else fmt.mask_words
    return words * fmt.word_bits


def words_of(config: Config, mask: Value) -> list[Value]:
    """Words of a mask, up to a power of two."""
    fmt = config.format
    words = [mask.word_select(i, fmt.word_bits) for i in range(len(mask) // fmt.word_bits)]
    return words + [Const(0, fmt.word_bits)] * (
        (1 << (fmt.mask_words - 1).bit_length()) - len(words)
    )


def turned_ahead(m: Module, config: Config, mask: Value, lane: Value) -> Value:
    """The mask, rotated by the lowest :func:`bits_ahead` bits of the lane in which it begins."""
    ahead = bits_ahead(config)
    if not ahead:
        return mask
    return Cat(rotate_up(m, words_of(config, mask), lane[:ahead], "ahead"))


def turned(m: Module, config: Config, mask: Value, lane: Value) -> list[Value]:
    """Words of a mask that is :func:`turned_ahead`, so that word ``i`` is for the banks ``i``
    modulo their number.

    A mask takes consecutive banks, so each bank has only one word to take: a short rotation
    replaces a multiplexer of all words for each bank.
    """
    if config.format.mask_words == 1:
        return [mask]
    ahead = bits_ahead(config)
    amount = [Const(0, 1) if bit < ahead else lane[bit] for bit in turn_bits(config)]
    return rotate_up(m, words_of(config, mask), amount, "rotated")
