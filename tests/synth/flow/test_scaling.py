"""Growth is fitted on logarithms, and the sweep has every size."""

import math

import pytest

from cdma.synth.flow import scaling
from cdma.synth.flow.figures import ecp5_figures, record


def test_sweep_has_every_size_once():
    configs = scaling.sweep()
    assert len({config.name for config in configs}) == len(configs) == 18
    assert {(config.lanes, config.format.word_bits) for config in configs} == {
        (lanes, bits) for lanes in (2, 4, 8, 16, 32, 64) for bits in (8, 16, 32)
    }
    names = {config.name for config in configs}
    assert {
        "2x8b32",
        "4x8b64",
        "8x8",
        "64x8",
        "2x16",
        "64x16",
        "2x32",
        "32x32",
        "64x32b64",
    } <= names


@pytest.mark.parametrize("power", [0.5, 1.0, 1.3])
def test_exponent_of_a_known_law(power):
    sizes = {lanes: 7 * (lanes * math.log2(lanes)) ** power for lanes in (2, 4, 16, 64)}
    assert scaling.exponent(sizes) == pytest.approx(power)


def test_table_of_what_was_measured():
    records = [
        record(
            "c", f"{n}x8", n, 8, ecp5_figures(n, {"lut4": round(10 * n * math.log2(n))}, []), None
        )
        for n in (8, 2, 4)
    ]
    alone = record("d", "4x8", 4, 8, ecp5_figures(4, {"lut4": 5}, []), None)
    ((title, table),) = scaling.tables([*records, alone])
    assert title == "LUT4 over lanes x log2(lanes)"
    heading, _, row = table.splitlines()
    assert heading.split("  ")[0] == "unit"
    assert row.split() == ["c", "8", "10", "10", "10", "1"]
    assert scaling.tables([alone]) == []
