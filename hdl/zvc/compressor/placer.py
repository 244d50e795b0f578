"""The place of each beat in the stream."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.prefix import PrefixSum, add
from cdma.hdl.lib.signals import registered
from cdma.hdl.zvc.compressor.assembler import Assembler, Place
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.network import Routes, routes


class Placed(data.StructLayout):
    """A beat that has its place in the stream.

    Members
    -------
    place : :class:`~cdma.hdl.zvc.compressor.assembler.Place`
    routes : how its words get there, :class:`~cdma.hdl.zvc.network.Routes`
    """

    def __init__(self, config: Config):
        super().__init__({"place": Place(config), "routes": Routes(config.lanes)})


class Placer(wiring.Component):
    """Count the non-zero words of each beat and give it its place in the stream.

    Throughput one beat a cycle, latency ``2 + PrefixSum.latency(lanes)`` cycles.

    Parameters
    ----------
    config : Config
        Lanes and format.

    Members
    -------
    valid : In, there is a beat
    mask : In, its non-zero words
    keep : In, its words
    first : In, a block begins with it
    last : In, the packet ends with it
    o : Out stream of :class:`Placed`; always ready
    """

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "valid": In(1),
                "mask": In(config.lanes),
                "keep": In(config.lanes),
                "first": In(1),
                "last": In(1),
                "o": Out(stream.Signature(Placed(config))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        lanes, mask_words = self.config.lanes, self.config.format.mask_words
        lane_bits = lanes.bit_length() - 1
        m.submodules.prefix = prefix = PrefixSum(lanes)
        m.d.comb += prefix.enable.eq(1)

        # Count.
        beat = Signal(data.StructLayout({"first": 1, "last": 1, "has_words": 1}))
        valid, mask = self.valid, self.mask
        m.d.comb += [
            beat.first.eq(self.first),
            beat.last.eq(self.last),
            beat.has_words.eq(self.keep[0]),
        ]
        for stage in range(1 + prefix.latency(lanes)):
            valid = registered(m, valid, f"valid{stage}", is_reset=True)
            beat = registered(m, beat, f"beat{stage}")
            if stage == 0:
                mask = registered(m, mask, "mask")
        m.d.comb += prefix.mask.eq(mask)
        # A last beat without a word, where a block would begin, has no mask.
        begins = beat.first & beat.has_words
        has_mask = registered(m, begins, "has_mask")
        step = registered(
            m, Mux(begins, add(m, prefix.total, Const(mask_words)), prefix.total), "step"
        )
        ranks = registered(m, prefix.ranks, "ranks")
        valid = registered(m, valid, "valid_counted", is_reset=True)
        beat = registered(m, beat, "beat_counted")

        # Place.
        lane = Signal(lane_bits)  # behind what went before
        behind = Signal(range(2 * lanes + mask_words))  # words of the row, were it longer
        placed = self.o.payload
        place = placed.place
        rows = Assembler.rows(self.config)
        offset = Signal(lane_bits)
        is_partial = (behind[:lane_bits] != 0) | (behind == 0)
        m.d.comb += [
            behind.eq(add(m, lane, step)),
            offset.eq(Mux(has_mask, add(m, lane, Const(mask_words)), lane)),
            self.o.valid.eq(valid),
            place.lane.eq(lane),
            place.has_mask.eq(has_mask),
            # A packet's last beat completes the row that it ends in, even an empty one.
            place.rows.eq(add(m, behind[lane_bits:], beat.last & is_partial)),
            place.last.eq(beat.last),
            place.end.eq(behind),
            place.is_full.eq((behind != 0) & (behind[:lane_bits] == 0)),
            placed.routes.eq(routes(m, ranks, offset)),
        ]
        m.d.comb += [
            fits.eq(behind <= (rows - complete) * lanes)
            for complete, fits in enumerate(place.fits, 1)
        ]
        m.d.comb += [reaches.eq(behind > k * lanes) for k, reaches in enumerate(place.reaches, 1)]
        with m.If(valid):
            m.d.sync += lane.eq(Mux(beat.last, 0, behind[:lane_bits]))
        return m
