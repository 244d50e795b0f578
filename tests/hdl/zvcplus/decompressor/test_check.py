"""The first error of a packet, in the order of the stream, and the bytes before it."""

import pytest

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.check import StreamCheck
from cdma.zvcplus import ErrorCode

#: Bits from each step's place to the next.
LENGTHS = [59, 700, 1083, 11, 256, 8, 5]
FLAGS = ("is_over", "is_cut", "is_reserved", "is_past", "is_long", "is_trailing")
OF_REPEATS = ("is_many", "is_miscounted")
CASES = {
    "none": ({}, ErrorCode.NONE, 6),
    "trailing": ({6: ["is_trailing"]}, ErrorCode.TRAILING, 6),
    "trailing counts at the end": ({3: ["is_trailing"]}, ErrorCode.NONE, 6),
    "cut": ({2: ["is_cut"]}, ErrorCode.TRUNCATED, 2),
    "cut at the start": ({0: ["is_cut"]}, ErrorCode.TRUNCATED, 0),
    "over": ({3: ["is_over", "is_cut"]}, ErrorCode.TRUNCATED, 2),
    "over at the end": ({6: ["is_over", "is_cut", "is_trailing"]}, ErrorCode.TRUNCATED, 5),
    "reserved": ({4: ["is_reserved"]}, ErrorCode.RESERVED, 3),
    "past": ({4: ["is_past", "is_long", "is_over", "is_cut"]}, ErrorCode.MASK_PAST_END, 3),
    "long": ({1: ["is_long"], 6: ["is_trailing"]}, ErrorCode.TOO_LONG, 0),
    "a cut control has no other error": ({2: ["is_cut"], 3: ["is_past"]}, ErrorCode.TRUNCATED, 2),
    "the first": ({2: ["is_past"], 4: ["is_reserved"]}, ErrorCode.MASK_PAST_END, 1),
}


CASES_OF_REPEATS = CASES | {
    "many": ({3: ["is_many", "is_long"]}, ErrorCode.COUNT, 2),
    "miscounted": ({4: ["is_miscounted"]}, ErrorCode.COUNT, 3),
    "over and miscounted": ({4: ["is_over", "is_miscounted"]}, ErrorCode.TRUNCATED, 3),
    "miscounted at the end": ({6: ["is_miscounted", "is_trailing"]}, ErrorCode.COUNT, 5),
}


@pytest.mark.parametrize("repeats", ["none", "left"])
def test_first_error_and_length(play, repeats):
    """Every packet behind every other."""
    cases = CASES if repeats == "none" else CASES_OF_REPEATS
    flags = FLAGS if repeats == "none" else FLAGS + OF_REPEATS
    rows, ends, packets = [], [], []
    for name in cases:
        for other in (name, "none"):
            place = 0
            places = []
            for number, length in enumerate(LENGTHS):
                places.append(place)
                wrong = cases[other][0].get(number, ())
                row = dict.fromkeys(flags, 0) | dict.fromkeys(wrong, 1)
                row |= {"is_first": number == 0, "is_second": number == 1, "is_end": number == 6}
                row |= {"bit": place % 256, "rows": (place + length) // 256 - place // 256}
                late = {name: row.pop(name) for name in ("is_miscounted",) if name in row}
                rows += [row | {"step": 1}, late | {"step": 0}]
                place += length
            packets.append(other)
            ends.append((len(rows) + 1, places))
    rows += [{"step": 0}] * 2
    seen = play(StreamCheck(Config("fp32", repeats)), rows, ["end"])["end"]
    for other, (cycle, places) in zip(packets, ends, strict=True):
        _, error, right = cases[other]
        assert seen[cycle] == {"error": error, "bytes": -(-places[right] // 8)}, other
