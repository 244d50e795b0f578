"""Configurations of the ZVC+ units, and what is refused."""

from dataclasses import FrozenInstanceError

import pytest

from cdma.hdl.zvcplus.config import ERROR_CODES, NAMED, Config, checked
from cdma.zvcplus import Format


@pytest.mark.parametrize(
    ("type_", "lanes", "control_bits"),
    [("fp32", 8, 51), ("fp16", 16, 80), ("bf16", 16, 83), ("int8", 32, 158)],
)
def test_sizes_that_follow(type_, lanes, control_bits):
    config = Config(type_)
    assert (config.lanes, config.control_bits) == (lanes, control_bits)
    assert (config.beat_bits, config.beat_bytes, config.block_beats) == (256, 32, 4)
    assert config.block_bits == 1029
    assert config.format == Format(type_)
    assert config.stream_side.beat_bytes == 32
    assert not config.has_options


def test_names():
    assert list(NAMED) == [
        *("zvcplus-fp32", "zvcplus-fp16", "zvcplus-bf16", "zvcplus-int8"),
        *("zvcplus-fp32-left", "zvcplus-fp16-left", "zvcplus-bf16-left", "zvcplus-int8-left"),
    ]
    for name, config in NAMED.items():
        assert Config.parse(name) == config
        assert config.name == name
        assert checked(config) is config


def test_is_frozen():
    with pytest.raises(FrozenInstanceError):
        Config().type = "int8"


def test_error_codes_are_small_and_begin_as_those_of_the_first_codec():
    assert [int(code) for code in ERROR_CODES] == [0, 1, 2, 3, 6, 7, 8]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Config("fp64"), ValueError, "^Type must be one of fp32, fp16, bf16, int8, not 'f"),
        (lambda: Config(32), ValueError, "^Type must be one of fp32, fp16, bf16, int8, not 32$"),
        (
            lambda: Config("fp32", "above"),
            ValueError,
            "^Repeats of hardware must be none or left, not 'above'$",
        ),
        (
            lambda: Config.parse("8x32"),
            ValueError,
            "^Configuration must be a name such as zvcplus-fp32, not '8x32'$",
        ),
        (
            lambda: checked("zvcplus-fp32"),
            TypeError,
            "^Configuration must be a ZVC\\+ Config, not 'zvcplus-fp32'$",
        ),
    ],
)
def test_mistakes(call, error, message):
    with pytest.raises(error, match=message):
        call()
