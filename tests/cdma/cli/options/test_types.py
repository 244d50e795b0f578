"""Types of options."""

from argparse import ArgumentTypeError

import pytest

from cdma.cli import options


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (options.natural, "0", 0),
        (options.positive, "7", 7),
        (options.size, "5", 5),
        (options.size, "60K", 60 << 10),
        (options.size, "2G", 2 << 30),
        (options.rising, "0,20,100", (0, 20, 100)),
        (options.shape_of, "2,0,3", (2, 0, 3)),
        (options.shape_of, ",".join("1" * 32), (1,) * 32),
        (options.shape_of, f"0,{2**60 - 1}", (0, 2**60 - 1)),
    ],
)
def test_takes(kind, text, value):
    assert kind(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (options.natural, "-1"),
        (options.natural, "²"),
        (options.positive, "0"),
        (options.size, "0K"),
        (options.size, "K"),
        (options.size, "5X"),
        (options.rising, "5,5"),
        (options.shape_of, "2,-3"),
        (options.shape_of, ",".join("1" * 33)),
        (options.shape_of, f"0,{2**60}"),
    ],
)
def test_refuses(kind, text):
    with pytest.raises(ArgumentTypeError):
        kind(text)
