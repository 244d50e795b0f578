"""Where each beat's words are in the ring."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import carry_of
from cdma.hdl.lib.signals import kept_apart
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import BIT_BITS, PayloadPlace, PlacedBeat, SizedBeat


class BeatPlacer(wiring.Component):
    """Follow the place of the payload from beat to beat; each block gives the place of its first.

    Throughput one beat a cycle, latency none: ``o`` follows ``i``, behind an adder from registers.
    ``i.ready`` follows ``o.ready`` and ``i_front.valid``.

    Parameters
    ----------
    config : Config
        Element type.
    depth : int
        Slots of the ring.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.zvcplus.decompressor.layouts.SizedBeat`
    i_front : In stream of :class:`~cdma.hdl.zvcplus.decompressor.layouts.PayloadPlace`, one for
        each block
    o : Out stream of :class:`~cdma.hdl.zvcplus.decompressor.layouts.PlacedBeat`
    """

    i: stream.Interface
    i_front: stream.Interface
    o: stream.Interface

    def __init__(self, config: Config, depth: int):
        self.config = config
        self.depth = depth
        super().__init__(
            {
                "i": In(stream.Signature(SizedBeat(config))),
                "i_front": In(stream.Signature(PayloadPlace(config, depth))),
                "o": Out(stream.Signature(PlacedBeat(config, depth))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beat, placed, front = self.i.payload, self.o.payload, self.i_front.payload
        bit = Signal(BIT_BITS, reset_less=True)  # behind the last beat
        slot = Signal(self.depth, reset_less=True)
        # The row of a block's first beat.
        row = Mux(front.wraps, front.slot.rotate_left(1), front.slot)
        odd = [kept_apart(name) for name in ("is_odd", "is_front_odd")]  # before one is chosen
        is_known = ~beat.first | self.i_front.valid
        m.d.comb += [
            self.o.valid.eq(self.i.valid & is_known),
            self.i.ready.eq(self.o.ready & is_known),
            self.i_front.ready.eq(self.i.valid & self.o.ready & beat.first),
            placed.bit.eq(Mux(beat.begins[0], front.bit, bit)),
            placed.slot.eq(Mux(beat.begins[1], row, slot)),
            *(
                is_odd.eq(each)
                for is_odd, each in zip(
                    odd, (slot[1::2].any(), front.slot[1::2].any() ^ front.wraps), strict=True
                )
            ),
            placed.is_odd.eq(Mux(beat.begins[1], odd[1], odd[0])),
            placed.is_empty.eq(beat.length == 0),
            placed.crosses.eq(front.crosses & beat.first.replicate(len(front.crosses))),
            placed.tags.eq(beat.tags),
        ]
        for start, own in zip(placed.starts, beat.starts, strict=True):
            m.d.comb += start.eq(placed.bit + own)
        ends = [
            self._behind(front.bit, row, beat.length),
            self._behind(bit, slot, beat.length),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += Cat(bit, slot).eq(Mux(beat.first, *ends))
        return m

    def _behind(self, bit, slot, length):
        """Place behind a beat of at most a row."""
        crosses = carry_of(bit, length[:BIT_BITS]) | length[-1]
        return Cat((bit + length)[:BIT_BITS], Mux(crosses, slot.rotate_left(1), slot))
