"""Where each beat's words are in the ring."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

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
        bit = Signal(BIT_BITS)  # behind the last beat
        slot = Signal(self.depth)
        is_known = ~beat.first | self.i_front.valid
        m.d.comb += [
            self.o.valid.eq(self.i.valid & is_known),
            self.i.ready.eq(self.o.ready & is_known),
            self.i_front.ready.eq(self.i.valid & self.o.ready & beat.first),
            placed.bit.eq(Mux(beat.first, front.bit, bit)),
            placed.slot.eq(Mux(beat.first, front.slot, slot)),
            placed.is_empty.eq(beat.length == 0),
            placed.crosses.eq(front.crosses & beat.first.replicate(len(front.crosses))),
            placed.tags.eq(beat.tags),
        ]
        # Both sums are there before it is known which is used.
        for start, own in zip(placed.starts, beat.starts, strict=True):
            m.d.comb += start.eq(
                Mux(beat.first, (front.bit + own)[:BIT_BITS], (bit + own)[:BIT_BITS])
            )
        ends = [
            self._behind(m, front.bit, front.slot, beat.length, "new"),
            self._behind(m, bit, slot, beat.length, "next"),
        ]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += Cat(bit, slot).eq(Mux(beat.first, *ends))
        return m

    def _behind(self, m, bit, slot, length, name):
        """Place behind a beat of at most a row."""
        total = Signal(BIT_BITS + 1, name=name)
        m.d.comb += total.eq(bit + length[:BIT_BITS])
        return Cat(total[:-1], Mux(total[-1] | length[-1], slot.rotate_left(1), slot))
