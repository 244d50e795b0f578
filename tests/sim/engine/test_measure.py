"""Cycles of tensors beside their bounds."""

from cdma.sim.engine.measure import measure


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
