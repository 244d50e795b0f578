"""The report of a packet, against what the document says of the order of errors."""

import pytest

from cdma.format import ErrorCode
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.report import DecompressorReport

CONFIG = Config.of(4, 16)
MASK = CONFIG.format.mask_words


def beat(total=2, first=False, last=False, *, missing=0, truncated=False, past_end=False, more=0):
    """A report of the reader: ``missing`` words had not arrived, ``more`` words follow."""
    has_mask = MASK if first else 0
    behind = 1 + has_mask + total
    return {
        "used": has_mask + total,
        "has_words": total > 0,
        "behind": behind,
        "there": max(behind - missing + max(more, 0), 0),
        "has_more": more < 0,
        "tags": {
            "words": 1,
            "first": first,
            "last": last,
            "truncated": truncated,
            "past_end": past_end,
        },
    }


FIRST = beat(first=True)
SECOND = beat(4)
LAST_BLOCK = beat(3, first=True)
END = beat(1, last=True)
CUT_BLOCK = beat(3, first=True, missing=2)
CUT_MASK = beat(0, first=True, truncated=True), beat(0, last=True, truncated=True)
BYTES = CONFIG.format.word_bytes
BLOCK = (MASK + 6) * BYTES  # of FIRST and SECOND
WHOLE = BLOCK + (MASK + 4) * BYTES

PACKETS = {
    "good": ([FIRST, SECOND, LAST_BLOCK, END], 0, WHOLE),
    "one beat": ([beat(3, first=True, last=True)], 0, (MASK + 3) * BYTES),
    "empty": ([beat(0, last=True)], 0, 0),
    "words behind": ([FIRST, SECOND, LAST_BLOCK, beat(1, last=True, more=1)], 2, WHOLE),
    "other bytes behind": ([FIRST, SECOND, LAST_BLOCK, beat(1, last=True, more=-1)], 2, WHOLE),
    "words behind an inner beat": ([beat(2, first=True, more=2), beat(4, last=True)], 0, BLOCK),
    "bytes of an empty packet": ([beat(0, last=True, more=-1)], 2, 0),
    "words cut": ([FIRST, SECOND, LAST_BLOCK, beat(1, last=True, missing=1)], 1, BLOCK),
    "words cut in the first block": (
        [FIRST, beat(4, missing=3), *CUT_MASK],
        1,
        0,
    ),
    "mask cut": (
        [FIRST, SECOND, *CUT_MASK],
        1,
        BLOCK,
    ),
    "no words wanted where none are": (
        [beat(1, first=True), beat(0, missing=1, last=True)],
        0,
        (MASK + 1) * BYTES,
    ),
    "mask past the end": ([FIRST, SECOND, LAST_BLOCK, beat(1, last=True, past_end=True)], 3, BLOCK),
    "past the end comes before words that are cut": (
        [FIRST, SECOND, CUT_BLOCK, beat(1, last=True, missing=1, past_end=True)],
        3,
        BLOCK,
    ),
    "cut in an earlier block comes first": (
        [beat(2, first=True, missing=1), beat(3, first=True, last=True, past_end=True)],
        1,
        0,
    ),
    "past the end comes before bytes behind": (
        [beat(3, first=True, last=True, past_end=True, more=-1)],
        3,
        0,
    ),
}


@pytest.mark.parametrize("name", PACKETS)
def test_first_error_is_reported(play, name):
    """After every other packet and before every other, with pauses between beats."""
    order = [other for each in PACKETS for other in (each, name)]
    rows, ends = [], []
    for other in order:
        beats, code, length = PACKETS[other]
        for read in beats:
            rows.append({"enable": 0, "read": beat(9 % 5, first=True, last=True)})
            rows.append({"enable": 1, "read": read})
        ends.append((len(rows), code, length))
    rows.append({"enable": 0})
    seen = play(DecompressorReport(CONFIG), rows, ["status"])["status"]
    for cycle, code, length in ends:
        assert seen[cycle] == {"bytes": length, "error": ErrorCode(code)}


def test_words_of_long_packets_are_counted(play):
    """And the place of the block in error is that of its mask."""
    rows = [{"enable": 1, "read": read} for _ in range(300) for read in (FIRST, SECOND)]
    rows += [{"read": beat(2, first=True)}, {"read": beat(1, last=True, missing=1)}, {"enable": 0}]
    seen = play(DecompressorReport(CONFIG), rows, ["status"])["status"]
    assert seen[-1] == {"bytes": 300 * BLOCK, "error": ErrorCode.TRUNCATED}
