"""The first difference is named."""

from types import SimpleNamespace

import numpy as np
import pytest

from cdma.golden import compress
from cdma.hdl.zvc.config import Config
from cdma.sim.compare import Expected, first_difference, wrong_count

CONFIG = Config.of(2, 16, 16)
WORDS = np.arange(6, dtype="<u2")
#: Of 20 words: two masks of 2 bytes; words 1, 3, 5, ... are not zero.
STREAM = compress(np.arange(20, dtype="<u2") % 2 * 0x1234, CONFIG.format).tobytes()


def expected(**changes):
    fields = {"words": WORDS, "output": WORDS.tobytes(), "status": (12, 0), "unit_bytes": 2}
    return Expected(**{**fields, **changes})


def packet(**changes):
    fields = {"output": WORDS.tobytes(), "status": (12, 0), "link": None, "link_status": None}
    fields |= {"beats_out": 3, "last_cycle": 5, "status_cycle": 6}
    fields |= {"output_cycles": (2, 4, 5), "link_cycles": ()}
    return SimpleNamespace(**fields | changes)


def flipped(index):
    data = bytearray(WORDS.tobytes())
    data[index] ^= 0x80
    return bytes(data)


def test_equal_is_silent():
    assert first_difference([packet()], [expected()], CONFIG) == ""


@pytest.mark.parametrize(
    ("got", "want", "message"),
    [
        (
            {"output": flipped(7)},
            {},
            "packet 0: word 3 (cycle 4, beat 1, block 0, word 3) is 0x8003, expected 0x0003; from "
            "word 0 on: 0000 0001 0002 8003 0004 0005, expected 0000 0001 0002 0003 0004 0005",
        ),
        (
            {"output": WORDS.tobytes()[:-1]},
            {},
            "packet 0: output has 11 bytes, expected 12 (the same up to there)",
        ),
        ({"beats_out": 4}, {}, "packet 0: output took 4 beats, expected 3"),
        ({"status": (12, 1)}, {}, "packet 0: status is 12, 1, expected 12, 0"),
        (
            {"link": b"\1\2"},
            {"link": b"\1\3"},
            "packet 0: stream byte 1 (beat 0, block 0, mask of words 8 to 15) is 0x02, expected "
            "0x03; from byte 0 on: 01 02, expected 01 03",
        ),
        (
            {"link_status": (6, 9)},
            {"link_status": (6, 8)},
            "packet 0: compressor status is 6, 9, expected 6, 8",
        ),
    ],
)
def test_first_difference_is_named(got, want, message):
    assert first_difference([packet(**got)], [expected(**want)], CONFIG) == message


def test_an_empty_packet_takes_a_beat():
    empty = {"output": b""}
    assert first_difference([packet(**empty, beats_out=1)], [expected(**empty)], CONFIG) == ""
    message = first_difference([packet(**empty, beats_out=0)], [expected(**empty)], CONFIG)
    assert message == "packet 0: output took 0 beats, expected 1"


def test_later_packet_is_named():
    pair = [packet(), packet(output=flipped(0))]
    message = first_difference(pair, [expected(), expected()], CONFIG)
    assert message.startswith("packet 1: word 0 (cycle 2, beat 0, block 0, word 0) is 0x0080, exp")


@pytest.mark.parametrize(
    ("at", "place"),
    [
        (0, "beat 0, block 0, mask of words 0 to 7"),
        (1, "beat 0, block 0, mask of words 8 to 15"),
        (2, "beat 0, block 0, byte 0 of word 1"),
        (7, "beat 1, block 0, byte 1 of word 5"),
        (17, "beat 4, block 0, byte 1 of word 15"),
        (18, "beat 4, block 1, mask of words 0 to 7"),
        (len(STREAM) - 1, "beat 5, block 1, byte 1 of word 3"),
        (len(STREAM), "beat 6, behind the last block"),
    ],
)
def test_a_byte_of_the_stream_is_named_by_what_it_is(at, place):
    words = np.arange(20, dtype="<u2") % 2 * 0x1234
    want = bytearray(STREAM + bytes(1))
    got = bytearray(want)
    got[at] ^= 1
    pair = packet(output=bytes(got), output_cycles=()), expected(
        words=words, output=bytes(want), unit_bytes=1
    )  # fmt: skip
    message = first_difference([pair[0]], [pair[1]], CONFIG)
    assert message.startswith(f"packet 0: byte {at} ({place}) is ")


def test_missing_and_extra_packets_are_reported():
    assert wrong_count({"m_axis": 2, "m_axis_sts": 2}, 2) == ""
    missing = wrong_count({"m_axis": 2, "m_axis_sts": 1}, 2)
    assert missing == "m_axis_sts gave 1 packets, expected 2"
    assert wrong_count({"m_axis": 3}, 2) == "m_axis gave 3 packets, expected 2"


def test_early_status_is_reported():
    early = packet(status_cycle=5)
    message = first_difference([early], [expected()], CONFIG)
    assert message == "packet 0: status came before the last beat was taken"
