"""Reading the payload of each beat from the rows."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.signals import select
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.layouts import MOST_PASSED, BeatTags, PlacedBeat


class PayloadReader(wiring.Component):
    """Read a row's worth of bits for each beat, as soon as its rows have come.

    In one cycle a beat is issued and the rows move up; in the next its bits are in the first two
    rows. A bit keeps its place in a row: a beat's bits begin at ``place`` and go around.

    Throughput one beat a cycle; latency one cycle from a beat to its bits. ``bits`` is
    combinational from ``row0`` and ``row1``, all others of a beat come from registers.

    Parameters
    ----------
    config : Config
        Element type.
    depth : int
        Rows of the queue.

    Members
    -------
    i : In stream of :class:`~cdma.hdl.zvcplus.decompressor.layouts.PlacedBeat`
    enable : In, a beat can be issued, and its bits are taken in the next cycle with ``enable``
    valid, ended : In, see :class:`~cdma.hdl.zvcplus.decompressor.rows.RowQueue`
    row0, row1 : In, the first two rows
    issued : Out, a beat is issued
    passes : Out, rows that are passed with it
    o_valid : Out, a beat was issued in the last cycle with ``enable``
    bits : Out, its bits
    starts : Out, per lane, place of its word in them
    tags : Out, :class:`~cdma.hdl.zvcplus.decompressor.layouts.BeatTags`
    """

    i: stream.Interface
    enable: Signal
    valid: Signal
    ended: Signal
    row0: Signal
    row1: Signal
    issued: Signal
    passes: Signal
    o_valid: Signal
    bits: Signal
    starts: data.View
    tags: data.View

    def __init__(self, config: Config, depth: int):
        self.config = config
        self.depth = depth
        place_bits = (config.beat_bits - 1).bit_length()
        super().__init__(
            {
                "i": In(stream.Signature(PlacedBeat(config))),
                "enable": In(1),
                "valid": In(depth),
                "ended": In(1),
                "row0": In(config.beat_bits),
                "row1": In(config.beat_bits),
                "issued": Out(1),
                "passes": Out(range(MOST_PASSED + 1)),
                "o_valid": Out(1),
                "bits": Out(config.beat_bits),
                "starts": Out(data.ArrayLayout(place_bits, config.lanes)),
                "tags": Out(BeatTags(config)),
            }
        )

    def elaborate(self, platform):
        m = Module()
        beat, size = self.i.payload, self.config.beat_bits
        place = Signal.like(beat.place)
        are_there = select(
            m, beat.rows, [Const(1, 1), *(self.valid[k] for k in range(MOST_PASSED + 2))]
        )
        m.d.comb += [
            self.i.ready.eq(self.enable & (self.ended | are_there)),
            self.issued.eq(self.i.valid & self.i.ready),
            self.passes.eq(Mux(self.issued, beat.passes, 0)),
            # Bits below the place are of the next row.
            self.bits.eq(Cat(Mux(place > k, self.row1[k], self.row0[k]) for k in range(size))),
        ]
        with m.If(self.enable):
            m.d.sync += [
                self.o_valid.eq(self.issued),
                place.eq(beat.place),
                self.tags.eq(beat.tags),
            ]
            for lane, start in enumerate(beat.starts):
                m.d.sync += self.starts[lane].eq(beat.place + start)
        return m
