"""Beat assembly, against rows cut from the stream."""

from dataclasses import dataclass

import numpy as np
import pytest
from sized import corners

from cdma.golden import compress
from cdma.hdl.zvc.compressor.assembly.assembler import Assembler
from cdma.hdl.zvc.compressor.assembly.place import rows_of_ring
from cdma.hdl.zvc.config import Config
from cdma.sim.backpressure import parse
from cdma.sim.stimulus import random_words
from cdma.sim.throughput import packet_beats

CONFIGS = [
    Config.of(8, 32),
    Config.of(4, 16),
    Config.of(2, 8, 32),  # a mask of two beats
    Config.of(4, 8, 32),  # a mask of a beat
    Config.of(4, 8, 24),
    Config.of(8, 8, 8),  # a block a beat
    Config.of(8, 8, 64),  # a mask is rotated in two parts
    Config.of(2, 64),
]
JUNK = 0xDEADBEEFDEADBEEF  # in banks to which no word comes
#: Corners of all of them; the other sizes are slow.
EVERY = pytest.mark.parametrize("config", corners(CONFIGS, ("8x32", "2x8b32")))


@dataclass
class Beats:
    """What the assembler is given, a beat an item, and the rows that it owes.

    Members
    -------
    ports : place, first, mask and kept, by name
    words : words by bank
    rows : words of each row, how many they are, and whether it is a packet's last
    kept : words of data of each packet
    """

    ports: list
    words: list
    rows: list
    kept: list


@pytest.fixture(scope="session")
def beats_from(place_of):
    """Function that gives :class:`Beats` of packets of words."""

    def build(packets, config):
        fmt, lanes = config.format, config.lanes
        beats = Beats([], [], [], [packet.size for packet in packets])
        for packet in packets:
            stream = np.frombuffer(compress(packet, fmt).tobytes(), fmt.dtype).tolist()
            for first in range(0, max(len(stream), 1), lanes):
                row = stream[first : first + lanes]
                padded = row + [0] * (lanes - len(row))
                beats.rows.append((padded, len(row), first + lanes >= len(stream)))
            at = 0
            for first in range(0, max(packet.size, 1), lanes):
                part = packet[first : first + lanes]
                has_mask = first % fmt.block_words == 0 and packet.size > 0
                block = packet[first : first + fmt.block_words] if has_mask else packet[:0]
                mask = sum(1 << index for index in np.flatnonzero(block).tolist())
                begins = at + (fmt.mask_words if has_mask else 0)
                words = [JUNK % (1 << fmt.word_bits)] * lanes
                for rank, word in enumerate(part[part != 0].tolist()):
                    words[(begins + rank) % lanes] = word
                after = begins + int(np.count_nonzero(part))
                # The packet ends with the beat that fills its last row, whatever follows.
                is_last = after == len(stream) and (at < after or not stream or after % lanes > 0)
                is_last &= first + lanes >= packet.size or after % lanes == 0
                place = place_of(at, after, has_mask, is_last, config)
                if at == after == len(stream) > 0 and after % lanes == 0:
                    place |= {"rows": 0, "lane": 0}
                first_word = begins - at // lanes * lanes
                beats.ports.append(
                    {"place": place, "first": first_word, "mask": mask, "kept": block.size}
                )
                beats.words.append(words)
                at = after
        return beats

    return build


def random_packets(config, rng, count):
    """Packets that mix dense, empty and other blocks, some of them short."""
    fmt = config.format
    packets = []
    for _ in range(count):
        densities = rng.choice([0.0, 1.0, 1.0, 0.5], size=int(rng.integers(1, 6)))
        blocks = [random_words(fmt.block_words, density, fmt, rng) for density in densities]
        whole = np.concatenate(blocks)
        packets.append(whole[: whole.size - int(rng.integers(fmt.block_words)) * rng.integers(2)])
    return [*packets, packets[0][:0], packets[0][:1], packets[-1][:0]]


def run(simulate, config, beats, source="never", sink="never", idle=8):
    """Rows with their cycles, and the cycles in which beats were taken.

    ``bank_words`` are what a network gives that moves with ``enable``: junk where no beat is.
    """
    dut = Assembler(config)
    offers, takes = parse(source).willing(1), parse(sink).willing(2)
    junk = [(1 << config.format.word_bits) - 1] * config.lanes

    async def bench(ctx):
        rows, taken, stalled, left = [], [], None, idle
        await ctx.tick()  # no beat comes in the cycle after reset
        for cycle in range(5000):
            index = len(taken)
            valid = index < len(beats.ports) and next(offers)
            ctx.set(dut.valid, valid)
            for name, value in (beats.ports[index] if valid else {}).items():
                ctx.set(getattr(dut, name), value)
            ctx.set(dut.o.ready, next(takes))
            signals = [dut.enable, dut.o.valid, dut.o.ready, dut.o.payload]
            enable, o_valid, o_ready, payload = (await ctx.tick().sample(*signals))[2:]
            if stalled is not None:
                assert o_valid, f"valid fell at {cycle}"
                assert payload.as_bits() == stalled, f"the row changed at {cycle}"
            stalled = payload.as_bits() if o_valid and not o_ready else None
            if o_valid and o_ready:
                row = payload.row
                rows.append((cycle, list(row.words), row.keep, bool(row.last), payload.kept))
            if enable:
                ctx.set(dut.bank_words, beats.words[index] if valid else junk)
                taken += [cycle] * valid
            if len(rows) >= len(beats.rows):
                left -= 1
                if left < 0:
                    return rows, taken
        raise AssertionError(f"{len(rows)} rows of {len(beats.rows)}, {len(taken)} beats taken")

    return simulate(dut, bench)


def check(rows, beats):
    assert len(rows) == len(beats.rows)
    kept, totals = 0, []
    for (_, words, keep, last, row_kept), (padded, size, is_last) in zip(
        rows, beats.rows, strict=True
    ):
        assert (words, last) == (padded, is_last)
        assert keep == (1 << (size if last else len(words))) - 1
        kept += row_kept
        if last:
            totals.append(kept)
            kept = 0
    assert totals == beats.kept


@EVERY
@pytest.mark.parametrize(
    ("source", "sink"),
    [
        ("never", "never"),
        ("bernoulli:0.3", "bursts:4,6"),
        ("never", "paused:40"),
    ],
)
def test_rows_are_the_stream(simulate, beats_from, rng, config, source, sink):
    beats = beats_from(random_packets(config, rng, 8), config)
    rows, _ = run(simulate, config, beats, source, sink)
    check(rows, beats)


@EVERY
def test_a_full_row_leaves_two_cycles_after_its_beat(simulate, beats_from, config):
    words = np.ones(config.format.block_words, config.format.dtype)
    rows, taken = run(simulate, config, beats_from([words], config))
    assert rows[0][0] == taken[0] + 2


@EVERY
def test_a_packet_takes_no_longer_than_its_slower_side(simulate, beats_from, rng, config):
    """The throughput rule, with both ends of the latency included: what ``capacity`` is for."""
    fmt = config.format
    for densities in ([0.0] * 3 + [1.0] * 9, [1.0, 0.0] * 6, [1.0, 1.0, 0.0, 0.5] * 3):
        for filling in (0, config.lanes - config.format.mask_words % config.lanes):
            blocks = [random_words(fmt.block_words, density, fmt, rng) for density in densities]
            blocks[0][:] = 0
            blocks[0][:filling] = 1
            packet = np.concatenate(blocks)
            beats = beats_from([packet], config)
            rows, taken = run(simulate, config, beats)
            assert rows[-1][0] - taken[0] + 1 <= packet_beats(packet, config) + 3


@EVERY
def test_holds_just_its_capacity(simulate, beats_from, config):
    """While no row leaves, beats land as long as their words fit; one more is held."""
    words = np.ones(4 * config.format.block_words, config.format.dtype)
    beats = beats_from([words], config)
    rows, taken = run(simulate, config, beats, sink="paused:60")
    check(rows, beats)
    sizes = [
        config.lanes + beat["place"]["has_mask"] * config.format.mask_words for beat in beats.ports
    ]
    capacity = rows_of_ring(config) * config.lanes
    fit = sum(total <= capacity for total in np.cumsum(sizes))
    assert sum(cycle < 60 for cycle in taken) == fit + 1


@EVERY
def test_rows_come_from_registers(simulate, cut, beats_from, rng, config):
    dut = Assembler(config)
    beats = beats_from(random_packets(config, rng, 6), config)

    async def bench(ctx):
        met, index = set(), 0
        await ctx.tick()
        for _ in range(60):
            for name, value in beats.ports[index % len(beats.ports)].items():
                ctx.set(getattr(dut, name), value)
            ctx.set(dut.valid, 1)
            ctx.set(dut.o.ready, bool(rng.integers(2)))
            inputs = [dut.valid, dut.place, dut.first, dut.mask, dut.kept, dut.bank_words]
            inputs += [dut.o.ready]
            cut(ctx, inputs, [dut.o.valid, dut.o.payload, dut.enable])
            enable = ctx.get(dut.enable)
            met.add((enable, ctx.get(dut.o.valid)))
            await ctx.tick()
            if enable:
                ctx.set(dut.bank_words, beats.words[index % len(beats.ports)])
                index += 1
        return met

    assert {(1, 1), (0, 1)} <= simulate(dut, bench)
