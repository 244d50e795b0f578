"""The place of a beat in the stream, counted in rows of the output."""

from amaranth.lib import data

from cdma.hdl.zvc.config import Config


def rows_reached(config: Config) -> int:
    """Rows further than the one that is being filled in which a beat's words may land."""
    return (2 * config.lanes + config.format.mask_words - 2) // config.lanes


def rows_of_ring(config: Config) -> int:
    """Rows of the assembler's ring: those that a beat may touch, and one that is complete, so that
    a row leaves in every cycle in which beats have to wait."""
    return rows_reached(config) + 2


class Place(data.StructLayout):
    """The place of a beat's words, relative to the row that is being filled.

    Members
    -------
    lane : bank of the first word, the mask's where there is one
    has_mask : the block's mask precedes the words
    rows : rows that the beat completes
    reaches : a bit per row but the first: some of the words are in that row
    fits : a bit per number of complete rows from 1 on: the beat fits behind so many
    last : the packet ends with the beat
    end : place behind the last word, counted from the row's start
    is_full : its last word is the last of a row
    """

    def __init__(self, config: Config):
        rows = rows_of_ring(config)
        super().__init__(
            {
                "lane": range(config.lanes),
                "has_mask": 1,
                "rows": range(rows + 1),
                "reaches": rows_reached(config),
                "fits": rows - 1,
                "last": 1,
                "end": range(2 * config.lanes + config.format.mask_words),
                "is_full": 1,
            }
        )
