"""The reader, on a real ring and fed by real beats of blocks, against a walk through the stream."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from sized import corners

from cdma.golden import compress
from cdma.hdl.zvc.beat import Beat
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.beats.block_beats import BlockBeats
from cdma.hdl.zvc.decompressor.fetch.block import Block
from cdma.hdl.zvc.decompressor.reader import PayloadReader
from cdma.hdl.zvc.decompressor.reader.place import rows_of_beat
from cdma.hdl.zvc.decompressor.ring import StreamRing
from cdma.hdl.zvc.decompressor.unit import Decompressor
from cdma.sim.backpressure import parse
from cdma.sim.stimulus import random_words

CONFIGS = [
    Config.of(4, 16),
    Config.of(8, 32),
    Config.of(2, 8, 32),  # a mask of two beats
    Config.of(2, 8, 24),
    Config.of(4, 8, 32),  # a mask as long as a beat
    Config.of(8, 8, 8),  # a block a beat
    *map(Config.parse, ("8x32-asic", "2x8b24-asic")),
]
#: Corners of all of them; the other sizes are slow.
EVERY = pytest.mark.parametrize("config", corners(CONFIGS, ("8x32", "2x8b24", "8x32-asic")))


class Reader(wiring.Component):
    """A reader behind its ring and its beats."""

    def __init__(self, config):
        self.config = config
        self.rows = Decompressor.rows(config)
        self.reader = PayloadReader(config, self.rows)
        members = self.reader.signature.members
        super().__init__(
            {
                "i": In(stream.Signature(Beat(config))),
                "i_blocks": In(stream.Signature(Block(config))),
                "words": Out(data.ArrayLayout(config.format.word_bits, config.lanes)),
                **{name: members[name] for name in ("enable", "launch", "has_word", "mask")},
                **{name: members[name] for name in ("routes", "drains", "o")},
            }
        )

    def elaborate(self, platform):
        m = Module()
        m.submodules.reader = reader = self.reader
        m.submodules.ring = ring = StreamRing(self.config, self.rows)
        m.submodules.beats = beats = BlockBeats(self.config)
        wiring.connect(m, wiring.flipped(self.i), ring.i)
        wiring.connect(m, wiring.flipped(self.i_blocks), beats.i)
        wiring.connect(m, beats.o, reader.i)
        m.d.comb += [
            reader.accept.eq(ring.accept),
            reader.info.eq(ring.info),
            ring.has_room.eq(reader.has_room),
            ring.rows_b.eq(reader.bank_rows),
            self.words.eq(ring.words_b),
            reader.enable.eq(self.enable),
            *(
                getattr(self, name).eq(getattr(reader, name))
                for name in ("launch", "has_word", "mask", "routes", "drains", "o")
            ),
        ]
        return m


@dataclass
class Work:
    """What is sent and owed.

    Members
    -------
    beats : of the stream
    blocks : as the fetcher hands them on, with the number of beats that come in before
    reads : what is owed for each output beat
    """

    beats: list = field(default_factory=list)
    blocks: list = field(default_factory=list)
    reads: list = field(default_factory=list)


def add_packet(work, content, count, config, beats_of):
    """Walk through a packet's stream, which may not be as it should be."""
    fmt, lanes = config.format, config.lanes
    first_row = len(work.beats)
    work.beats += beats_of(content, config)
    rows = len(work.beats) - first_row
    whole = len(content) // fmt.word_bytes  # words
    stream_words = np.frombuffer(content[: whole * fmt.word_bytes], fmt.dtype).tolist()
    at = 0  # word of the stream, as if nothing were missing
    is_cut = False
    for first in range(0, max(count, 1), fmt.block_words):
        data_words = min(fmt.block_words, count - first)
        is_cut |= count > 0 and at + fmt.mask_words > whole
        mask = 0
        if count > 0 and not is_cut:
            mask_words = stream_words[at : at + fmt.mask_words]
            mask = sum(word << fmt.word_bits * k for k, word in enumerate(mask_words))
        last = first + fmt.block_words >= count
        block = {
            "mask": mask,
            "beats": max(-(-data_words // lanes) - 1, 0),
            "single": data_words <= lanes,
            "words": (data_words - 1) % lanes + 1 if count else 0,
            "last": int(last),
            "void": int(count == 0),
            "truncated": int(is_cut),
        }
        # The mask has come in, or all of the packet; an empty packet waits for nothing.
        needed = -(-(at + fmt.mask_words) // lanes) if count else 0
        work.blocks.append((block, first_row + min(needed, rows)))
        at += fmt.mask_words * (count > 0)
        mask &= (1 << data_words) - 1
        for index in range(block["beats"] + 1):
            part = mask >> index * lanes & (1 << lanes) - 1
            total = part.bit_count()
            wanted = [(at + rank) for rank in range(total)]
            work.reads.append(
                {
                    "mask": part,
                    "words": {
                        word % lanes: stream_words[word] if word < whole else 0 for word in wanted
                    },
                    "used": total + fmt.mask_words * (index == 0 and count > 0),
                    "truncated": is_cut or bool(wanted and wanted[-1] >= whole),
                    "last": last and index == block["beats"],
                }
            )
            at += total
    work.reads[-1]["trailing"] = len(content) > at * fmt.word_bytes


def run(simulate, config, work, source="never", blocks="never", sink="never", most=6000):
    """Cycle of each launch; what is read is compared."""
    dut = Reader(config)
    profiles = [parse(text).willing(seed) for seed, text in enumerate((source, blocks, sink))]

    async def bench(ctx):
        sent = handed = 0
        checked, launches = 0, []  # reads whose report was checked
        for cycle in range(most):
            offers, hands, takes = (next(profile) for profile in profiles)
            offers &= sent < len(work.beats)
            ctx.set(dut.i.valid, offers)
            if offers:
                ctx.set(dut.i.payload, work.beats[sent])
            hands &= handed < len(work.blocks) and sent >= work.blocks[handed][1]
            ctx.set(dut.i_blocks.valid, hands)
            if hands:
                ctx.set(dut.i_blocks.payload, work.blocks[handed][0])
            drains = ctx.get(dut.drains)
            ctx.set(dut.enable, takes and not drains)
            if checked < len(launches) and not drains:
                check_report(ctx.get(dut.o), work.reads[checked])
                checked += 1
            if ctx.get(dut.launch):
                expected = work.reads[len(launches)]
                assert ctx.get(dut.mask) == expected["mask"]
                for bank, word in expected["words"].items():
                    has_word = ctx.get(dut.has_word[bank])
                    assert (ctx.get(dut.words[bank]) if has_word else 0) == word
                launches.append(cycle)
            sent += offers and ctx.get(dut.i.ready)
            handed += hands and ctx.get(dut.i_blocks.ready)
            await ctx.tick()
            if checked == len(work.reads) and sent == len(work.beats):
                await check_all_is_free(ctx, dut)
                return launches
        raise AssertionError(f"{len(launches)} of {len(work.reads)} beats, {sent} beats taken in")

    return simulate(dut, bench)


async def check_all_is_free(ctx, dut):
    """The ring takes in as many beats as it has rows."""
    ctx.set(dut.i_blocks.valid, 0)
    ctx.set(dut.i.valid, 1)
    taken = 0
    for _ in range(2 * dut.rows + 2):
        taken += ctx.get(dut.i.ready)
        await ctx.tick()
    assert taken == dut.rows


def check_report(read, expected):
    """``read`` has the expected values of a beat."""
    tags = read.tags
    is_truncated = bool(tags.truncated or (read.has_words and read.behind > read.there))
    assert is_truncated == expected["truncated"]
    assert (read.used, tags.last) == (expected["used"], expected["last"])
    if expected["last"] and not expected["truncated"]:
        assert (read.behind < read.there or bool(read.has_more)) == expected["trailing"]


@pytest.fixture
def work_of(beats_of):
    """Function that makes :class:`Work` of pairs of stream and word count."""

    def build(packets, config):
        work = Work()
        for content, count in packets:
            add_packet(work, content, count, config, beats_of)
        return work

    return build


def packet(count, density, config, rng):
    words = random_words(count, density, config.format, rng)
    return compress(words, config.format).tobytes(), count


STALLS = pytest.mark.parametrize(
    ("source", "blocks", "sink"),
    [
        ("never", "never", "never"),
        ("bernoulli:0.6", "never", "never"),
        ("bernoulli:0.3", "bernoulli:0.3", "bursts:3,7"),
    ],
)


@EVERY
@STALLS
def test_words_are_read_and_rows_are_freed(simulate, work_of, rng, config, source, blocks, sink):
    block, lanes = config.format.block_words, config.lanes
    counts = [0, 1, block, 2 * block + 1, lanes, 0, block - 1, 4 * block, block + lanes + 1, 1]
    packets = [packet(count, rng.random(), config, rng) for count in counts]
    run(simulate, config, work_of(packets, config), source, blocks, sink)


@EVERY
@pytest.mark.parametrize("sink", ["never", "bernoulli:0.5"])
def test_words_that_do_not_come_are_zero(simulate, work_of, rng, config, sink):
    """Cut in any word of mask or data; a good packet follows each time."""
    content, count = packet(config.format.block_words + config.lanes, 0.6, config, rng)
    packets = []
    for size in range(0, len(content), max(1, config.format.word_bytes // 2)):
        packets += [(content[:size], count), packet(3, 1.0, config, rng)]
    run(simulate, config, work_of(packets, config), "bernoulli:0.2", "never", sink)


@EVERY
@STALLS
def test_rest_of_a_packet_is_drained(simulate, work_of, rng, config, source, blocks, sink):
    """From a byte to many rows behind words that end anywhere in their row."""
    packets = []
    for extra in (1, config.format.word_bytes, config.beat_bytes, 9 * config.beat_bytes + 1):
        for count in (0, 1, config.lanes - 1, config.format.block_words):
            content, _ = packet(count, 0.7, config, rng)
            packets += [(content + rng.bytes(extra), count), packet(2, 1.0, config, rng)]
    run(simulate, config, work_of(packets, config), source, blocks, sink)


@EVERY
def test_an_end_without_a_byte_is_drained_too(simulate, work_of, beats_of, rng, config):
    """A last beat that keeps nothing, in a row of its own, is no error."""
    work = work_of([], config)
    for count in (1, config.format.block_words, 2):
        add_packet(work, *packet(count, 1.0, config, rng), config, beats_of)
        full = (1 << config.beat_bytes) - 1
        if work.beats[-1]["keep"] == full:
            work.beats[-1]["last"] = False
            work.beats.append({"words": [1] * config.lanes, "keep": 0, "last": True})
    run(simulate, config, work, "bernoulli:0.5")


@EVERY
def test_one_beat_a_cycle(simulate, work_of, rng, config):
    """Of a stream that comes a beat a cycle, and of packets that are shorter than a beat."""
    zeros = packet(4 * config.format.block_words, 0.0, config, rng)
    short = [packet(0, 0.0, config, rng)] * 12
    for packets in ([zeros], short):
        launches = run(simulate, config, work_of(packets, config))
        assert np.diff(launches).tolist() == [1] * (len(launches) - 1)


@pytest.mark.parametrize(
    ("config", "rows"),
    [
        (Config.of(8, 32), 2),
        (Config.of(4, 8, 32), 3),
        (Config.of(2, 8, 32), 4),
        (Config.of(64, 8, 64), 3),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_rows_that_a_beat_and_its_mask_touch(config, rows):
    """The words before end in the first row's last lane, at worst."""
    lanes, words = config.lanes, config.format.mask_words + config.lanes
    touched = [len({(lane + k) // lanes for k in range(words)}) for lane in range(lanes)]
    assert rows_of_beat(config) == max(touched) == rows
