"""Functional coverage of the engine."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from cdma.engine_codes import Op, Raw, Status
from cdma.errors import SimulationError
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Completion, Descriptor
from cdma.sim.engine import pins
from cdma.sim.engine.engine import DEVICE, HOST, Engine
from cdma.sim.engine.model import EngineModel
from cdma.verify.coverage import engine, engine_compare, engine_logs
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


@pytest.fixture
def run():
    return engine._Run(small_engine(), 0, None, lambda text: None)


@pytest.mark.slow
def test_a_field_that_was_not_fetched_is_not_counted(run, monkeypatch):
    place = EngineModel.place

    def place_another(model, ring, descriptor, **options):
        place(model, ring, replace(descriptor, interrupt=True), **options)

    monkeypatch.setattr(EngineModel, "place", place_another)
    with pytest.raises(SimulationError, match=r"the engine has fetched .*interrupt=True"):
        run.run_one(run.model(), Op.OFFLOAD)
    assert not run.points["operation x status"].seen


@pytest.mark.slow
def test_a_field_that_was_not_followed_is_not_counted(run, monkeypatch):
    """The engine makes another stream than the golden engine with these fields."""
    monkeypatch.setattr(engine_compare.golden, "offload", partial(_another, golden.offload))
    with pytest.raises(SimulationError, match=r"OFFLOAD: .* stream bytes, expected"):
        run.run_one(run.model(), Op.OFFLOAD, raw=Raw.NEVER)
    assert not run.points["operation x raw policy"].seen


def _another(offload, words, config, raw, limit, crc):
    return offload(words, config, Raw.ALWAYS, limit, crc)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("op", "phase", "other"),
    [
        (Op.OFFLOAD, "first of stream", "index"),
        (Op.PREFETCH, "last of tensor", "first of stream"),
        (Op.OFFLOAD, "completion", "middle of tensor"),
        (Op.VERIFY, "index", "descriptor"),
    ],
)
def test_the_phase_without_an_answer_is_that_of_the_port(run, monkeypatch, op, phase, other):
    """The delay is in another access than the one that is asked for."""
    fault, wanted = Engine.fault, {}

    def note(model, *arguments, **options):
        wanted["fault"] = arguments, options

    monkeypatch.setattr(Engine, "fault", note)
    run.fault(op, "no answer", other)
    where, options = wanted["fault"]
    monkeypatch.setattr(Engine, "fault", lambda self, *_, **__: fault(self, *where, **options))
    run.fault(op, "no answer", phase)
    assert run.points[f"{op.name}: fault x phase"].seen == {f"no answer x {other}": 1}


def _log(*events):
    log = np.zeros(len(events), pins.EVENT)
    for entry, (cycle, channel, address, id_) in zip(log, events, strict=True):
        entry["cycle"], entry["channel"] = cycle, pins.CHANNELS.index(channel)
        entry["address"], entry["id"] = address, id_
    return log


def test_the_open_burst_is_the_oldest_of_its_id_and_kind():
    done = _log((1, "ar", 64, 0), (2, "aw", 128, 0), (7, "r", 64, 0), (8, "b", 128, 0))
    assert engine_logs.open_burst([done, done]) is None
    read = _log((1, "ar", 64, 0), (2, "ar", 128, 0), (7, "r", 64, 0), (9, "ar", 192, 0))
    assert engine_logs.open_burst([read, done]) == (DEVICE, 128)
    late = _log((1, "aw", 64, 1), (3, "aw", 256, 0), (7, "b", 64, 1))
    assert engine_logs.open_burst([done, late]) == (HOST, 256)
    assert engine_logs.open_burst([read, late]) == (DEVICE, 128)


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
