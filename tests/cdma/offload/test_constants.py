"""Constants name their source; derived ones follow from the published figures."""

import csv

import numpy as np
import pytest

from cdma.offload import constants
from cdma.offload.constants import Constant


def test_a_mark_is_one_of_three():
    with pytest.raises(ValueError, match="Mark must be A, D or M, not 'X'"):
        Constant(1, "", "nowhere", "X")


def test_every_constant_has_a_source():
    found = [value for value in vars(constants).values() if isinstance(value, Constant)]
    found += [rate for pair in constants.RATES.values() for rate in pair]
    assert len(found) > 25
    assert all(each.source and each.value > 0 for each in found)


def test_no_calibrated_rate_is_above_the_memory():
    rates = [constants.MEMORY, constants.POOL_BACKWARD, *constants.POOL_FORWARD.values()]
    assert max(rate.value for rate in rates) <= constants.TITAN_X_DRAM.value


def test_codec_times_of_cswap(published):
    with (published / "cswap_fig3_vgg16A_b128_v100.csv").open() as file:
        rows = list(csv.DictReader(file))
    columns = ("shape_MB", "SC_comp_decomp_ms")
    size, time = (np.array([float(row[key]) for row in rows]) for key in columns)
    slope, base = np.polyfit(1e6 * size, 1e-3 * time, 1)
    assert constants.CSWAP_CODEC_PER_BYTE.value == pytest.approx(slope, rel=0.01)
    assert constants.CSWAP_CODEC_BASE.value == pytest.approx(base, rel=0.01)
