"""The place of each beat in the stream."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.lib.delay import DelayLine
from cdma.hdl.lib.prefix import MOST_COMBINATIONAL, PrefixSum, add
from cdma.hdl.lib.signals import registered
from cdma.hdl.zvc.compressor.assembly.place import Place, rows_of_ring
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.network import Routes, routes


class Placed(data.StructLayout):
    """A beat that has its place in the stream.

    Members
    -------
    place : :class:`~cdma.hdl.zvc.compressor.assembly.place.Place`
    routes : how its words get there, :class:`~cdma.hdl.zvc.network.Routes`
    """

    def __init__(self, config: Config):
        super().__init__({"place": Place(config), "routes": Routes(config.lanes)})


class _Beat(data.StructLayout):
    """A beat that is being counted."""

    def __init__(self):
        super().__init__({"first": 1, "last": 1, "has_words": 1})


class Placer(wiring.Component):
    """Count the non-zero words of each beat and give it its place in the stream.

    Throughput one beat a cycle, latency :meth:`latency` cycles. There is no back-pressure: the
    next stage has room for all beats in flight.

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
    o_valid, o : Out, :class:`Placed`
    """

    valid: Signal
    mask: Signal
    keep: Signal
    first: Signal
    last: Signal
    o_valid: Signal
    o: data.View

    def __init__(self, config: Config):
        self.config = config
        super().__init__(
            {
                "valid": In(1),
                "mask": In(config.lanes),
                "keep": In(config.lanes),
                "first": In(1),
                "last": In(1),
                "o_valid": Out(1),
                "o": Out(Placed(config)),
            }
        )

    @staticmethod
    def latency(config: Config) -> int:
        """Cycles from a beat to its place."""
        return 2 + PrefixSum.latency(config.lanes, Placer.counted_at_once(config))

    @staticmethod
    def counted_at_once(config: Config) -> int:
        """Bits of a mask that are counted in one cycle. On an FPGA the count of 16 lanes is the
        longest path, so its halves are counted first, where a block's beats wait for that long in
        any case."""
        waits = config.block_beats >= 4
        return 8 if config.lanes == 16 and waits and not config.is_asic else MOST_COMBINATIONAL

    def elaborate(self, platform):
        m = Module()
        config = self.config
        lanes, mask_words = config.lanes, config.format.mask_words
        lane_bits = lanes.bit_length() - 1

        # Count.
        m.submodules.prefix = prefix = PrefixSum(lanes, self.counted_at_once(config))
        m.submodules.count = count = DelayLine(_Beat(), self.latency(config) - 1)
        m.d.comb += [
            prefix.enable.eq(1),
            prefix.mask.eq(registered(m, self.mask, "mask")),
            count.enable.eq(1),
            count.i_valid.eq(self.valid),
            count.i.first.eq(self.first),
            count.i.last.eq(self.last),
            count.i.has_words.eq(self.keep[0]),
        ]
        # A last beat without a word, where a block would begin, has no mask.
        begins = count.o.first & count.o.has_words
        has_mask = registered(m, begins, "has_mask")
        step = registered(
            m, Mux(begins, add(m, prefix.total, Const(mask_words)), prefix.total), "step"
        )
        ranks = registered(m, prefix.ranks, "ranks")
        valid = registered(m, count.o_valid, "valid_counted", is_reset=True)
        last = registered(m, count.o.last, "last")

        # Place.
        lane = Signal(lane_bits)  # next free lane
        behind = Signal(range(2 * lanes + mask_words))  # words of the row, if it were long enough
        offset = Signal(lane_bits)
        is_partial = (behind[:lane_bits] != 0) | (behind == 0)
        place = self.o.place
        m.d.comb += [
            behind.eq(add(m, lane, step)),
            offset.eq(Mux(has_mask, add(m, lane, Const(mask_words)), lane)),
            self.o_valid.eq(valid),
            place.lane.eq(lane),
            place.has_mask.eq(has_mask),
            # A packet's last beat completes the row that it ends in, even an empty one.
            place.rows.eq(add(m, behind[lane_bits:], last & is_partial)),
            place.last.eq(last),
            place.end.eq(behind),
            place.is_full.eq((behind != 0) & (behind[:lane_bits] == 0)),
            self.o.routes.eq(routes(m, ranks, offset)),
        ]
        most = 2 * lanes - 1 + mask_words
        for complete, fits in enumerate(place.fits, 1):
            room = (rows_of_ring(config) - complete) * lanes
            is_known = config.is_asic and room >= most
            m.d.comb += fits.eq(1 if is_known else behind <= room)
        m.d.comb += [reaches.eq(behind > k * lanes) for k, reaches in enumerate(place.reaches, 1)]
        with m.If(valid):
            m.d.sync += lane.eq(Mux(last, 0, behind[:lane_bits]))
        return m
