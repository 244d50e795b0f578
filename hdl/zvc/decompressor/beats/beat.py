"""The beats of a block, before and after their words are counted."""

from amaranth.lib import data

from cdma.hdl.zvc.config import Config


class BeatTags(data.StructLayout):
    """Description of an output beat without its words.

    Members
    -------
    words : words that leave with it, meaningful when ``last``
    first : a mask precedes its words
    final : its block ends with it
    last : the packet ends with it; with a tail of ones, it is the empty beat behind the packet
    truncated : the stream ended before the mask's end
    past_end : the mask has bits past the end of the data
    rest : with a tail of ones, in place of words, truncated and past_end: all bits of the mask
        behind the beat's are one
    """

    def __init__(self, config: Config):
        if config.format.ends_itself:
            super().__init__({"first": 1, "final": 1, "last": 1, "rest": 1})
            return
        super().__init__(
            {
                "words": config.lanes.bit_length(),
                "first": 1,
                "final": 1,
                "last": 1,
                "truncated": 1,
                "past_end": 1,
            }
        )


class MaskedBeat(data.StructLayout):
    """A beat and its part of the mask.

    Members
    -------
    mask : its non-zero words
    tags : :class:`BeatTags`
    """

    def __init__(self, config: Config):
        super().__init__({"mask": config.lanes, "tags": BeatTags(config)})


class CountedBeat(data.StructLayout):
    """A beat whose words are to be read, and their number.

    Members
    -------
    mask : its non-zero words
    ranks : number of them below each lane
    total : number of them
    is_empty : there are none
    tags : :class:`BeatTags`
    """

    def __init__(self, config: Config):
        lanes = config.lanes
        super().__init__(
            {
                "mask": lanes,
                "ranks": data.ArrayLayout((lanes - 1).bit_length(), lanes),
                "total": lanes.bit_length(),
                "is_empty": 1,
                "tags": BeatTags(config),
            }
        )
