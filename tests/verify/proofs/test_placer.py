"""The place of any beat in the stream, after anything that went before."""

import pytest
from amaranth.hdl import Assert, Assume, Cat, Cover, Elaboratable, Module, Mux, Signal

from cdma.hdl.lib.prefix import PrefixSum, popcount
from cdma.hdl.zvc.compressor.assembly.assembler import Assembler
from cdma.hdl.zvc.compressor.placer import Placer
from cdma.hdl.zvc.config import Config
from cdma.verify.formal.stream_rules import anything


class Places(Elaboratable):
    """What a beat's place says follows from the words before it and its own, counted plainly."""

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
        for stage in range(2 + PrefixSum.latency(lanes)):
            later = [Signal.like(signal, name=f"{signal.name}{stage}") for signal in inputs]
            m.d.sync += [a.eq(b) for a, b in zip(later, beat, strict=True)]
            beat = later
        valid, mask, keep, first, last = beat

        lane = Signal(lane_bits)  # words of the row that went before
        begins = first & keep[0]
        offset, end = Signal(range(2 * lanes + mask_words)), Signal(range(2 * lanes + mask_words))
        m.d.comb += [
            offset.eq(lane + Mux(begins, mask_words, 0)),
            end.eq(offset + popcount(m, mask)),
        ]
        with m.If(valid):
            m.d.sync += lane.eq(Mux(last, 0, end % lanes))
        place, routes = dut.o.payload.place, dut.o.payload.routes
        m.d.comb += [Assert(dut.o.valid == valid), Assert(place.lane == lane)]
        with m.If(valid):
            m.d.comb += [
                Assert(place.has_mask == begins),
                Assert(place.last == last),
                # An empty row has to be there for the packet to end in.
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
                m.d.comb += Assert(fits == (end <= (Assembler.rows(config) - complete) * lanes))
            for row, reaches in enumerate(place.reaches, 1):
                m.d.comb += Assert(reaches == (end > row * lanes))
            for level in range(lane_bits):
                span = 1 << level
                for group, start in enumerate(routes[f"level{level}"]):
                    below = popcount(m, Cat(mask)[: (2 * group + 1) * span])
                    m.d.comb += Assert(start == (offset + below)[: level + 1])
        return m


CONFIGS = pytest.mark.parametrize(
    "config", [Config.of(8, 32), Config.of(2, 8, 8)], ids=lambda c: c.name
)


@pytest.mark.proof(Placer, "8x32, 2x8 with blocks of 8", induction=4)
@CONFIGS
def test_a_beat_has_its_place_behind_all_before(formal, config):
    formal(Places(Placer(config)))


@pytest.mark.proof(Placer, "8x32", bounded=8)
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(behind[:lane_bits] != 0) | (behind == 0)", "behind[:lane_bits] != 0"),
        ("lane.eq(Mux(beat.last, 0, behind[:lane_bits]))", "lane.eq(behind[:lane_bits])"),
        ("beat.first & beat.has_words", "beat.first"),
    ],
)
def test_a_broken_placer_is_refuted(formal, mutated, old, new):
    formal.refutes(Places(mutated(Placer, old, new)(Config.of(8, 32))))
