"""The window of a control, against shifts of one number."""

import pytest

from cdma.hdl.zvcplus.decompressor.window import ControlWindow


@pytest.mark.parametrize("width", [59, pytest.param(99, marks=pytest.mark.slow)])
def test_bits_are_cut_out_at_any_place(play, rng, width):
    size, depth = 128, 4
    steps = []
    for place in [*range(0, size * depth, 11), size * depth - 1, size * depth + 5]:
        rows = [int.from_bytes(rng.bytes(size // 8), "little") for _ in range(depth)]
        level = int(rng.integers(depth + 1))
        steps.append((rows, level, place))
    inputs, expected = [], []
    for rows, level, place in steps:
        given = {"rows": rows, "valid": (1 << level) - 1}
        given |= {"row": place // size, "bit": place % size}
        inputs += [
            given | {"load": 0},
            {"row": 0, "bit": 0, "load": 1},
            {"load": 0},
        ]
        whole = sum(row << size * k for k, row in enumerate(rows[:level]))
        expected.append(whole >> place & (1 << width) - 1)
    seen = play(ControlWindow(size, depth, width), inputs, ["bits"])["bits"]
    assert seen[2::3] == expected
    assert any(expected)


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ((100, 4, 20), "Bits of a row must be a multiple of 64, not 100"),
        ((128, 4, 129), "Bits of a window must be positive and at most 128, not 129"),
        ((128, 4, 0), "Bits of a window must be positive and at most 128, not 0"),
    ],
)
def test_sizes_are_refused(sizes, text):
    with pytest.raises(ValueError, match=f"^{text}$"):
        ControlWindow(*sizes)
