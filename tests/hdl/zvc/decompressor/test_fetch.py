"""The mask fetcher, reading a real ring, against a walk through the stream."""

import numpy as np
import pytest
from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from sized import corners

from cdma.golden import compress
from cdma.hdl.lib.queue import Queue
from cdma.hdl.zvc.beat import Beat, DecompressorCommand
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.fetch import CountingFetcher, fetcher_of
from cdma.hdl.zvc.decompressor.fetch.base import reads_of
from cdma.hdl.zvc.decompressor.fetch.block import Block
from cdma.hdl.zvc.decompressor.ring import StreamRing
from cdma.hdl.zvc.decompressor.unit import Decompressor
from cdma.sim.stimulus import random_words

CONFIGS = [
    Config.of(4, 16, 32),  # ones are counted; a mask of two words
    Config.of(8, 32),
    Config.of(2, 8, 32),  # a mask of two beats
    Config.of(2, 8, 24),  # a mask of a beat and a half
    Config.of(4, 8, 32),  # a mask as long as a beat
    Config.of(8, 8, 16),  # jumps: a block of two beats, a mask of two words
    Config.of(8, 8, 24),
    Config.of(8, 8, 8),  # a block a cycle
    *map(Config.parse, ("4x16b32-asic", "8x32-asic", "2x8b24-asic", "8x8b24-asic")),
]
#: Corners of all of them; the other sizes are slow.
EVERY = pytest.mark.parametrize("config", corners(CONFIGS, ("2x8b24", "8x8b24", "2x8b24-asic")))


class Fetcher(wiring.Component):
    """A mask fetcher behind a ring whose rows are passed as the bench says, and before a queue. The
    mask of a block is there for one cycle after it was handed on, and junk before and after."""

    def __init__(self, config):
        self.config = config
        self.rows = Decompressor.rows(config)
        super().__init__(
            {
                "i_command": In(stream.Signature(DecompressorCommand())),
                "i": In(stream.Signature(Beat(config))),
                "o": Out(stream.Signature(Block(config))),
                "has_room": In(1),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.ring = ring = StreamRing(self.config, self.rows)
        m.submodules.fetcher = fetcher = fetcher_of(self.config)(self.config, self.rows)
        wiring.connect(m, wiring.flipped(self.i), ring.i)
        wiring.connect(m, wiring.flipped(self.i_command), fetcher.i_command)
        m.submodules.queue = queue = Queue(Block(self.config), 2)
        wiring.connect(m, fetcher.o, queue.i)
        wiring.connect(m, queue.o, wiring.flipped(self.o))
        m.d.comb += fetcher.next_ready.eq((self.o.valid & self.o.ready) | ~queue.fills)
        was_handed, mask = Signal(), Signal(self.config.format.block_words)
        m.d.sync += was_handed.eq(fetcher.o.valid & fetcher.o.ready)
        m.d.sync += mask.eq(fetcher.o.payload.mask)
        m.d.comb += [
            fetcher.accept.eq(ring.accept),
            fetcher.tail.eq(ring.tail),
            fetcher.info.eq(ring.info),
            fetcher.beat_words.eq(self.i.payload.words),
            ring.rows_a.eq(fetcher.bank_rows),
            fetcher.bank_words.eq(ring.words_a),
            fetcher.mask.eq(Mux(was_handed, mask, ~mask)),
            ring.has_room.eq(self.has_room),
        ]
        return m


def blocks_of(content, count, config):
    """What the fetcher should give of a packet, and the word of the stream where each ends.

    The mask is ``None`` where nothing stands: it did not come whole, or there is none.
    """
    fmt, lanes = config.format, config.lanes
    shape = {"beats": 0, "single": 1, "words": 0, "last": 1, "void": 0, "truncated": 0}
    if count == 0:
        return [({"mask": None, **shape, "void": 1}, 0)]
    blocks, at = [], 0  # byte of the mask
    for first in range(0, count, fmt.block_words):
        words = min(fmt.block_words, count - first)
        whole = content[at : at + fmt.mask_bytes]
        mask = int.from_bytes(whole, "little") if len(whole) == fmt.mask_bytes else None
        at += fmt.mask_bytes + fmt.word_bytes * (mask or 0).bit_count()
        block = {
            "mask": mask,
            "beats": -(-words // lanes) - 1,
            "single": words <= lanes,
            "words": (words - 1) % lanes + 1,
            "last": int(first + words == count),
            "truncated": int(mask is None),
        }
        blocks.append((shape | block, at // fmt.word_bytes))
    return blocks


@pytest.fixture
def check(exchange, beats_of):
    """Function that sends ``packets``, pairs of bytes and count, and compares all blocks.

    Rows are passed as soon as the words of the blocks handed on are before them, and all of a
    packet's when its last block was: no reader is faster.
    """

    def run(config, packets, **options):
        beats, expected, done = [], [], []  # by block: rows that are done with behind it
        for content, count in packets:
            first, found = len(beats), blocks_of(content, count, config)
            beats += beats_of(content, config)
            expected += [block for block, _ in found]
            done += [min(first + end // config.lanes, len(beats)) for _, end in found]
            done[-1] = len(beats)
        passed_rows = 0

        def each(ctx, passed):
            nonlocal passed_rows
            blocks = len(passed["o"].cycles)
            taken = len(passed["i"].cycles)
            ctx.set(dut.has_room, taken - passed_rows < dut.rows)
            passed_rows = min(done[blocks - 1] if blocks else 0, taken)

        dut = Fetcher(config)
        sends = {"i_command": [{"words": count} for _, count in packets], "i": beats}
        passed = exchange(dut, sends, {"o": len(expected)}, each=each, **options)
        for block, wanted in zip(passed["o"].payloads, expected, strict=True):
            if wanted["mask"] is None:
                wanted = wanted | {"mask": block["mask"]}
            assert block == wanted
        return passed

    return run


def packet(count, density, config, rng):
    words = random_words(count, density, config.format, rng)
    return compress(words, config.format).tobytes(), count


@EVERY
@pytest.mark.parametrize("stalls", ["never", "bernoulli:0.5", {"o": "bursts:3,8"}], ids=str)
def test_finds_every_mask(check, rng, config, stalls):
    block, lanes = config.format.block_words, config.lanes
    counts = [0, 1, block, 3 * block + 1, lanes, 0, block - 1, 5 * block, 2 * block + lanes + 1, 1]
    check(config, [packet(count, rng.random(), config, rng) for count in counts], stalls=stalls)


@EVERY
def test_a_packet_that_is_cut_short(check, rng, config):
    """Cut in any word of mask or data; a good packet follows each time."""
    content, count = packet(2 * config.format.block_words + 1, 0.5, config, rng)
    packets = []
    for size in range(0, len(content), max(1, config.format.word_bytes // 2)):
        packets += [(content[:size], count), packet(3, 1.0, config, rng)]
    check(config, packets, stalls={"o": "bernoulli:0.3"})


@EVERY
def test_a_mask_bit_past_the_end_is_handed_on(check, rng, config):
    fmt = config.format
    packets = []
    for bit in (2, fmt.block_words // 2, fmt.block_words - 1):
        mask = (1 << bit | 3).to_bytes(fmt.mask_bytes, "little")
        packets += [(mask + rng.bytes(3 * fmt.word_bytes), 2), packet(1, 1.0, config, rng)]
    check(config, packets)


@EVERY
def test_bytes_left_over_are_passed_by(check, rng, config):
    packets = []
    for extra in (1, config.beat_bytes, 15 * config.beat_bytes + 1):
        for count in (0, 1, config.format.block_words):
            content, _ = packet(count, 0.5, config, rng)
            packets += [(content + rng.bytes(extra), count), packet(3, 1.0, config, rng)]
    check(config, packets)


@EVERY
def test_a_command_may_come_late(check, rng, config):
    packets = [packet(count, 0.6, config, rng) for count in (1, 0, 3 * config.format.block_words)]
    passed = check(config, packets, stalls={"i_command": "paused:40"})
    assert passed["i"].cycles[0] == 0 < 40 < passed["o"].cycles[0]


@EVERY
@pytest.mark.parametrize("density", [0.0, 0.5])
def test_a_block_takes_no_longer_than_its_beats(check, rng, config, density):
    """Where as many words come in a cycle as its payload needs."""
    blocks = 12
    sparse = packet(blocks * config.format.block_words, density, config, rng)
    cycles = check(config, [sparse])["o"].cycles
    assert cycles[-1] - cycles[0] <= (blocks - 1) * max(config.block_beats, 1)


SHORT = [config for config in CONFIGS if reads_of(config) == 1]


@pytest.mark.parametrize("config", SHORT, ids=[config.name for config in SHORT])
def test_a_short_packet_each_cycle(check, rng, config):
    packets = [packet(1, 0.0, config, rng) for _ in range(20)]
    assert np.diff(check(config, packets)["o"].cycles).tolist() == [1] * 19


LONG = [config for config in CONFIGS if reads_of(config) == 2]


@pytest.mark.parametrize("config", LONG, ids=[config.name for config in LONG])
def test_a_mask_longer_than_a_beat_is_read_a_beat_a_cycle(check, config):
    packets = [(bytes(config.format.mask_bytes), 1) for _ in range(12)]
    assert np.diff(check(config, packets)["o"].cycles).tolist() == [2] * 11


def test_masks_are_counted_where_there_is_time_for_it():
    counted = [config.name for config in CONFIGS if fetcher_of(config) is CountingFetcher]
    cells = ["4x16b32-asic", "8x32-asic", "2x8b24-asic"]
    assert counted == ["4x16b32", "8x32", "2x8b32", "2x8b24", "4x8b32", *cells]
    assert [reads_of(config) for config in CONFIGS] == [1, 1, 2, 2, 1, 1, 1, 1, 1, 1, 2, 1]
