"""The place of each beat in the stream."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.assembler import Assembler, Place
from cdma.hdl.butterfly import Routes, routes
from cdma.hdl.config import Config
from cdma.hdl.prefix import PrefixSum


class Placed(data.StructLayout):
    """A beat that has its place in the stream.

    Members
    -------
    place : :class:`~cdma.hdl.assembler.Place`
    routes : how its words get there, :class:`~cdma.hdl.butterfly.Routes`
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
            valid = _registered(m, valid, f"valid{stage}", is_reset=True)
            beat = _registered(m, beat, f"beat{stage}")
            if stage == 0:
                mask = _registered(m, mask, "mask")
        m.d.comb += prefix.mask.eq(mask)
        # A last beat without a word, where a block would begin, has no mask.
        begins = beat.first & beat.has_words
        has_mask = _registered(m, begins, "has_mask")
        step = _registered(m, prefix.total + Mux(begins, mask_words, 0), "step")
        ranks = _registered(m, prefix.ranks, "ranks")
        valid = _registered(m, valid, "valid_counted", is_reset=True)
        beat = _registered(m, beat, "beat_counted")

        # Place.
        lane = Signal(lane_bits)  # behind what went before
        behind = Signal(range(2 * lanes + mask_words))  # words of the row, were it longer
        up = Signal(range(2 * lanes + mask_words + lanes))  # the same, rounded up to whole rows
        placed = self.o.payload
        place = placed.place
        capacity = Assembler.capacity(self.config)
        offset = Signal(lane_bits)
        m.d.comb += [
            behind.eq(lane + step),
            up.eq(behind + (lanes - 1)),
            offset.eq(lane + Mux(has_mask, mask_words, 0)),
            self.o.valid.eq(valid),
            place.lane.eq(lane),
            place.has_mask.eq(has_mask),
            # A packet's last beat completes the row that it ends in, even an empty one.
            place.rows.eq(
                Mux(beat.last, Mux(behind == 0, 1, up >> lane_bits), behind >> lane_bits)
            ),
            place.last.eq(beat.last),
            place.count.eq(
                Mux((behind != 0) & (behind[:lane_bits] == 0), lanes, behind[:lane_bits])
            ),
            placed.routes.eq(routes(m, ranks, offset)),
        ]
        for i, fits in enumerate(place.fits):
            m.d.comb += fits.eq(behind <= capacity - (i + 1) * lanes)
        with m.If(valid):
            m.d.sync += lane.eq(Mux(beat.last, 0, behind[:lane_bits]))
        return m


def _registered(m, value, name, is_reset=False):
    register = Signal.like(value, name=name, reset_less=not is_reset)
    m.d.sync += register.eq(value)
    return register
