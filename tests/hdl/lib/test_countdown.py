"""Counting down, against plain differences."""

import pytest

from cdma.hdl.lib import countdown
from cdma.hdl.lib.countdown import Countdown


def check(play, size, packets, most=1 << 30):
    """Count each of ``packets`` down, to its last block or for ``most`` steps."""
    dut = Countdown(32, size)
    low = 1 << dut.low_bits
    rows, expected = [], []
    for words in packets:
        rows.append({"load": 1, "load_words": words, "step": 0})
        left, steps = words, 0
        while True:
            # What is loaded or stepped shows a cycle later; a pause changes nothing.
            expected.append((left % low, int(left <= size), int(words == 0)))
            if left <= size or steps == most:
                break
            pause = steps % 7 == 3
            rows.append({"load": 0, "step": not pause})
            left -= 0 if pause else size
            steps += 1
    outputs = ["words", "is_last", "is_zero"]
    seen = play(dut, [*rows, {"load": 0, "step": 0}], outputs)
    columns = [column[1:] for column in seen.values()]
    # Until the first step, the outputs show whether the packet has no words.
    found = list(zip(*columns, strict=True))
    assert found == expected


@pytest.mark.parametrize("size", [8, 24, 32, 96, 1024])
def test_few_blocks(play, rng, size):
    """Every end, and every number of blocks whose last bits matter."""
    near = [blocks * size + extra for blocks in range(5) for extra in (-2, -1, 0, 1, 2, size // 2)]
    drawn = [int(words) for words in rng.integers(20 * size, size=20)]
    check(play, size, [0, 0, *(words for words in near if words >= 0), *drawn])


@pytest.mark.parametrize("size", [8, 24])
@pytest.mark.parametrize("part", [1, 2, 3])
def test_a_borrow_goes_through_many_parts(play, rng, monkeypatch, size, part):
    """To the end of packets whose upper bits span many parts, shortened for this."""
    monkeypatch.setattr(countdown, "PART_BITS", part)
    edges = [1 << bits for bits in range(5, 13)]
    check(play, size, [edge + extra for edge in edges for extra in (-1, 0, int(rng.integers(9)))])


@pytest.mark.parametrize("size", [8, 32, 1024])
def test_near_the_largest_count(play, rng, size):
    """Past each power of two up to the count's last bit, none of which is near the end."""
    tops = [(1 << bits) + int(rng.integers(3 * size)) for bits in range(13, 32)]
    check(play, size, [(1 << 32) - 1, *tops, (1 << 32) - size], most=6)


def test_a_load_wins_over_a_step(play):
    rows = [{"load": 1, "load_words": 20, "step": 1}, {"load_words": 64}, {"load": 0, "step": 0}]
    seen = play(Countdown(32, 32), rows, ["words", "is_last"])
    assert (seen["words"], seen["is_last"]) == ([0, 20, 64], [1, 1, 0])


@pytest.mark.parametrize(("width", "size"), [(8, 64), (8, 0), (0, 1)])
def test_a_step_beyond_the_number_is_refused(width, size):
    with pytest.raises(ValueError, match=rf"^Size of a step must be .*, not {size}$"):
        Countdown(width, size)
