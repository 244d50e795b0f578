"""The engine's speed: what is counted, and what is compared with a target."""

import numpy as np
import pytest

from cdma.engine_config import EngineConfig
from cdma.golden import engine as golden
from cdma.sim.engine.bench import report, sweeps, targets, transfers


def test_beats_of_a_round_trip(small):
    array = transfers.words(small, 8192, 0.5)
    done = transfers.trip(small, array, latency=30, host=50)
    size = done.out.completion.stream_bytes
    index = 8 * small.stripes(array.nbytes)
    assert done.written.beats == -(-size // small.link_bytes) + index // small.link_bytes
    assert done.read.beats == -(-size // small.link_bytes)
    assert done.empty == 0
    for span in (done.written, done.read):
        assert span.beats <= span.cycles < done.out.cycles
        assert 0.5 < span.share <= 1


def test_the_bound_is_that_of_the_busiest_part(small):
    dense = np.ones(small.stripe_words * 4, small.format.dtype)
    link = 4 * small.stripe_bound // small.link_bytes
    assert transfers.bound(dense, small, 0) == link + 4, "an entry of the index is a beat"
    empty = np.zeros_like(dense)
    assert transfers.bound(empty, small, 0) == 2 * small.stripe_beats, "two stripes a channel"
    assert transfers.bound(empty[: small.stripe_words * 3], small, 0) == 2 * small.stripe_beats


def test_the_least_cycles_have_the_first_or_the_last_stripe_alone(small):
    """The link is the busiest part, but idle while one stripe is read, or decoded, at the end."""
    array = np.zeros((8, small.stripe_words), small.format.dtype)
    array[:, : small.stripe_words // 4] = 1
    masks = small.stripe_bytes // small.block_bytes * small.format.mask_bytes
    one = (masks + small.stripe_bytes // 4) // small.link_bytes
    for way, index in (("offload", 8), ("prefetch", 0)):
        least = transfers.least(array.reshape(-1), small, 0, way)
        assert least == small.stripe_beats + 7 * one + index, way


@pytest.mark.parametrize("density", [0.1, 0.3, 1.0])
def test_no_transfer_takes_less_than_the_least_cycles(small, density):
    array = transfers.words(small, 32768, density)
    done = transfers.trip(small, array, latency=30, host=50)
    for way, job, waits in (("offload", done.out, 30 + 50), ("prefetch", done.back, 30 + 100)):
        least = transfers.least(array, small, job.tensor.address, way)
        assert job.completion.cycles >= waits + least, way


def test_descriptors_that_follow_one_another(small):
    for way in (transfers.OFFLOAD, targets.PREFETCH):
        span = transfers.back_to_back(small, 1024, 0.5, 64, way)
        assert 0.5 < span.share <= 1


def test_stripes_and_descriptors_join_without_a_gap(small):
    """The link stays full from stripe to stripe, and from descriptor to descriptor."""
    done = transfers.trip(small, transfers.words(small, 65536, 0.5), latency=30, host=50)
    spans = [transfers.back_to_back(small, 4096, 0.5, 64, way) for way in (0, targets.PREFETCH)]
    for span in (done.written, done.read, *spans):
        assert 0.98 <= span.share <= 1


def test_start_up_is_in_cycles_of_the_ports(small):
    for direction in (transfers.OFFLOAD, targets.PREFETCH):
        asked, first = transfers.reaction(small, 1024, direction)
        assert 1 <= asked <= 8
        assert 1 <= first <= 16


@pytest.mark.parametrize("channels", [1, 2, 4, 8])
def test_the_densities_come_to_the_limit_of_the_channels(channels):
    config = EngineConfig(channels=channels)
    array = transfers.words(config, targets.NBYTES, targets.least_density(config))
    ratio = array.nbytes / golden.offload(array, config, "never").bytes
    assert 0.95 * targets.most_ratio(config) < ratio <= targets.most_ratio(config)


def test_the_halves_come_in_both_orders(small):
    found = targets.tensors(small)
    first, second = (
        found[f"first half {each}"] for each in ("dense, second empty", "empty, second dense")
    )
    half = first.size // 2
    assert first[:half].any()
    assert not first[half:].any()
    assert second[half:].any()
    assert not second[:half].any()


def test_a_verdict_looks_at_its_limit():
    row = targets._row("link", "a", "b", 0.98, 0.979, at_least=True)
    assert (row["target"], row["measured"], row["verdict"]) == (">= 98.00%", "97.90%", "missed")
    assert targets._row("link", "a", "b", 0.98, 0.98, at_least=True)["verdict"] == "met"
    assert targets._row("uniform", "a", "b", 1000, 1001)["verdict"] == "missed"
    assert targets._row("uniform", "a", "b", 1000, 1000)["measured"] == "1,000"


@pytest.mark.slow
def test_all_rows_and_points(small, monkeypatch):
    """Everything is measured, with little data."""
    monkeypatch.setattr(targets, "NBYTES", 16384)
    monkeypatch.setattr(targets, "DENSITIES", (1.0, 0.1))
    monkeypatch.setattr(targets, "CHAINS", {65536: 4, 4096: 8})
    monkeypatch.setattr(targets, "LATENCIES", (0, 60))
    monkeypatch.setattr(sweeps, "NBYTES", 8192)
    monkeypatch.setattr(sweeps, "DENSITIES", (0.5,))
    monkeypatch.setattr(sweeps, "SIZES", {1024: 4})
    monkeypatch.setattr(sweeps, "LATENCIES", (30,))
    messages = []
    result = report.measure([small], messages.append)
    names = {row["row"] for row in result["records"]}
    assert names == {"link", "uniform", "any", "empty", "chain", "start", "latency"}
    assert {point["sweep"] for point in result["sweeps"]} == {"density", "size", "latency"}
    shares = result["sweeps"][0]["shares"]
    assert set(shares) == set(sweeps.COUNTED)
    assert shares["raw_beats"] > 0
    assert any("latency 60" in message for message in messages)
    text = report.text(result)
    met = sum(row["verdict"] == "met" for row in result["records"])
    assert text.endswith(f"{met} of {len(result['records'])} met\n")
