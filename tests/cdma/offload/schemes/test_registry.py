"""Laws of the schedules."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from offload_drawn import job_of, setups

from cdma.offload.moves import Codec, Link
from cdma.offload.profiles import Uniform
from cdma.offload.schemes import asynchronous, synchronised
from cdma.offload.schemes.registry import SCHEMES, results, rows
from cdma.offload.setup import Setup

_FEW = settings(max_examples=10, deadline=None)
#: The rate of software is another than those that a setup gives.
_SOFTWARE = {"static", "cswap", "bf16-async", "fp8-async", "bits4"}
_NAMES = [name for name, scheme in SCHEMES.items() if scheme.needs in (None, "zv")]


def _seconds(setup: Setup, name: str) -> float:
    return SCHEMES[name].run(setup)[0].seconds


@_FEW
@given(setups())
def test_nothing_is_faster_than_the_oracle(setup):
    every = dict.fromkeys(("zv", "rl", "zl", "lossy"), setup.profiles["zv"])
    setup = replace(setup, profiles=every, cpu=1e9)
    oracle = _seconds(setup, "oracle")
    for name in SCHEMES:
        assert _seconds(setup, name) >= oracle * (1 - 1e-12), name


@_FEW
@given(setups(ratio=1.0, codec=Codec()))
def test_an_ideal_engine_that_does_not_compress_is_vdnn(setup):
    assert _seconds(setup, "cdma-zv") == pytest.approx(_seconds(setup, "vdnn-all"), rel=1e-12)


@_FEW
@given(setups(codec=Codec()))
def test_a_link_without_limit_is_the_oracle(setup):
    fast = replace(setup, link=Link(math.inf))
    for name in ("vdnn-all", "vdnn-conv", "cdma-zv", "async"):
        assert _seconds(fast, name) == pytest.approx(_seconds(fast, "oracle"), rel=1e-12)


@_FEW
@given(setups(dram=1e9), st.floats(1.0, 10.0))
def test_more_bandwidth_never_hurts(setup, factor):
    link = replace(setup, link=Link(setup.link.bandwidth * factor))
    rate = setup.codec.down * factor
    codec = replace(setup, codec=Codec(rate, rate))
    dram = replace(setup, dram=setup.dram * factor)
    for name in ("vdnn-all", "vdnn-conv", "cdma-zv", "async", "async-zv"):
        before = _seconds(setup, name) * (1 + 1e-12)
        for better in (link, codec, dram):
            assert _seconds(better, name) <= before, name


@_FEW
@given(setups())
def test_a_larger_batch_takes_longer(setup):
    more = replace(setup, batch=setup.batch + 1)
    for name in _NAMES:
        assert _seconds(more, name) >= _seconds(setup, name) * (1 - 1e-12), name


@_FEW
@given(setups(dram=1e10), st.sampled_from((0.5, 2.0, 1024.0)))
def test_bytes_and_bandwidths_scale_together(setup, factor):
    size = round(setup.batch * factor) or 1
    factor = size / setup.batch
    codec = Codec(setup.codec.down * factor, setup.codec.up * factor)
    link = Link(setup.link.bandwidth * factor)
    other = replace(setup, batch=size, link=link, codec=codec, dram=setup.dram * factor)
    for name in set(_NAMES) - _SOFTWARE:
        assert _seconds(other, name) == pytest.approx(_seconds(setup, name), rel=1e-9), name


@_FEW
@given(setups())
def test_more_tensors_in_flight_never_hurt(setup):
    job = job_of(setup)
    times = [asynchronous.run(job, k).seconds for k in range(4)]
    assert all(b <= a * (1 + 1e-12) for a, b in pairwise(times))


@_FEW
@given(setups())
def test_no_tensor_in_flight_is_vdnns_way_out(setup):
    job = job_of(setup)
    ends = []
    for step in (synchronised.run(job), asynchronous.run(job, 0)):
        downs = [event.end for event in step.events if event.track == "down"]
        names = {layer.name for layer in job.network.layers}
        computed = (event for event in step.events if event.track == "compute")
        layers = [event.end for event in computed if event.name in names]
        ends.append(max(downs + layers))
    assert ends[0] == pytest.approx(ends[1], rel=1e-12)


@_FEW
@given(setups())
def test_a_track_does_one_thing_at_a_time(setup):
    for step in (synchronised.run(job_of(setup)), asynchronous.run(job_of(setup), 2)):
        for track in ("compute", "down", "up"):
            mine = sorted((event.start, event.end) for event in step.events if event.track == track)
            assert all(a[1] <= b[0] + 1e-12 for a, b in pairwise(mine))


@_FEW
@given(setups())
def test_residence_and_memory(setup):
    for result in results(setup, _NAMES):
        count = len(setup.features.layers)
        for first, last, size in result.step.resident:
            assert 0 <= first <= last < 2 * count, result.name
            assert size > 0
        assert result.peak > 0
    oracle, vdnn = (next(results(setup, [name])).peak for name in ("oracle", "vdnn-all"))
    assert vdnn <= oracle


def test_rows(setup_of):
    found = {row["scheme"]: row for row in rows(setup_of())}
    assert set(found) == set(_NAMES)
    assert found["oracle"]["of_oracle"] == 1
    assert found["oracle"]["link_mib"] == 0
    assert found["vdnn-all"]["link_mib"] == pytest.approx(349, abs=1)
    assert found["cdma-zv"]["step_ms"] < found["vdnn-all"]["step_ms"]
    assert found["recompute"]["peak_mib"] < found["oracle"]["peak_mib"]
    assert found["recompute"]["step_ms"] > found["oracle"]["step_ms"]


def test_a_slow_engine_limits(setup_of):
    fast, slow = setup_of(codec=200.0), setup_of(codec=2.5)
    assert _seconds(slow, "cdma-zv") > _seconds(slow, "vdnn-all") > _seconds(fast, "cdma-zv")
    moves = SCHEMES["cdma-zv"].run(slow)[1]
    assert {move.limit for move in moves} == {"codec"}


def test_the_second_profile_of_a_setup_is_used(setup_of):
    setup = setup_of()
    profiles = {**setup.profiles, "rl": Uniform(1.3, job_config())}
    both = replace(setup, profiles=profiles)
    assert _seconds(both, "cdma-rl") > _seconds(both, "cdma-zv")


def job_config():
    """Size of the default engine."""
    from cdma.engine_config import EngineConfig

    return EngineConfig()
