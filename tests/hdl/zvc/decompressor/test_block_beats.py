"""Beats of blocks, against a walk through their masks."""

import numpy as np
import pytest
from sized import corners

from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.beats.block_beats import BlockBeats

CONFIGS = [
    Config.of(8, 32),
    Config.of(4, 16),
    Config.of(2, 8, 32),
    Config.of(4, 8, 24),
    Config.of(8, 8, 8),  # a block a beat
    Config.of(32, 8),  # the prefix sum has a register
]
#: Corners of all of them; the other sizes are slow.
EVERY = pytest.mark.parametrize("config", corners(CONFIGS, ("8x32", "4x8b24", "8x8b8")))


def random_blocks(config, rng, packets):
    """Blocks of packets, empty ones and such that were cut short or marked past their end."""
    block_words, lanes = config.format.block_words, config.lanes
    blocks = []
    for _ in range(packets):
        words = int(rng.integers(0, 4 * block_words)) * int(rng.random() < 0.9)
        if words == 0:
            void = {"beats": 0, "single": 1, "words": 0, "last": 1, "void": 1, "truncated": 0}
            blocks.append({"mask": 5, **void})
        is_truncated = 0
        for left in range(words, 0, -block_words):
            size = min(left, block_words)
            reach = block_words if rng.random() < 0.2 else size
            density = rng.choice([0, 0.3, 1])
            mask = sum(1 << index for index in range(reach) if rng.random() < density)
            is_truncated |= int(rng.random() < 0.05)
            blocks.append(
                {
                    "mask": mask,
                    "beats": -(-size // lanes) - 1,
                    "single": size <= lanes,
                    "words": (size - 1) % lanes + 1,
                    "last": int(left <= block_words),
                    "void": 0,
                    "truncated": is_truncated,
                }
            )
    return blocks


def beats_of_blocks(blocks, config):
    """What is owed for each beat."""
    lanes = config.lanes
    beats = []
    for block in blocks:
        data_words = block["beats"] * lanes + block["words"]
        mask = 0 if block["truncated"] or block["void"] else block["mask"]
        within = mask & (1 << data_words) - 1
        for index in range(block["beats"] + 1):
            part = within >> index * lanes & (1 << lanes) - 1
            is_first = index == 0 and not block["void"]
            is_last = block["last"] and index == block["beats"]
            beats.append(
                {
                    "mask": part,
                    "ranks": [(part & (1 << lane) - 1).bit_count() for lane in range(lanes)],
                    "total": part.bit_count(),
                    "is_empty": int(part == 0),
                    "tags": {
                        "words": block["words"],
                        "first": int(is_first),
                        "final": int(index == block["beats"]),
                        "last": int(is_last),
                        "truncated": block["truncated"],
                        "past_end": int(is_last and within != mask),
                    },
                }
            )
    return beats


def run(exchange, config, blocks, **options):
    """Transfers. Checks that ``mask`` is the mask of a block in the cycle after its transfer, and
    that ``next_ready`` is ``i.ready`` of the next cycle."""
    dut, seen, ready = BlockBeats(config), [0], [None]

    def each(ctx, passed):
        assert ready[-1] in (None, ctx.get(dut.i.ready))
        ready.append(ctx.get(dut.next_ready))
        if len(passed["i"].cycles) > seen[0]:
            assert ctx.get(dut.mask) == blocks[seen[0]]["mask"]
            seen[0] += 1

    expected = beats_of_blocks(blocks, config)
    passed = exchange(dut, {"i": blocks}, {"o": len(expected)}, each=each, **options)
    assert seen[0] == len(blocks)
    assert passed["o"].payloads == expected
    return passed


@EVERY
@pytest.mark.parametrize("stalls", ["never", "bernoulli:0.5", {"o": "bursts:3,8"}], ids=str)
def test_beats_are_counted(exchange, rng, config, stalls):
    run(exchange, config, random_blocks(config, rng, 30), stalls=stalls)


@EVERY
def test_one_beat_a_cycle_from_block_to_block(exchange, rng, config):
    blocks = random_blocks(config, rng, 8)
    passed = run(exchange, config, blocks)
    assert passed["o"].cycles[0] == passed["i"].cycles[0] + BlockBeats.latency(config)
    assert np.diff(passed["o"].cycles).tolist() == [1] * (len(passed["o"].cycles) - 1)
