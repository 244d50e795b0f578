"""The peers give the ratios that were published with them."""

import pytest

from cdma.synth.flow.peers import PEERS


@pytest.mark.parametrize(
    ("name", "config", "ecp5_speed", "kge", "asic_speed", "per_mm2"),
    [
        ("stream-ebpc encoder", "1x8", 0.13, 3.7, 0.71, 241),
        ("NVDLA weight decompressor", "8x32", 8.5, 9.1, 52, 7250),
        ("axispacker", "8x32", 3.0, 25.1, 21, 1053),
        ("stream_packer_rtl", "8x32", 6.5, 15.4, 44, 3558),
        ("cellular-automaton collapse", "8x32", 13.5, 6.2, 64, 12982),
    ],
)
def test_ratios(name, config, ecp5_speed, kge, asic_speed, per_mm2):
    (record,) = (
        record
        for record in (peer.record() for peer in PEERS)
        if (record["unit"], record["config"]) == (name, config)
    )
    assert record["ecp5"]["gb_per_s"] == pytest.approx(ecp5_speed, rel=0.04)
    mapped = record["asic"]["abc"]
    assert mapped["kge"] == pytest.approx(kge, rel=0.02)
    assert mapped["gb_per_s"] == pytest.approx(asic_speed, rel=0.02)
    assert mapped["gb_per_s_per_mm2"] == pytest.approx(per_mm2, rel=0.01)
