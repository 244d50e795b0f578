"""Blocks cut into beats and placed in rows, against sums of bits."""

from itertools import count

import pytest

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.beats import BlockBeats
from cdma.hdl.zvcplus.decompressor.placer import BeatPlacer

CONFIG = Config("fp32")
LANES, BEATS = CONFIG.lanes, CONFIG.block_beats


def blocks_of(rng, number: int) -> list[dict]:
    """Blocks of packets of a few blocks."""
    blocks = []
    for _ in range(number):
        raw = bool(rng.random() < 0.2)
        mask = (1 << 32) - 1 if raw else int(rng.integers(1 << 32)) & int(rng.integers(1 << 32))
        width = 32 if raw else int(rng.integers(23, 33))
        code = {"raw": raw, "wide": 0, "k": 0, "base": int(rng.integers(256))}
        last, words = bool(rng.random() < 0.4), int(rng.integers(33))
        blocks.append({"mask": mask, "width": width, "code": code, "last": last, "words": words})
    return blocks


def beats_of(blocks: list[dict]) -> list[dict]:
    """The beats that are to be made."""
    beats = []
    for block in blocks:
        words = block["words"] if block["last"] else LANES * BEATS
        given = max(1, -(-words // LANES))
        for k in range(BEATS if not block["last"] or block["code"]["raw"] else given):
            mask = block["mask"] >> LANES * k & (1 << LANES) - 1
            ranks = [(mask & (1 << lane) - 1).bit_count() for lane in range(LANES)]
            tags = {"mask": mask, "code": block["code"], "given": int(k < given)}
            tags["words"] = min(max(words - LANES * k, 0), LANES)
            tags["last"] = int(block["last"] and k == given - 1)
            tags["final"] = int(
                block["last"] and k == (BEATS if block["code"]["raw"] else given) - 1
            )
            beats.append(
                {
                    "starts": [rank * block["width"] % 256 for rank in ranks],
                    "length": mask.bit_count() * block["width"],
                    "first": int(k == 0),
                    "tags": tags,
                }
            )
    return beats


@pytest.mark.parametrize("stalls", ["never", "bernoulli:0.4"])
def test_blocks_are_cut(exchange, rng, stalls):
    blocks = blocks_of(rng, 40)
    expected = beats_of(blocks)
    passed = exchange(BlockBeats(CONFIG), {"i": blocks}, {"o": len(expected)}, stalls=stalls)
    assert passed["o"].payloads == expected
    if stalls == "never":
        cycles = passed["o"].cycles
        assert cycles == list(range(1, 1 + len(expected)))


@pytest.mark.parametrize("stalls", ["never", "bernoulli:0.4"])
def test_beats_are_placed(exchange, rng, stalls):
    blocks = [block | {"last": False} for block in blocks_of(rng, 30)]
    beats, skips = beats_of(blocks), rng.integers(60, size=len(blocks)).tolist()
    placer, start = BeatPlacer(CONFIG), 57
    expected, row, place, left = [], 0, start, iter(skips)
    for beat in beats:
        place += next(left) if beat["first"] else 0
        passes, first = place // 256 - row, place % 256
        row, place = place // 256, place + beat["length"]
        touched = (place - 1) // 256 - row + 1 if beat["length"] else 0
        expected.append(
            {
                "passes": passes,
                "rows": passes + touched,
                "place": first,
                "starts": beat["starts"],
                "tags": beat["tags"],
            }
        )

    cycles = count()

    def begin(ctx, passed):
        ctx.set(placer.start, next(cycles) == 0)
        ctx.set(placer.start_bits, start)

    sends = {"i": beats, "i_skip": skips}
    # The first beat comes after the start.
    passed = exchange(
        placer,
        sends,
        {"o": len(expected)},
        stalls={"i": "paused:3", "i_skip": stalls, "o": stalls},
        each=begin,
    )
    assert passed["o"].payloads == expected
