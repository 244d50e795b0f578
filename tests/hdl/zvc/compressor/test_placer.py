"""Places in the stream, against a count of words."""

import pytest

from cdma.hdl.zvc.compressor.intake import Intake
from cdma.hdl.zvc.compressor.placer import Placer
from cdma.hdl.zvc.config import Config

CONFIGS = [
    Config.of(8, 32),
    Config.of(4, 16),
    Config.of(2, 8, 32),  # a mask of two beats
    Config.of(4, 8, 24),
    Config.of(16, 16),  # halves are counted before a register
    Config.of(32, 8),  # the prefix sum has a register
    Config.of(8, 8, 8),  # a block a beat
]
EVERY = pytest.mark.parametrize("config", CONFIGS, ids=[config.name for config in CONFIGS])


def beats_of(config, rng, packets):
    """Beats of random packets, empty ones and such that end with an empty beat among them."""
    beats, lanes = [], config.lanes
    for _ in range(packets):
        words = int(rng.integers(3 * config.format.block_words))
        words -= int(rng.random() < 0.3) * (words % lanes)
        counts = [lanes] * (words // lanes) + [words % lanes] * (words % lanes > 0)
        if not counts or rng.random() < 0.2:
            counts = [lanes] * (words // lanes) + [0]
        density = rng.choice([0, 0.5, 1])
        for index, count in enumerate(counts):
            mask = sum(1 << lane for lane in range(count) if rng.random() < density)
            beats.append(
                {
                    "valid": 1,
                    "mask": mask,
                    "keep": (1 << count) - 1,
                    "first": index % config.block_beats == 0,
                    "last": index == len(counts) - 1,
                }
            )
    return beats


def stream_of(beats, config):
    """Words of the packet's stream before each beat, behind its mask, and with it."""
    at = 0
    for beat in beats:
        begins = at + (config.format.mask_words if beat["first"] and beat["keep"] else 0)
        after = begins + beat["mask"].bit_count()
        yield at, begins, after
        at = 0 if beat["last"] else after


@pytest.mark.parametrize(
    ("name", "cycles"), [("16x16", 3), ("16x16-asic", 2), ("16x16b32", 2), ("8x32", 2), ("32x8", 3)]
)
def test_the_register_of_the_count_delays_no_block(name, cycles):
    config = Config.parse(name)
    assert Placer.latency(config) == cycles
    assert Intake.rows(config) == max(4 if config.lanes > 16 else 3, config.block_beats)


@EVERY
def test_every_beat_gets_its_place(play, place_of, rng, config):
    beats = beats_of(config, rng, 25)
    gaps = rng.integers(3, size=len(beats)) * (rng.random(len(beats)) < 0.3)
    rows, came = [], []
    for beat, gap in zip(beats, gaps, strict=True):
        rows += [{"valid": 0, "mask": 1}] * int(gap)
        came.append(len(rows))
        rows.append(beat)
    latency = Placer.latency(config)
    rows += [{"valid": 0}] * (latency + 1)
    seen = play(Placer(config), rows, ["o_valid", "o"])
    given = [cycle for cycle, valid in enumerate(seen["o_valid"]) if valid]
    assert given == [cycle + latency for cycle in came]
    placed = [seen["o"][cycle] for cycle in given]
    lanes = config.lanes
    stream = stream_of(beats, config)
    for item, beat, (before, begins, after) in zip(placed, beats, stream, strict=True):
        has_mask = beat["first"] and beat["keep"] > 0
        expected = place_of(before, after, has_mask, beat["last"], config)
        assert {name: item["place"][name] for name in expected} == expected
        # The last level of the routes is the best check: the bank of the upper half's first word.
        below = (beat["mask"] & (1 << lanes // 2) - 1).bit_count()
        *_, starts = item["routes"].values()
        assert starts == [(begins + below) % lanes]
