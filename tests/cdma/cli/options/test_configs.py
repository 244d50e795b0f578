"""Options of a unit's size."""

import argparse

import pytest

from cdma.cli.options import add_config_options, add_format_options, config_from
from cdma.cli.options.configs import format_from
from cdma.errors import UserError
from cdma.golden import Format
from cdma.hdl.zvc.config import Config


def parse(add, *argv):
    parser = argparse.ArgumentParser()
    add(parser)
    return parser.parse_args(argv)


@pytest.mark.parametrize(
    ("argv", "word_bits", "expected"),
    [
        ((), 32, Format(32, 32)),
        ((), 64, Format(64, 64)),
        (("--word-bits", "8"), 64, Format(8, 128)),
        (("--word-bits", "16", "--block-words", "48"), 32, Format(16, 48)),
    ],
)
def test_format(argv, word_bits, expected):
    assert format_from(parse(add_format_options, *argv), word_bits) == expected


def test_config():
    assert config_from(parse(add_config_options)) == Config.of(8, 32)
    args = parse(add_config_options, "--lanes", "4", "--word-bits", "8", "--block-words", "40")
    assert config_from(args, 64) == Config.of(4, 8, 40)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("--word-bits", "7"), "Word width must be 8, 16, 32 or 64 bits, not 7"),
        (("--word-bits", "0"), "Word width must be 8, 16, 32 or 64 bits, not 0"),
        (
            ("--block-words", "33"),
            "Block length must be a positive multiple of the word width 32, not 33",
        ),
        (("--lanes", "3"), "Number of lanes must be a power of two in 2..64, not 3"),
        (
            ("--lanes", "64"),
            "Number of lanes must divide the block length 32, not 64: take blocks of 64 words",
        ),
    ],
)
def test_refuses(argv, message):
    with pytest.raises(UserError, match=f"^{message}$"):
        config_from(parse(add_config_options, *argv))
