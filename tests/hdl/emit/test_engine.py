"""Verilog and manifest of the engine."""

import re

import pytest

from cdma import designs
from cdma.engine_config import EngineConfig
from cdma.hdl.emit import engine
from cdma.hdl.engine.engine import AxiEngine

#: The engine of all quick tests, so that it is generated once.
CONFIG = EngineConfig(channels=2, lanes=4, stripe_bytes=1024, link_bytes=8, latency=60)


@pytest.fixture(scope="module")
def text():
    """Verilog of a small engine."""
    return designs.engine(CONFIG)


@pytest.fixture(scope="module")
def described(text):
    """Manifest of a small engine."""
    axi = AxiEngine(CONFIG)
    axi._MustUse__silence = True  # it is not elaborated
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_generate", lambda *_: (axi, text))
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


def test_the_manifest_has_what_each_id_has_outstanding(described):
    """The engine comes to these limits, and to no more (``tests/sim/engine/test_limits.py``)."""
    found = {each["prefix"]: each.get("outstanding") for each in described["interfaces"]}
    assert found["s_axil"] is None
    # STAGE of 4 KiB: stripes of 64 beats, each with one more beat for its masks.
    assert found["m_axi_ch0"] == [{"reads": 17, "read_beats": 252, "writes": 16}]
    assert found["m_axi_ch1"] == found["m_axi_ch0"]
    assert found["m_axi_link"] == [
        {"reads": 2048, "read_beats": 2048, "writes": 28},
        {"reads": 256, "read_beats": 256, "writes": 28},
        {"reads": 16, "read_beats": 128, "writes": 16},
    ]


def test_all_modules_begin_with_the_name(text):
    modules = re.findall(r"^module (\S+?)\s*\(", text, re.M)
    assert modules.count("cdma_engine") == 1
    # Plain names: none with a backslash, which Yosys writes of a name with a number behind a $.
    assert [name for name in modules if not re.fullmatch(r"cdma_engine\w*", name)] == []


@pytest.mark.parametrize("name", ["", "1st", "a b", "top-level"])
def test_wrong_names(name):
    with pytest.raises(
        ValueError, match=r"^Name of a module must be a plain Verilog identifier, not '"
    ):
        engine.verilog(CONFIG, name)
