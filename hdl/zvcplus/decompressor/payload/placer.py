"""Where each beat's words are in the rows."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import PlacedBeat, SizedBeat, skip_bits, window_bits


class BeatPlacer(wiring.Component):
    """Follow the place of the payload from beat to beat, and over the controls between blocks.

    Throughput one beat a cycle; latency one cycle, ``o.valid`` and ``o.payload`` come from
    registers. ``i.ready`` follows ``o.ready`` and ``i_skip.valid`` combinationally.

    Parameters
    ----------
    config : Config
        Element type.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.zvcplus.decompressor.layouts.SizedBeat`
    i_skip : In stream of numbers, one for each block: bits in front of its words, of a control and
        of repeats
    start : In, a packet begins: its payload follows the bits of its first control
    start_bits : In, those
    o : Out stream of :class:`~cdma.hdl.zvcplus.decompressor.layouts.PlacedBeat`
    """

    i: stream.Interface
    i_skip: stream.Interface
    start: Signal
    start_bits: Signal
    o: stream.Interface

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "i": In(stream.Signature(SizedBeat(config))),
                "i_skip": In(stream.Signature(range(skip_bits(config) + 1))),
                "start": In(1),
                "start_bits": In(range(window_bits(config) + 1)),
                "o": Out(stream.Signature(PlacedBeat(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beat, placed = self.i.payload, self.o.payload
        bits = len(placed.place)
        loads = Signal()
        at = Signal(bits)  # behind the last beat
        is_ahead = Signal()  # that is in the next row
        skip = Signal.like(self.i_skip.payload)
        first, behind = Signal(bits + 1), Signal(bits + 2)
        m.d.comb += [
            loads.eq(
                self.i.valid & (~self.o.valid | self.o.ready) & (~beat.first | self.i_skip.valid)
            ),
            self.i.ready.eq((~self.o.valid | self.o.ready) & (~beat.first | self.i_skip.valid)),
            self.i_skip.ready.eq(loads & beat.first),
            skip.eq(Mux(beat.first, self.i_skip.payload, 0)),
            first.eq(at + skip),
            behind.eq(at + (skip + beat.length)),
        ]
        ahead = Signal(2)  # rows from that of the first bit to that behind the last
        m.d.comb += ahead.eq(behind[bits:] - first[bits])
        with m.If(self.start):
            m.d.sync += [at.eq(self.start_bits), is_ahead.eq(0)]
        with m.Elif(loads):
            m.d.sync += [at.eq(behind), is_ahead.eq(ahead)]
        with m.If(loads):
            passes = is_ahead + first[bits]
            touched = Mux(beat.length == 0, 0, Mux(ahead[0] & (behind[:bits] != 0), 2, 1))
            m.d.sync += [
                placed.passes.eq(passes),
                placed.rows.eq(passes + touched),
                placed.place.eq(first),
                placed.starts.eq(beat.starts),
                placed.tags.eq(beat.tags),
            ]
        m.d.sync += self.o.valid.eq(loads | (self.o.valid & ~self.o.ready))
        return m
