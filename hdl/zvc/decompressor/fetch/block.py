"""A block as the mask fetcher hands it on."""

from amaranth.lib import data

from cdma.hdl.zvc.config import Config


class Block(data.StructLayout):
    """A block as the mask fetcher hands it on.

    Members
    -------
    mask : its mask, bits past the end of the data included
    beats : output beats less one
    single : the block is one beat
    words : words of the last of these beats
    last : the packet ends with it
    void : there is no block: the packet is empty
    truncated : the stream ends before the mask's end
    """

    def __init__(self, config: Config):
        super().__init__(
            {
                "mask": config.format.block_words,
                "beats": range(config.block_beats),
                "single": 1,
                "words": config.lanes.bit_length(),
                "last": 1,
                "void": 1,
                "truncated": 1,
            }
        )
