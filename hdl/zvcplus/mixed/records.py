"""Commands of units of several types."""

from amaranth.hdl import Cat, Value, unsigned
from amaranth.lib import data

from cdma.hdl.zvc.beat import COUNT_BITS
from cdma.hdl.zvcplus.mixed.config import MixedConfig

TYPE_BITS = 8


class TypeCommand(data.StructLayout):
    """Command of the compressor for a packet.

    Members
    -------
    type : number of its type; one that the unit does not have counts as the first of its types
    """

    def __init__(self):
        super().__init__({"type": unsigned(TYPE_BITS)})


class TypedCommand(data.StructLayout):
    """Command of the decompressor for a packet.

    Members
    -------
    words : words of the output packet
    type : as of :class:`TypeCommand`
    """

    def __init__(self):
        super().__init__({"words": unsigned(COUNT_BITS), "type": unsigned(TYPE_BITS)})


def select_of(number: Value, config: MixedConfig) -> Value:
    """A bit per type of a unit, of which the one of ``number`` is set, or else the first."""
    others = [number == other for other in list(config.parts)[1:]]
    return Cat(~Cat(*others).any(), *others)
