"""The routing networks, against what their docstrings say of order and place."""

from itertools import product

import numpy as np
import pytest

from cdma.hdl.butterfly import Compactor, Expander

WORD_BITS = 16


def ranks_of(mask, lanes):
    """Number of marked lanes below each."""
    return [(mask & (1 << lane) - 1).bit_count() for lane in range(lanes)]


def cases(lanes, rng):
    """Masks with offsets: all of both where there are few, all masks up to 8 lanes, else random."""
    if lanes <= 4:
        return list(product(range(1 << lanes), range(lanes)))
    if lanes == 8:
        return [(mask, int(rng.integers(lanes))) for mask in range(1 << lanes)]
    drawn = [(0, 0), ((1 << lanes) - 1, 0), ((1 << lanes) - 1, lanes - 1)]
    for density in rng.random(80):
        bits = np.packbits(rng.random(lanes) < density, bitorder="little")
        drawn.append((int.from_bytes(bits.tobytes(), "little"), int(rng.integers(lanes))))
    return drawn


def random_words(lanes, count, rng):
    """Rows of words, all of them different and none of them zero."""
    return (1 + rng.permutation(count * lanes) % 65535).reshape(count, lanes).tolist()


def marked(values, mask):
    return [value for lane, value in enumerate(values) if mask >> lane & 1]


LANES = pytest.mark.parametrize("lanes", [2, 4, 8, 16, 32, 64])


@LANES
def test_compactor_sends_marked_words_to_consecutive_banks(play, rng, lanes):
    compactor = Compactor(lanes, WORD_BITS)
    latency = compactor.latency
    assert latency == lanes.bit_length() - 2
    chosen = cases(lanes, rng)
    words = random_words(lanes, len(chosen), rng)
    rows = [
        {"words": beat, "mask": mask, "ranks": ranks_of(mask, lanes), "offset": offset}
        for beat, (mask, offset) in zip(words, chosen, strict=True)
    ]
    seen = play(compactor, rows + [{"mask": 0}] * latency, ["bank_words", "bank_mask"])
    # A new beat entered in each cycle, and each came out after just the promised latency.
    for cycle, (beat, (mask, offset)) in enumerate(zip(words, chosen, strict=True), latency):
        banks = [(offset + rank) % lanes for rank in range(mask.bit_count())]
        assert seen["bank_mask"][cycle] == sum(1 << bank for bank in banks)
        assert [seen["bank_words"][cycle][bank] for bank in banks] == marked(beat, mask)


@LANES
def test_expander_brings_words_to_marked_lanes_and_zeros_to_others(play, rng, lanes):
    expander = Expander(lanes, WORD_BITS)
    latency = expander.latency
    assert latency == lanes.bit_length() - 1
    chosen = cases(lanes, rng)
    words = random_words(lanes, len(chosen), rng)
    controls = [
        {"mask": mask, "ranks": ranks_of(mask, lanes), "offset": offset} for mask, offset in chosen
    ]
    # The words are wanted a cycle after the rest.
    late_words = [{}, *({"bank_words": beat} for beat in words), *[{}] * latency]
    controls += [{}] * (len(late_words) - len(controls))
    rows = [control | beat for control, beat in zip(controls, late_words, strict=True)]
    seen = play(expander, rows, ["words"])["words"]
    for cycle, (beat, (mask, offset)) in enumerate(zip(words, chosen, strict=True), latency):
        ranks = ranks_of(mask, lanes)
        assert seen[cycle] == [
            beat[(offset + ranks[lane]) % lanes] if mask >> lane & 1 else 0 for lane in range(lanes)
        ]


@pytest.mark.parametrize("lanes", [2, 8, 32])
def test_expander_undoes_compactor(play, rng, lanes):
    chosen = cases(lanes, rng)
    words = random_words(lanes, len(chosen), rng)
    controls = [
        {"mask": mask, "ranks": ranks_of(mask, lanes), "offset": offset} for mask, offset in chosen
    ]
    rows = [control | {"words": beat} for control, beat in zip(controls, words, strict=True)]
    compactor, expander = Compactor(lanes, WORD_BITS), Expander(lanes, WORD_BITS)
    idle = [{}] * (compactor.latency + expander.latency + 1)
    packed = play(compactor, rows + idle, ["bank_words"])["bank_words"][compactor.latency :]
    late_words = [{}, *({"bank_words": beat} for beat in packed[: len(chosen)])]
    rows = [control | beat for control, beat in zip([*controls, {}], late_words, strict=True)]
    unpacked = play(expander, rows + idle, ["words"])["words"][expander.latency :]
    for beat, (mask, _), result in zip(words, chosen, unpacked, strict=False):
        assert result == [word if mask >> lane & 1 else 0 for lane, word in enumerate(beat)]


@pytest.mark.parametrize("network", [Compactor, Expander])
@pytest.mark.parametrize("lanes", [0, 1, 3, 12])
def test_lanes_that_make_no_butterfly(network, lanes):
    message = f"^Number of lanes must be a power of two of at least 2, not {lanes}$"
    with pytest.raises(ValueError, match=message):
        network(lanes, 32)
