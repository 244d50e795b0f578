"""Coverage of units of several types: the stimulus shows everything."""

import pytest

from cdma.hdl.axi.stream import UNITS
from cdma.hdl.zvcplus.mixed.config import NAMED
from cdma.verify.coverage.functional import measure
from cdma.verify.coverage.mixed import points, scenarios

TWO = NAMED["zvcplus-fp32+bf16"]


@pytest.mark.parametrize("unit", UNITS)
def test_points_have_all_types(unit):
    found = {point.name: point.bins for point in points(unit, NAMED["zvcplus-all"])}
    assert found["number of a command"] == [0, 1, 2, 3, "other"]
    assert len(found["type x next type, back to back"]) == 16
    assert len(found["type x words of the last beat"]) == 9 + 17 + 17 + 33
    assert ("error x type" in found) == (unit == "decompressor")


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
def test_everything_is_seen(unit):
    found = measure(unit, TWO, scenarios(unit, TWO, batches=4))
    missing = {name: point.missing for name, point in found.points.items() if point.missing}
    unexpected = {name: each.unexpected for name, each in found.points.items() if each.unexpected}
    assert (missing, unexpected) == ({}, {})
