"""Sizes of the units, and what is refused."""

import re
from dataclasses import FrozenInstanceError

import pytest

from cdma import hdl
from cdma.engine_config import EngineConfig
from cdma.format import Format
from cdma.hdl.axi.stream import AxiTop
from cdma.hdl.engine.engine import AxiEngine
from cdma.hdl.zvc.compressor import Compressor
from cdma.hdl.zvc.config import LANES, NAMED, Config
from cdma.hdl.zvc.decompressor import Decompressor


def test_default():
    assert Config() == Config(8, Format(32, 32)) == Config.of() == Config.of(8, 32, 32)
    assert hash(Config()) == hash(Config.of(8, 32, 32))


@pytest.mark.parametrize(
    ("arguments", "name", "beat_bits", "beat_bytes", "block_beats"),
    [
        ((8, 32), "8x32", 256, 32, 4),
        ((8, 32, 96), "8x32b96", 256, 32, 12),
        ((2, 8, 32), "2x8b32", 16, 2, 16),
        ((16, 16), "16x16", 256, 32, 4),
        ((32, 8, 32), "32x8b32", 256, 32, 1),
        ((64, 8, 64), "64x8b64", 512, 64, 1),
        ((4, 64), "4x64", 256, 32, 16),
        ((4, 64, 128), "4x64b128", 256, 32, 32),
        ((16, 16, 16), "16x16b16", 256, 32, 1),
    ],
)
def test_sizes_that_follow(arguments, name, beat_bits, beat_bytes, block_beats):
    config = Config.of(*arguments)
    assert config.name == name
    assert (config.beat_bits, config.beat_bytes) == (beat_bits, beat_bytes)
    assert config.block_beats == block_beats


@pytest.mark.parametrize("lanes", LANES)
def test_every_number_of_lanes_is_allowed(lanes):
    assert Config.of(lanes, 32, 64).block_beats == 64 // lanes


def test_named_configurations_carry_their_names():
    assert list(NAMED) == ["8x32", "16x16", "32x8", "32x32"]
    for name, config in NAMED.items():
        lanes, word_bits = map(int, name.split("x"))
        assert config == Config.of(lanes, word_bits)


def test_a_target_of_standard_cells_has_a_name():
    config = Config.parse("16x16b64-zport-asic")
    assert config == Config(16, Format(16), zero_port=True, target="asic")
    assert (config.name, config.is_asic, Config().is_asic) == ("16x16-zport-asic", True, False)
    assert config.parameters["target"] == "asic"
    assert config.title.endswith("zero value from s_zero, for standard cells")


def test_a_target_that_does_not_exist():
    message = r"^Target must be one of \('fpga', 'asic'\), not 'fast'$"
    with pytest.raises(ValueError, match=message):
        Config(target="fast")


def test_is_frozen():
    with pytest.raises(FrozenInstanceError):
        Config().lanes = 4


@pytest.mark.parametrize("lanes", [0, 1, 3, 12, 128, -8])
def test_number_of_lanes_out_of_range(lanes):
    message = rf"^Number of lanes must be a power of two in 2\.\.64, not {lanes}$"
    with pytest.raises(ValueError, match=message):
        Config.of(lanes, 8, 128)


@pytest.mark.parametrize(("lanes", "shown"), [("8", "'8'"), (8.0, r"8\.0"), (True, "True")])
def test_number_of_lanes_is_not_an_integer(lanes, shown):
    with pytest.raises(TypeError, match=rf"^Number of lanes must be an integer, not {shown}$"):
        Config(lanes)


@pytest.mark.parametrize(
    ("lanes", "word_bits", "block_words", "nearest"),
    [(64, 32, 32, 64), (32, 8, 48, 64), (64, 32, 96, 128), (64, 8, 72, 64)],
)
def test_lanes_that_do_not_divide_the_block(lanes, word_bits, block_words, nearest):
    message = (
        f"^Number of lanes must divide the block length {block_words}, not {lanes}: "
        f"take blocks of {nearest} words$"
    )
    assert Config.of(lanes, word_bits, nearest).format.block_words == nearest
    with pytest.raises(ValueError, match=message):
        Config.of(lanes, word_bits, block_words)


def test_format_is_not_a_format():
    with pytest.raises(TypeError, match=r"^Format must be a Format, not 32$"):
        Config(8, 32)


def test_format_refuses_for_itself():
    with pytest.raises(ValueError, match=r"^Word width must be 8, 16, 32 or 64 bits, not 24$"):
        Config.of(8, 24)


def test_block_too_long_for_hardware():
    assert Config.of(16, 32, 1024).block_beats == 64
    message = (
        "^Block length of hardware must be at most 1024 words, not 1056: take blocks of 1024 words$"
    )
    with pytest.raises(ValueError, match=message):
        Config.of(16, 32, 1056)


@pytest.mark.parametrize(
    ("lanes", "word_bits", "longest"), [(2, 8, 32), (4, 16, 128), (8, 32, 512), (2, 64, 256)]
)
def test_mask_longer_than_two_beats(lanes, word_bits, longest):
    assert Config.of(lanes, word_bits, longest).format.mask_words == 2 * lanes
    message = (
        f"^Mask of a block must be at most 2 beats, {2 * lanes} words for {lanes} lanes, "
        f"not {2 * lanes + 2} words: take blocks of {longest} words$"
    )
    with pytest.raises(ValueError, match=message):
        Config.of(lanes, word_bits, longest + 2 * word_bits)


@pytest.mark.parametrize("name", ["8x32", "16x16", "8x32b96", "2x8b32", "64x8"])
def test_a_name_is_parsed(name):
    assert Config.parse(name).name == name


@pytest.mark.parametrize(
    "text", ["", "8", "8x", "x32", "8x32b", "8x32x4", " 8x32", "8X32", "\u0668x32"]
)
def test_what_is_no_name_is_refused(text):
    form = "Configuration must be lanes x word bits such as 8x32 or 8x32b64"
    message = f"^{form}, not {re.escape(repr(text))}$"
    with pytest.raises(ValueError, match=message):
        Config.parse(text)


@pytest.mark.parametrize("unit", [Compressor, Decompressor])
def test_units_refuse_what_is_no_configuration(unit):
    with pytest.raises(TypeError, match=r"^Configuration must be a Config, not '8x32'$"):
        unit("8x32")


def test_names_of_the_package():
    assert {name: getattr(hdl, name) for name in hdl.__all__} == {
        "AxiEngine": AxiEngine,
        "AxiTop": AxiTop,
        "Compressor": Compressor,
        "Config": Config,
        "Decompressor": Decompressor,
        "EngineConfig": EngineConfig,
    }
    assert set(hdl.__all__) <= set(dir(hdl))
    with pytest.raises(AttributeError, match="has no attribute 'Engineer'"):
        _ = hdl.Engineer
