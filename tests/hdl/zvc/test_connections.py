"""Both units in a row, as docs/integrating-the-units.md connects them."""

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.sim import Simulator

from cdma.hdl.lib.buffer import RowBuffer
from cdma.hdl.zvc.beat import Beat
from cdma.hdl.zvc.compressor import Compressor
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor import Decompressor

CONFIG = Config.of(4, 8, 16)
MOST_CYCLES = 200


def beats_through(packet_beats: int, fifo_beats: int) -> int:
    """Beats of a packet without zeros that leave when the status is wired to the command."""
    m = Module()
    m.submodules.compressor = compressor = Compressor(CONFIG)
    m.submodules.decompressor = decompressor = Decompressor(CONFIG)
    if fifo_beats:
        m.submodules.fifo = fifo = RowBuffer(Beat(CONFIG), fifo_beats)
        wiring.connect(m, compressor.o, fifo.i)
        wiring.connect(m, fifo.o, decompressor.i)
    else:
        wiring.connect(m, compressor.o, decompressor.i)
    status, command = compressor.o_status, decompressor.i_command
    m.d.comb += [
        command.payload.words.eq(status.payload.words),
        command.valid.eq(status.valid),
        status.ready.eq(command.ready),
    ]
    seen = []

    async def source(ctx):
        ctx.set(decompressor.o_status.ready, 1)
        for index in range(packet_beats):
            words = [4 * index + lane + 1 for lane in range(4)]
            last = index == packet_beats - 1
            ctx.set(compressor.i.payload, {"words": words, "keep": 0xF, "last": last})
            ctx.set(compressor.i.valid, 1)
            taken = 0
            while not taken:
                *_, taken = await ctx.tick().sample(compressor.i.ready)
        ctx.set(compressor.i.valid, 0)

    async def sink(ctx):
        ctx.set(decompressor.o.ready, 1)
        for _ in range(MOST_CYCLES):
            *_, valid, beat = await ctx.tick().sample(decompressor.o.valid, decompressor.o.payload)
            if valid:
                seen.append(list(beat.words))

    simulator = Simulator(m)
    simulator.add_clock(1e-8)
    simulator.add_testbench(source, background=True)
    simulator.add_testbench(sink)
    simulator.run()
    assert seen == [[4 * index + lane + 1 for lane in range(4)] for index in range(len(seen))]
    return len(seen)


def test_a_packet_that_fits_into_the_ring_passes():
    assert beats_through(Decompressor.rows(CONFIG) - 2, fifo_beats=0) == (
        Decompressor.rows(CONFIG) - 2
    )


def test_a_longer_packet_hangs_without_a_fifo():
    assert beats_through(40, fifo_beats=0) == 0


@pytest.mark.parametrize("packet_beats", [1, 40])
def test_a_fifo_for_the_whole_stream_lets_it_pass(packet_beats):
    words = CONFIG.lanes * packet_beats
    stream = CONFIG.format.stream_bytes(words, words)
    fifo_beats = max(2, -(-stream // CONFIG.beat_bytes))
    assert beats_through(packet_beats, fifo_beats) == packet_beats
