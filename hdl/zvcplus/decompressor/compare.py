"""A place in the stream, compared with the end of its packet."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import registered
from cdma.hdl.zvc.beat import thermometer
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import BIT_BITS, StreamEnd, place_bits, row_bits


class PlaceCompare(wiring.Component):
    """Compare a place with the end of a stream, and round it up to whole bytes.

    Throughput one place a cycle. ``row`` and ``byte`` come a cycle after the place, ``is_over`` and
    ``is_left`` a cycle later; all come from registers.

    Parameters
    ----------
    config : Config
        Size of a row.
    depth : int
        Slots of the ring.

    Members
    -------
    place : In, row and bit
    end : In, a cycle after the place: :class:`~cdma.hdl.zvcplus.decompressor.layouts.StreamEnd`
    ended : In, with ``end``: it has come
    row, byte : Out, the place in whole bytes
    is_over : Out, the stream has ended before the place
    is_left : Out, with ``ended``, if the stream has not ended before: whole bytes of it are behind
        the place, or bits that are not zero
    """

    place: Signal
    end: data.View
    ended: Signal
    row: Signal
    byte: Signal
    is_over: Signal
    is_left: Signal

    def __init__(self, config: Config, depth: int):
        self.config = config
        self.depth = depth
        super().__init__(
            {
                "place": In(place_bits(depth)),
                "end": In(StreamEnd(config, depth)),
                "ended": In(1),
                "row": Out(row_bits(depth)),
                "byte": Out(range(config.beat_bytes)),
                "is_over": Out(1),
                "is_left": Out(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        bit, byte_bits = self.place[:BIT_BITS], len(self.byte)
        rounded = Signal(byte_bits + 1)
        m.d.comb += rounded.eq((bit + 7) >> 3)
        row = registered(m, self.place[BIT_BITS:], "was_row")
        carry = registered(m, rounded[-1], "carry")
        used = registered(m, bit[:3], "used")  # bits of the last byte, 0 for all
        m.d.sync += self.byte.eq(rounded)
        m.d.comb += self.row.eq(row + carry)

        rows = Signal(row_bits(self.depth))  # whole rows that are left
        is_equal, is_less = Signal(), Signal()
        filling = self.end.rest & ~thermometer(used, 8)
        m.d.comb += [
            rows.eq(self.end.row - row - carry),
            is_equal.eq(self.end.byte == self.byte),
            is_less.eq(self.end.byte < self.byte),
        ]
        is_same = rows == 0
        m.d.sync += [
            self.is_over.eq(self.ended & ~self.end.dropped & (rows[-1] | (is_same & is_less))),
            self.is_left.eq(
                self.end.dropped | ~(is_same & is_equal) | ((used != 0) & filling.any())
            ),
        ]
        return m
