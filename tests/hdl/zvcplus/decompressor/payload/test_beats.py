"""Blocks cut into beats and placed in rows, against sums of bits."""

import numpy as np
import pytest

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.payload.beats import BlockBeats
from cdma.hdl.zvcplus.decompressor.payload.placer import BeatPlacer

CONFIG = Config("fp32")
INT8 = Config("int8")
LEFT = (Config("fp32", "left"), Config("fp16", "left"), Config("int8", "left"))
BEATS = CONFIG.block_beats


def blocks_of(rng, number: int, config: Config) -> list[dict]:
    """Blocks of packets of a few blocks."""
    word, blocks = config.word, []
    size = word.block_words
    for _ in range(number):
        raw = bool(rng.random() < 0.2)
        mask = int.from_bytes(rng.bytes(size // 8), "little")
        mask &= int.from_bytes(rng.bytes(size // 8), "little")
        widths = rng.integers(word.mantissa, word.bits + 1, size=config.block_groups).tolist()
        code = {"raw": raw}
        if word.is_float:
            code |= {"wide": 0, "k": 0, "base": int(rng.integers(1 << word.exponent))}
        if raw:
            mask, widths = (1 << size) - 1, [word.bits] * len(widths)
        if config.has_repeats:
            used = not raw and rng.random() < 0.6
            repeated = mask & int.from_bytes(rng.bytes(size // 8), "little") if used else 0
        # A block without words has no control, so it is not raw.
        last, words = bool(rng.random() < 0.4), int(rng.integers(raw, size + 1))
        block = {"mask": mask, "widths": widths, "code": code, "last": last, "words": words}
        block["parity"] = int(rng.integers(2))
        if config.has_repeats:
            block |= {"has_repeats": used, "repeated": repeated}
            block["failed"] = int(rng.integers(2))
        blocks.append(block)
    return blocks


def beats_of(blocks: list[dict], config: Config) -> list[dict]:
    """The beats that are to be made."""
    lanes, beats = config.lanes, []
    for block in blocks:
        words = block["words"] if block["last"] else config.word.block_words
        given = max(1, -(-words // lanes))
        per_word = np.repeat(block["widths"], config.word.block_words // len(block["widths"]))
        for k in range(BEATS if not block["last"] or block["code"]["raw"] else given):
            mask = block["mask"] >> lanes * k & (1 << lanes) - 1
            repeated = block.get("repeated", 0) >> lanes * k & (1 << lanes) - 1
            sent = np.array([(mask & ~repeated) >> lane & 1 for lane in range(lanes)])
            ends = np.cumsum(per_word[lanes * k :][:lanes] * sent).tolist()
            tags = {"mask": mask, "code": block["code"], "given": int(k < given)}
            tags["parity"] = block["parity"]
            if not config.word.is_float:
                tags["widths"] = block["widths"][2 * k : 2 * k + 2]
            if config.has_repeats:
                tags |= {"repeated": repeated, "failed": block["failed"]}
            tags["words"] = min(max(words - lanes * k, 0), lanes)
            tags["last"] = int(block["last"] and k == given - 1)
            tags["final"] = int(
                block["last"] and k == (BEATS if block["code"]["raw"] else given) - 1
            )
            beats.append(
                {
                    "starts": [0, *(end % 256 for end in ends[:-1])],
                    "length": ends[-1],
                    "first": int(k == 0),
                    "begins": 3 * (k == 0),
                    "tags": tags,
                }
            )
    return beats


def bits_of(block: dict) -> int:
    """A bit per word of the mask, 1 for repeated words."""
    marked = [at for at in range(block["mask"].bit_length()) if block["mask"] >> at & 1]
    return sum((block["repeated"] >> at & 1) << rank for rank, at in enumerate(marked))


@pytest.mark.parametrize(
    "config",
    [CONFIG, *(pytest.param(each, marks=pytest.mark.slow) for each in (INT8, *LEFT))],
    ids=lambda each: each.name,
)
@pytest.mark.parametrize("stalls", ["never", "bernoulli:0.4"])
def test_blocks_are_cut(exchange, rng, stalls, config):
    blocks = blocks_of(rng, 40, config)
    expected = beats_of(blocks, config)
    sends = {"i": [{k: v for k, v in block.items() if k != "repeated"} for block in blocks]}
    if config.has_repeats:
        sends["i_repeats"] = [bits_of(block) for block in blocks if block["has_repeats"]]
    passed = exchange(BlockBeats(config), sends, {"o": len(expected)}, stalls=stalls)
    assert passed["o"].payloads == expected
    if stalls == "never":
        cycles = passed["o"].cycles
        first = 2 + config.has_repeats
        assert cycles == list(range(first, first + len(expected)))


@pytest.mark.parametrize("stalls", ["never", "bernoulli:0.4"])
def test_beats_are_placed(exchange, rng, stalls):
    """Each block begins at a place that is given, each other beat behind the one before."""
    depth = 8
    beats = beats_of([block | {"last": False} for block in blocks_of(rng, 30, CONFIG)], CONFIG)
    fronts, expected, place = [], [], 0
    for beat in beats:
        if beat["first"]:
            place = (place + int(rng.integers(60))) % (256 * depth)
            wraps = int(rng.integers(2))
            row = (place // 256 - wraps) % depth
            front = {"slot": 1 << row, "wraps": wraps, "bit": place % 256}
            fronts.append(front | {"crosses": int(rng.integers(2))})
        starts = [(place + start) % 256 for start in beat["starts"]]
        placed = {"slot": 1 << place // 256, "bit": place % 256, "starts": starts}
        placed |= {"is_odd": place // 256 % 2}
        placed |= {"is_empty": int(beat["length"] == 0), "tags": beat["tags"]}
        expected.append(placed | {"crosses": fronts[-1]["crosses"] if beat["first"] else 0})
        place = (place + beat["length"]) % (256 * depth)
    sends = {"i": beats, "i_front": fronts}
    passed = exchange(BeatPlacer(CONFIG, depth), sends, {"o": len(expected)}, stalls=stalls)
    assert passed["o"].payloads == expected
