"""What the fronts of the types pass on to the rows that they share."""

from dataclasses import dataclass

from amaranth.lib import data

from cdma.hdl.zvcplus.mixed.config import MixedConfig
from cdma.hdl.zvcplus.mixed.lanes import ByteSide


@dataclass(frozen=True)
class ByteLanes(ByteSide):
    """Size of what several types share: a lane is a byte, of a word of any type.

    Parameters
    ----------
    front_bits : int
        Bits beside the words of a beat, at most.
    has_late_controls : bool
        A control can go behind the words of a beat.
    """

    front_bits: int
    has_late_controls: bool

    @classmethod
    def of(cls, config: MixedConfig) -> "ByteLanes":
        """The size for all types of a unit."""
        parts = config.parts.values()
        return cls(
            max(part.front_bits for part in parts), any(part.has_late_controls for part in parts)
        )


class Item(data.StructLayout):
    """A control, the payload of a beat, or both; all zero is none.

    Members
    -------
    valid : there is an item
    control_bits : length of the control and of the bits of repeats, 0 without
    is_after : the control begins the next packet
    is_behind : with late controls: the control is behind the payload
    total : bits of the payload, 0 without one
    behind : array of the places of the lanes, from the payload's first bit on; a word's bytes
        follow each other, also where it has fewer bits
    words : words of the item
    last : the packet ends with the item
    """

    def __init__(self, size: ByteLanes):
        super().__init__(
            {
                "valid": 1,
                "control_bits": range(size.front_bits + 1),
                "is_after": 1,
                **({"is_behind": 1} if size.has_late_controls else {}),
                "total": range(size.beat_bits + 1),
                "behind": data.ArrayLayout(8, size.lanes),
                "words": range(size.lanes + 1),
                "last": 1,
            }
        )
