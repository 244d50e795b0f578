"""The place of each beat in the stream, after any earlier beats."""

from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.prefix import popcount
from cdma.hdl.zvc.compressor.assembly.place import rows_of_ring
from cdma.hdl.zvc.compressor.placer import Placer
from cdma.hdl.zvc.config import Config
from cdma.verify.formal.fault import inverted, late, stuck_at
from cdma.verify.formal.stream_rules import anything
from cdma.verify.proofs.proof import Proof, faults, named


class Places(Elaboratable):
    """The place of a beat agrees with a plain count of all words up to this beat."""

    def __init__(self, dut):
        self.dut = dut

    def elaborate(self, platform):
        m = Module()
        m.submodules.dut = dut = self.dut
        config = dut.config
        lanes, mask_words = config.lanes, config.format.mask_words
        lane_bits = lanes.bit_length() - 1
        inputs = [dut.valid, dut.mask, dut.keep, dut.first, dut.last]
        for signal in inputs:
            m.d.comb += signal.eq(anything(m, len(signal), f"any_{signal.name}"))
        m.d.comb += [Assume((dut.keep & (dut.keep + 1)) == 0), Assume((dut.mask & ~dut.keep) == 0)]
        m.d.comb += Assume(dut.last | dut.keep.all())

        beat = inputs
        for stage in range(Placer.latency(config)):
            later = [Signal.like(signal, name=f"{signal.name}{stage}") for signal in inputs]
            m.d.sync += [a.eq(b) for a, b in zip(later, beat, strict=True)]
            beat = later
        valid, mask, keep, first, last = beat

        lane = Signal(lane_bits)  # number of words already in the row
        begins = first & keep[0]
        offset, end = Signal(range(2 * lanes + mask_words)), Signal(range(2 * lanes + mask_words))
        m.d.comb += [
            offset.eq(lane + Mux(begins, mask_words, 0)),
            end.eq(offset + popcount(m, mask)),
        ]
        with m.If(valid):
            m.d.sync += lane.eq(Mux(last, 0, end % lanes))
        place, routes = dut.o.place, dut.o.routes
        m.d.comb += [Assert(dut.o_valid == valid), Assert(place.lane == lane)]
        with m.If(valid):
            m.d.comb += [
                Assert(place.has_mask == begins),
                Assert(place.last == last),
                # Without a further word, the packet ends in an empty row.
                Assert(
                    place.rows == Mux(last & ((end == 0) | (end % lanes != 0)), 1, 0) + end // lanes
                ),
                Cover(place.rows == (2 * lanes + mask_words - 1) // lanes),
                Cover(last & (end == 0)),
            ]
            m.d.comb += [
                Assert(place.end == end),
                Assert(place.is_full == ((end != 0) & (end % lanes == 0))),
            ]
            for complete, fits in enumerate(place.fits, 1):
                m.d.comb += Assert(fits == (end <= (rows_of_ring(config) - complete) * lanes))
            for row, reaches in enumerate(place.reaches, 1):
                m.d.comb += Assert(reaches == (end > row * lanes))
            for level in range(lane_bits):
                span = 1 << level
                for group, start in enumerate(routes[f"level{level}"]):
                    below = popcount(m, Cat(mask)[: (2 * group + 1) * span])
                    m.d.comb += Assert(start == (offset + below)[: level + 1])
        return m


PROOFS = (
    Proof(
        name="placer",
        promise="The place of a beat follows the words of all earlier beats",
        components=(Placer,),
        design=lambda config: Places(Placer(config)),
        sizes=named(
            *(Config.of(8, 32), Config.of(2, 8, 8), Config.of(16, 16)),
            *(Config.parse(f"{size}-asic") for size in ("8x32", "2x8b8", "16x16")),
        ),
        depth=4,
        broken=(
            *faults(
                Config.of(8, 32),
                8,
                stuck_at(0, "dut.lane", 0),
                late("dut.has_mask"),
                stuck_at(0, "dut.valid_counted"),
                inverted("dut.offset", 2),
            ),
            *faults(
                Config.of(16, 16), 8, late("dut.prefix.sum7"), stuck_at(0, "dut.prefix.sum3", 2)
            ),
        ),
    ),
)
