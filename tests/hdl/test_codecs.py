"""What every codec of the hardware brings."""

import re
from pathlib import Path

import pytest

from cdma import zvcplus
from cdma.format import Format
from cdma.hdl import codecs
from cdma.hdl.axi.stream import COMPONENTS, unit_class
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvcplus.config import Config as PlusConfig

NAMED = [config for module in codecs.CODECS.values() for config in module.NAMED.values()]


def test_every_codec_has_components():
    assert set(COMPONENTS) == set(codecs.CODECS)


@pytest.mark.parametrize("config", NAMED, ids=lambda config: config.name)
def test_a_configuration_has_what_all_others_ask_for(config):
    assert codecs.CODECS[config.codec].NAMED[config.name] is config
    assert codecs.config_named(config.name) == config
    assert codecs.config_of(config.format, config.lanes) == config
    fmt = config.format
    assert config.beat_bits == 8 * config.beat_bytes == config.lanes * fmt.word_bits
    assert config.block_beats * config.lanes == fmt.block_words
    assert fmt.dtype == f"<u{fmt.word_bytes}"
    assert config.parameters["lanes"] == config.lanes
    assert f"{config.lanes} lanes x {fmt.word_bits} bits" in config.title
    assert [int(code) for code in config.error_codes[:4]] == [0, 1, 2, 3]
    assert not config.has_options
    assert not config.constants
    assert not fmt.ends_itself
    most = fmt.most_bytes(2 * fmt.block_words)
    assert 2 * fmt.block_words * fmt.word_bytes < most
    for unit, component in COMPONENTS[config.codec].items():
        assert unit_class(unit, config) is component
        assert component.latency(config) > 0


def test_the_document_has_the_latencies_of_zvcplus():
    latency = {
        (unit, type_): component.latency(PlusConfig(type_))
        for unit, component in COMPONENTS["zvcplus"].items()
        for type_ in zvcplus.TYPES
    }
    left = {
        (unit, type_): component.latency(PlusConfig(type_, "left"))
        for unit, component in COMPONENTS["zvcplus"].items()
        for type_ in ("fp32", "fp16", "int8")
    }
    assert left["decompressor", "fp32"] == left["decompressor", "fp16"]
    assert latency["compressor", "fp16"] == latency["compressor", "bf16"]
    assert len({latency["decompressor", type_] for type_ in zvcplus.TYPES}) == 1
    expected = (
        f"| {latency['compressor', 'fp32']} cycles in the compressor "
        f"({latency['compressor', 'fp16']} of fp16 and bf16, "
        f"{latency['compressor', 'int8']} of int8), "
        f"{latency['decompressor', 'fp32']} in the decompressor; with repeats "
        f"{left['compressor', 'fp32']} ({left['compressor', 'fp16']}, "
        f"int8 {left['compressor', 'int8']}), and {left['decompressor', 'fp32']} "
        f"(int8 {left['decompressor', 'int8']}) |"
    )
    text = (Path(__file__).parents[2] / "docs" / "interfaces.md").read_text()
    assert expected in text


def test_a_format_gives_the_lanes():
    assert codecs.config_of(Format(16)) == Config.of(8, 16)
    assert codecs.config_of(zvcplus.Format("bf16")) == PlusConfig("bf16")


def test_options_are_in_constants_and_title():
    config = Config(8, Format(8, 128, "ones", 0x80), zero_port=True)
    assert config.constants == {"s_zero": 0x80}
    assert config.title.endswith("blocks of 128 words, tail of ones, zero value from s_zero")
    assert config.parameters["zero_value"] is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: codecs.config_of(zvcplus.Format("fp32", "above", 9)),
            "Repeats of hardware must be none or left, not 'above'",
        ),
        (
            lambda: codecs.config_of(zvcplus.Format("fp16"), 8),
            "Number of lanes of ZVC+ must be 16 for fp16, a beat of 32 bytes, not 8",
        ),
        (
            lambda: codecs.config_named("zvcplus"),
            "Configuration must be a name such as zvcplus-fp32, not 'zvcplus'",
        ),
        (
            lambda: codecs.config_named("fp32"),
            "Configuration must be lanes x word bits such as 8x32 or 8x32b64, not 'fp32'",
        ),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call()
