"""Size of what several element types share: a lane is a byte, of a word of any type."""

from cdma.hdl.zvcplus.config import ByteBeats
from cdma.zvcplus import BEAT_BYTES, TYPES, Format, WordType

#: Bits of a lane.
LANE_BITS = 8


class ByteSide(ByteBeats):
    """Beats of bytes, of blocks of four beats."""

    @property
    def word(self) -> WordType:
        """Type of that size: of bytes."""
        return TYPES["int8"]

    @property
    def format(self) -> Format:
        """Format whose words are bytes."""
        return Format(self.word.name)

    @property
    def lanes(self) -> int:
        """Lanes of a beat."""
        return BEAT_BYTES
