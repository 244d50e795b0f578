"""Configurations of ZVC+ units of several types, and what is refused."""

import re
from dataclasses import FrozenInstanceError

import pytest

from cdma.hdl.axi.stream import MIXED, unit_class
from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.mixed.config import NAMED, MixedConfig, checked

ALL = MixedConfig(("fp32", "fp16", "bf16", "int8"))


def test_names():
    assert list(NAMED) == ["zvcplus-fp32+bf16", "zvcplus-all", "zvcplus-all-left"]
    for name, config in NAMED.items():
        assert MixedConfig.parse(name) == config
        assert config.name == name
        assert checked(config) is config
    assert MixedConfig.parse("zvcplus-fp16+int8-left").name == "zvcplus-fp16+int8-left"
    assert MixedConfig.parse("zvcplus-fp32+fp16+bf16+int8") == ALL


def test_parts_have_the_numbers_of_files():
    types = ("fp32", "bf16", "int8")
    expected = dict(zip((0, 2, 3), (Config(type_, "left") for type_ in types), strict=True))
    assert MixedConfig(types, "left").parts == expected


@pytest.mark.parametrize("config", NAMED.values(), ids=lambda config: config.name)
def test_sizes_that_follow(config):
    assert (config.beat_bits, config.beat_bytes, config.block_beats) == (256, 32, 4)
    assert config.format == next(iter(config.parts.values())).format
    assert config.stream_side.beat_bytes == 32
    assert config.has_options
    assert not config.constants
    assert config.parameters["types"] == {p.type: n for n, p in config.parts.items()}
    for unit, component in MIXED.items():
        assert unit_class(unit, config) is component


def test_types_in_any_order():
    assert MixedConfig.of_types(["int8", "fp32"]) == MixedConfig(("fp32", "int8"))
    assert MixedConfig(["fp32", "int8"]) == MixedConfig(("fp32", "int8"))
    for types in ("fp32", None, 4):
        with pytest.raises(TypeError, match=r"^Types must be a sequence of names, not "):
            MixedConfig(types)


def test_is_frozen():
    with pytest.raises(FrozenInstanceError):
        ALL.types = ()


TYPES = "Types must be two or more of fp32, fp16, bf16, int8, each once and in this order, not "


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MixedConfig(("fp32",)), f"{TYPES}'fp32'"),
        (lambda: MixedConfig(("bf16", "fp32")), f"{TYPES}'bf16, fp32'"),
        (lambda: MixedConfig.of_types(["fp32", "fp32"]), f"{TYPES}'fp32, fp32'"),
        (
            lambda: MixedConfig.of_types(["fp32", "fp64"]),
            "Type must be one of fp32, fp16, bf16, int8, not 'fp64'",
        ),
        (
            lambda: MixedConfig.parse("zvcplus-all-above"),
            "Repeats of hardware must be none or left, not 'above'",
        ),
        (
            lambda: MixedConfig.parse("zvcplus"),
            "Configuration must be a name such as zvcplus-all, not 'zvcplus'",
        ),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call()


def test_another_configuration_is_no_mixed_one():
    with pytest.raises(TypeError, match=r"^Configuration must be a ZVC\+ MixedConfig, not Config"):
        checked(Config())
