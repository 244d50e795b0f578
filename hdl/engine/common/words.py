"""Groups of words."""

from amaranth.lib import data


class Words(data.StructLayout):
    """``words``, of which ``count`` from the first on count."""

    def __init__(self, word_bits: int, size: int):
        super().__init__({"words": data.ArrayLayout(word_bits, size), "count": size.bit_length()})
