"""Cycles of tensors beside their bounds."""

import itertools

import pytest

from cdma.golden import engine as golden
from cdma.sim.engine.measure import measure
from cdma.sim.engine.memory import Memory


def test_cycles_and_bounds(small, tensor):
    tensors = {"half": tensor(small, 20_000), "empty words": tensor(small, 20_000, 0)}
    messages = []
    rows = list(measure(tensors, [small], messages.append))
    assert [row["tensor"] for row in rows] == list(tensors)
    for row in rows:
        assert (row["comparison"], row["channels"], row["bytes"]) == (
            "equal",
            small.channels,
            20_000,
        )
        for way in ("offload", "prefetch"):
            assert row[f"{way}_cycles"] > row[f"least_{way}_cycles"] > 0
            assert row[f"{way}_share"] == row[f"{way}_cycles"] / row[f"least_{way}_cycles"]
    if small.codec == "zvc":
        assert rows[1]["ratio"] == 20_000 / (4 * 157), "a mask for each of 157 blocks"
    else:
        assert rows[1]["ratio"] == 20_000 / (4 * 20), "two bits a block, a word for each stripe"
    assert f"{small.name}: half" in messages


@pytest.mark.parametrize(("device", "host"), [(0, 0), (40, 90)])
def test_no_job_is_faster_than_the_bound(model_of, small, tensor, device, host):
    """``golden.cycles`` is a lower bound for any tensor, policy and latency."""
    model = model_of(Memory(latency=device), Memory(latency=host))
    size = 30 * small.stripe_bytes + 5 * small.word_bytes
    halves = tensor(small, size, "halves")
    arrays = [halves, halves[::-1].copy(), *(tensor(small, size, d) for d in (0.0, 0.3, 1.0))]
    arrays += [each[:count] for each in arrays for count in (1, small.stripe_words + 1)]
    for array, raw in itertools.product(arrays, ("never", "auto", "always")):
        how = {"config": small, "raw": raw}
        out = model.offload(array, raw, counters=False)
        least = golden.cycles(array, **how, device=out.tensor.address, latency=device)
        assert 0 < least <= out.completion.cycles
        back = model.prefetch(out, counters=False)
        how |= {"direction": "prefetch", "host_latency": host}
        least = golden.cycles(array, **how, device=back.tensor.address)
        assert 0 < least <= back.completion.cycles
