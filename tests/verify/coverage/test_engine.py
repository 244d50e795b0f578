"""Functional coverage of the engine."""

import pytest

from cdma.engine_codes import Op, Status
from cdma.golden.engine.descriptor import Completion, Descriptor
from cdma.verify.coverage import engine
from cdma.verify.coverage.engine_points import JOBS, PHASES, bin_of, points
from cdma.verify.mutation.engine.campaign import small_engine


def test_what_is_impossible_has_a_reason_and_is_no_bin():
    for point in points().values():
        assert point.bins
        for pair, reason in point.impossible.items():
            assert len(reason) > 10
            assert bin_of(*pair) not in point.bins


def test_every_operation_has_every_fault_in_some_phase():
    found = points()
    for op in JOBS:
        phases = {each.partition(" x ")[2] for each in found[f"{op.name}: fault x phase"].bins}
        assert {"descriptor", "completion"} <= phases <= set(PHASES)
    assert "OFFLOAD x OVERFLOW" in found["operation x status"].bins
    assert "OFFLOAD x CRC" not in found["operation x status"].bins


def test_what_is_missing_and_what_should_not_be_are_named():
    run = engine._Run(small_engine(), 0, None, lambda text: None)
    point = run.points["operation x status"]
    assert "MEASURE x OK" in point.missing
    descriptor = Descriptor(Op.MEASURE, row_bytes=8, with_index=True)
    for status in (Status.OK, Status.CRC):
        run.job(descriptor, Completion(status))
    assert "MEASURE x OK" not in point.missing
    assert point.unexpected == ["MEASURE x CRC"]
    assert run.points["operation x length"].seen == {"MEASURE x words": 2}


@pytest.mark.slow
def test_everything_is_seen():
    found = engine.measure(small_engine(), batches=2)
    assert {name: point.missing for name, point in found.items() if point.missing} == {}
    assert {name: point.unexpected for name, point in found.items() if point.unexpected} == {}


@pytest.mark.parametrize(
    ("nbytes", "length"),
    [
        (0, "none"),
        (8, "words"),
        (1024, "a stripe"),
        (2048, "stripes"),
        (1032, "stripes and words"),
        (3072, "laps of channels"),
    ],
)
def test_lengths(nbytes, length):
    assert engine._length(small_engine(), nbytes) == length
