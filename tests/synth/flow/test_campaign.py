"""A campaign: its sizes, and the report that grows."""

import json

import pytest

from cdma.errors import UserError
from cdma.synth.flow import campaign, measure, scaling
from cdma.synth.flow.figures import ecp5_figures, record
from cdma.toolchain.steps import Steps


@pytest.mark.parametrize(
    ("described", "names"),
    [
        ({}, ["8x32"]),
        ({"lanes": 4, "word_bits": 16, "block_words": 32}, ["4x16b32"]),
        ({"names": ["16x16", "8x32", "16x16"]}, ["16x16", "8x32"]),
        ({"pair": ["8x32", "16x16"]}, ["8x32", "16x16"]),
        ({"is_sweep": True}, [config.name for config in scaling.sweep()]),
    ],
)
def test_sizes_are_described_in_four_ways(described, names):
    assert [config.name for config in campaign.sizes(**described)] == names


@pytest.mark.parametrize(
    ("described", "message"),
    [
        ({"names": ["8"]}, "Configuration must be lanes x word bits such as 8x32 or"),
        ({"names": ["7x32"]}, "Number of lanes must be a power of two in 2..64, not 7"),
        ({"names": ["8x32"], "lanes": 8}, "give either --config or --lanes, --word-bits and"),
        ({"lanes": 3}, "Number of lanes must be a power of two in 2..64, not 3"),
        ({"is_sweep": True, "lanes": 8}, "--sweep has its own sizes: leave --config, --lanes and"),
        ({"pair": ["8x32", "8by32"]}, "Configuration must be lanes x word bits such as 8x32"),
        ({"pair": ["8x32"] * 2}, "--compare takes two sizes, not 8x32 twice"),
        ({"pair": ["8x32", "16x16"], "is_sweep": True}, "give either --sweep or --compare"),
        ({"pair": ["8x32"] * 2, "lanes": 4}, "--compare names both sizes: leave --config, --lanes"),
    ],
)
def test_refuses_sizes(described, message):
    with pytest.raises(UserError) as refused:
        campaign.sizes(**described)
    assert str(refused.value).startswith(message)


def test_report_of_an_interrupted_campaign_is_complete_up_to_there(monkeypatch, tmp_path):
    cells = dict.fromkeys(
        ("lut4", "flip_flops", "carries", "lut_rams", "block_rams", "multipliers"), 9
    )
    first = record("compressor", "8x32", 8, 32, ecp5_figures(32, cells, [200.0]), None)

    def interrupted(*_, **__):
        yield first
        raise KeyboardInterrupt

    monkeypatch.setattr(measure, "measure_each", interrupted)
    with pytest.raises(KeyboardInterrupt):
        campaign.run(tmp_path / "out", Steps(tmp_path), campaign.sizes(), ["compressor"])
    written = json.loads((tmp_path / "out/synth.json").read_text())
    assert written["records"] == [first]
    assert written["notes"] == [
        "no liberty given (--liberty FILE or CDMA_LIBERTY): ASIC columns left out"
    ]
    assert "| compressor | 8x32" in (tmp_path / "out/synth.md").read_text()
