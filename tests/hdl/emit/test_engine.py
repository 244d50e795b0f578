"""Verilog and manifest of the engine."""

import re

import pytest

from cdma.engine_config import EngineConfig
from cdma.hdl.emit import engine

CONFIG = EngineConfig(channels=2, lanes=2, stripe_bytes=1024, stage_bytes=2048, latency=16)


@pytest.fixture(scope="module")
def text():
    """Verilog of a small engine."""
    return engine.verilog(CONFIG)


@pytest.fixture(scope="module")
def described():
    """Manifest of a small engine."""
    return engine.manifest(CONFIG)


def test_the_manifest_names_the_ports_of_the_verilog(text, described):
    header = re.search(r"^module cdma_engine \((.*?)^\);", text, re.M | re.S)[1]
    found = re.findall(r"^  (input|output) +wire +(?:\[(\d+):0\] )?(\w+)", header, re.M)
    declared = [
        {"name": name, "direction": direction, "bits": int(high or 0) + 1}
        for direction, high, name in found
    ]
    assert declared == described["ports"]


def test_the_manifest_lists_the_interfaces(described):
    found = {each["prefix"]: each for each in described["interfaces"]}
    assert list(found) == ["s_axil", "m_axi_ch0", "m_axi_ch1", "m_axi_link"]
    assert found["m_axi_ch1"]["data_bits"] == 8 * CONFIG.beat_bytes
    assert found["m_axi_link"]["data_bits"] == 8 * CONFIG.link_bytes
    assert found["m_axi_link"]["ids"] == 3
    assert found["s_axil"]["role"] == "subordinate"


def test_all_modules_begin_with_the_name(text):
    modules = re.findall(r"^module (\S+?)\s*\(", text, re.M)
    assert modules.count("cdma_engine") == 1
    assert all(name.startswith("cdma_engine") for name in modules)


@pytest.mark.parametrize("name", ["", "1st", "a b", "top-level"])
def test_wrong_names(name):
    with pytest.raises(
        ValueError, match=r"^Name of a module must be a plain Verilog identifier, not '"
    ):
        engine.verilog(CONFIG, name)
