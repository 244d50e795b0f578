"""The ratios, by hand."""

import pytest

from cdma.synth.flow.figures import asic_figures, bytes_per_cycle, ecp5_figures


def test_bytes_per_cycle():
    assert bytes_per_cycle(8, 32) == 32
    assert bytes_per_cycle(1, 8) == 1


def test_ecp5_speed_is_at_the_median_clock():
    figures = ecp5_figures(32, {"lut4": 2000}, [200.0, 260.0, 240.0, 250.0])
    assert figures["fmax_mhz"] == 245.0
    assert (figures["fmax_mhz_min"], figures["fmax_mhz_max"]) == (200.0, 260.0)
    assert figures["seeds"] == 4
    assert figures["gb_per_s"] == pytest.approx(7.84)
    assert figures["gb_per_s_per_klut"] == pytest.approx(3.92)


def test_a_unit_without_luts_has_no_speed_per_lut():
    assert ecp5_figures(32, {"lut4": 0}, [200.0])["gb_per_s_per_klut"] is None


def test_cells():
    figures = asic_figures(32, 7980.0, 5000.0, 0.5, 0.798)
    assert figures["kge"] == pytest.approx(10.0)
    assert (figures["logic_um2"], figures["storage_um2"]) == (2980.0, 5000.0)
    assert figures["gb_per_s"] == pytest.approx(64.0)
    assert figures["gb_per_s_per_mm2"] == pytest.approx(64.0 / 0.00798)


def test_without_timing_there_is_no_speed():
    figures = asic_figures(32, 7980.0, 5000.0, None, 0.798)
    assert figures["gb_per_s"] is None
    assert figures["gb_per_s_per_mm2"] is None


def test_without_a_clock_there_is_area():
    figures = ecp5_figures(32, {"lut4": 2000}, [])
    assert (figures["lut4"], figures["seeds"], figures["fmax_mhz"]) == (2000, 0, None)
    assert figures["gb_per_s"] is None
    assert figures["gb_per_s_per_klut"] is None
