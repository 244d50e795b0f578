"""The mask fetcher, reading a real ring, against a walk through the stream."""

import numpy as np
import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.golden import compress
from cdma.golden.format import ErrorCode
from cdma.hdl.beat import Beat, DecompressorCommand
from cdma.hdl.config import Config
from cdma.hdl.fetch import Block, MaskFetcher, rotated
from cdma.hdl.ring import StreamRing
from cdma.sim.stimulus import random_words

CONFIGS = [
    Config.of(4, 16),  # two beats of words behind a word of mask
    Config.of(8, 32),
    Config.of(8, 8, 64),  # a mask as long as a beat
    Config.of(2, 8, 32),  # a mask of two beats
    Config.of(2, 8, 24),  # a mask of a beat and a half
    Config.of(16, 16, 16),  # a block a cycle
]
EVERY = pytest.mark.parametrize("config", CONFIGS, ids=[config.name for config in CONFIGS])
ROWS = 128  # enough for any packet here


class Fetcher(wiring.Component):
    """A mask fetcher behind a ring whose rows are free when their packet is done with."""

    def __init__(self, config):
        self.config = config
        super().__init__(
            {
                "i_command": In(stream.Signature(DecompressorCommand())),
                "i": In(stream.Signature(Beat(config))),
                "o": Out(stream.Signature(Block(config, ROWS))),
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.ring = ring = StreamRing(self.config, ROWS)
        m.submodules.fetcher = fetcher = MaskFetcher(self.config, ROWS)
        wiring.connect(m, wiring.flipped(self.i), ring.i)
        wiring.connect(m, wiring.flipped(self.i_command), fetcher.i_command)
        wiring.connect(m, ring.ends_a, fetcher.i_ending)
        wiring.connect(m, fetcher.o, wiring.flipped(self.o))
        m.d.comb += [
            ring.ends_b.ready.eq(1),
            ring.place_a.eq(fetcher.place),
            fetcher.bank_words.eq(ring.bank_words_a),
            fetcher.row.eq(ring.row),
        ]
        with m.If(ring.ends_a.valid & ring.ends_a.ready):
            m.d.sync += ring.free.eq(ring.ends_a.payload.next_row)
        return m


def beats_of(content: bytes, config):
    """Beats of a packet."""
    size, word = config.beat_bytes, config.format.word_bytes
    beats = []
    for first in range(0, max(len(content), 1), size):
        part = content[first : first + size]
        words = np.frombuffer(part.ljust(size, b"\0"), config.format.dtype).tolist()
        assert len(words) == size // word
        last = first + size >= len(content)
        beats.append({"words": words, "keep": (1 << len(part)) - 1, "last": last})
    return beats


def blocks_of(content: bytes, count, config, first_row):
    """What the fetcher should give of a packet that begins in ``first_row``.

    ``place`` is ``None`` where nothing stands: behind a mask or words that did not come whole.
    """
    fmt, lanes = config.format, config.lanes
    if count == 0:
        blank = {"mask": 0, "beats": 0, "words": 0, "last": 1, "void": 1, "error": 0}
        return [blank | {"place": {"lane": 0, "row": first_row % (2 * ROWS)}}]
    blocks, at = [], 0  # byte of the mask
    for first in range(0, count, fmt.block_words):
        words = min(fmt.block_words, count - first)
        mask, place, error = 0, None, ErrorCode.TRUNCATED
        whole = content[at : at + fmt.mask_bytes]
        if len(whole) == fmt.mask_bytes:
            mask = int.from_bytes(whole, "little")
            behind = at // fmt.word_bytes + fmt.mask_words
            place = {
                "lane": behind % lanes,
                "row": (first_row + behind // lanes) % (2 * ROWS),
            }
            error = ErrorCode.MASK_PAST_END if mask >> words else ErrorCode.NONE
        at += fmt.mask_bytes + fmt.word_bytes * mask.bit_count()
        blocks.append(
            {
                "mask": mask & (1 << words) - 1,
                "place": place,
                "beats": -(-words // lanes) - 1,
                "words": (words - 1) % lanes + 1,
                "last": int(first + words == count),
                "void": 0,
                "error": int(error),
            }
        )
    return blocks


def check(exchange, config, packets, **options):
    """Send ``packets``, pairs of bytes and count, and compare all blocks."""
    beats, expected = [], []
    for content, count in packets:
        expected += blocks_of(content, count, config, len(beats))
        beats += beats_of(content, config)
    sends = {"i_command": [{"words": count} for _, count in packets], "i": beats}
    passed = exchange(Fetcher(config), sends, {"o": len(expected)}, **options)
    for block, wanted in zip(passed["o"].payloads, expected, strict=True):
        if wanted["place"] is None:
            wanted = wanted | {"place": block["place"]}
        assert block == wanted
    return passed


def packet(count, density, config, rng):
    words = random_words(count, density, config.format, rng)
    return compress(words, config.format).tobytes(), count


@EVERY
@pytest.mark.parametrize("stalls", ["never", "bernoulli:0.5", {"i": "alternating"}])
def test_finds_every_mask(exchange, rng, config, stalls):
    block, lanes = config.format.block_words, config.lanes
    counts = [0, 1, block, 3 * block + 1, lanes, 0, block - 1, 5 * block, 2 * block + lanes + 1, 1]
    packets = [packet(count, rng.random(), config, rng) for count in counts]
    check(exchange, config, packets, stalls=stalls)


@EVERY
def test_a_packet_that_is_cut_short(exchange, rng, config):
    """Cut in any word of mask or data; a good packet follows each time."""
    content, count = packet(2 * config.format.block_words + 1, 0.5, config, rng)
    packets = []
    for size in range(0, len(content), max(1, config.format.word_bytes // 2)):
        packets += [(content[:size], count), packet(3, 1.0, config, rng)]
    check(exchange, config, packets)


@EVERY
def test_a_mask_bit_past_the_end(exchange, rng, config):
    fmt = config.format
    packets = []
    for bit in (2, fmt.block_words // 2, fmt.block_words - 1):
        mask = (1 << bit | 3).to_bytes(fmt.mask_bytes, "little")
        packets += [(mask + rng.bytes(3 * fmt.word_bytes), 2), packet(1, 1.0, config, rng)]
    check(exchange, config, packets)


@EVERY
def test_bytes_left_over_are_passed_by(exchange, rng, config):
    packets = []
    for extra in (1, config.beat_bytes, 5 * config.beat_bytes + 1):
        for count in (0, 1, config.format.block_words):
            content, _ = packet(count, 0.5, config, rng)
            packets += [(content + rng.bytes(extra), count), packet(3, 1.0, config, rng)]
    check(exchange, config, packets)


@EVERY
def test_a_block_takes_no_longer_than_its_beats(exchange, config):
    zeros = (bytes(config.format.mask_bytes * 12), 12 * config.format.block_words)
    passed = check(exchange, config, [zeros], stalls={"o": "paused:60"})
    gaps = np.diff(passed["o"].cycles)
    assert gaps.max() <= max(config.block_beats, 1)


@pytest.mark.parametrize("config", CONFIGS[:3], ids=[config.name for config in CONFIGS[:3]])
def test_a_short_packet_each_cycle(exchange, rng, config):
    packets = [packet(1, 1.0, config, rng) for _ in range(20)]
    passed = check(exchange, config, packets, stalls={"o": "paused:60"})
    assert np.diff(passed["o"].cycles).tolist() == [1] * 19


@EVERY
def test_a_mask_longer_than_a_beat_is_read_a_beat_a_cycle(exchange, rng, config):
    packets = [(bytes(config.format.mask_bytes), 1) for _ in range(12)]
    passed = check(exchange, config, packets, stalls={"o": "paused:60"})
    reads = -(-config.format.mask_words // config.lanes)
    assert np.diff(passed["o"].cycles).tolist() == [reads] * 11


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_rotated(simulate, lanes):
    m = Module()
    words, start = Signal(data.ArrayLayout(8, lanes)), Signal(range(lanes))
    result = rotated(m, words, start)
    content = list(range(100, 100 + lanes))

    async def bench(ctx):
        ctx.set(words, content)
        for first in range(lanes):
            ctx.set(start, first)
            seen = [ctx.get(word) for word in result]
            assert seen == content[first:] + content[:first]

    simulate(m, bench)
