"""The window of a control, against shifts of one number."""

import pytest

from cdma.hdl.zvcplus.decompressor.window import ControlWindow, chunk_bits


@pytest.mark.parametrize("width", [1, 59, pytest.param(99, marks=pytest.mark.slow), 128, 129, 193])
def test_bits_are_cut_out_at_any_place(play, rng, width):
    """Behind the last slot is the first: the stream goes around."""
    size, depth = 128, 4
    steps = []
    for place in [*range(0, size * depth, 11), size * depth - 1]:
        rows = [int.from_bytes(rng.bytes(size // 8), "little") for _ in range(depth)]
        steps.append((rows, place))
    inputs, expected = [], []
    for rows, place in steps:
        given = {"rows": rows, "slot": 1 << place // size, "bit": place % size}
        given |= {"chunk": 1 << place % size // chunk_bits(size, width)}
        inputs += [
            given | {"load": 0},
            {"slot": 1, "bit": 0, "chunk": 1, "load": 1},
            {"load": 0},
        ]
        whole = sum(row << size * k for k, row in enumerate([*rows, *rows]))
        expected.append(whole >> place & (1 << width) - 1)
    seen = play(ControlWindow(size, depth, width), inputs, ["bits"])["bits"]
    assert seen[2::3] == expected
    assert any(expected)


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ((192, 4, 20), "Bits of a row must be a power of two of at least 64, not 192"),
        ((32, 4, 20), "Bits of a row must be a power of two of at least 64, not 32"),
        ((128, 1, 20), "Rows of a window must be at least 2, not 1"),
        ((128, 4, 194), "Bits of a window must be positive and at most 193, not 194"),
        ((128, 4, 0), "Bits of a window must be positive and at most 193, not 0"),
        ((128, 3, 129), "Rows of a window beyond a row must be even, not 3"),
    ],
)
def test_sizes_are_refused(sizes, text):
    with pytest.raises(ValueError, match=f"^{text}$"):
        ControlWindow(*sizes)
