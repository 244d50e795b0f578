"""Two configurations side by side, and a clock to meet."""

from cdma.synth.flow.compare import at_clock, comparison
from cdma.synth.flow.figures import asic_figures, ecp5_figures, record

CELLS = dict.fromkeys(("flip_flops", "carries", "lut_rams", "block_rams", "multipliers"), 8)


def of(unit, config, lut4, area, mhz, latency=8):
    lattice = ecp5_figures(32, {"lut4": lut4, **CELLS}, [mhz])
    silicon = {"library": "toy", "abc": asic_figures(32, area, 5000.0, 1e3 / mhz, 0.8)}
    return record(unit, config, 8, 32, lattice, silicon, latency)


RECORDS = [
    of("compressor", "8x32", 1000, 8000.0, 200),
    of("decompressor", "8x32", 2000, 9000.0, 250, latency=5),
    of("compressor", "16x16", 1500, 10000.0, 100),
    of("decompressor", "16x16", 2500, 9000.0, 220),
]


def cells(table):
    """Words of each line, by its first two columns."""
    lines = [line.split("  ") for line in table.splitlines()]
    words = [[cell.strip() for cell in line if cell.strip()] for line in lines]
    return {tuple(line[:2]): line[2:] for line in words}


def test_figures_of_each_unit_and_of_both():
    found = cells(comparison(RECORDS, ("8x32", "16x16")))
    assert found["unit", "figure"] == ["8x32", "16x16", "ratio"]
    assert found["compressor", "LUT4 (-)"] == ["1,000", "1,500", "1.5"]
    assert found["decompressor", "latency cycles (-)"] == ["5", "8", "1.6"]
    assert found["compressor", "area um2 (-), ABC's own script"] == ["8,000", "10,000", "1.25"]
    assert found["both units", "LUT4 (-)"] == ["3,000", "4,000", "1.33"]
    assert found["both units", "area um2 (-), ABC's own script"] == ["17,000", "19,000", "1.12"]
    assert ("both units", "Fmax MHz (+)") not in found


def test_what_is_missing_has_no_row():
    bare = [record("compressor", name, 8, 32, None, None, 8) for name in ("8x32", "16x16")]
    lines = comparison(bare, ("8x32", "16x16")).splitlines()[2:]
    assert [line.split("  ")[1].strip() for line in lines] == [
        "bytes/cycle (+)",
        "latency cycles (-)",
    ]


def test_a_clock():
    found = cells(at_clock(RECORDS, 200))
    assert found["compressor", "8x32"] == ["6.4", "40", "yes", "yes"]
    assert found["compressor", "16x16"] == ["6.4", "40", "no", "no"]
    assert found["decompressor", "8x32"] == ["6.4", "25", "yes", "yes"]
    assert cells(at_clock([record("c", "8x32", 8, 32, None, None)], 200))["c", "8x32"] == [
        *("6.4", "-", "-", "-")
    ]
