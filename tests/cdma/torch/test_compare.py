"""The table of bytes, time and gradients."""

import pytest

torch = pytest.importorskip("torch")

from cdma.torch import compare  # noqa: E402


def test_rows():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(50, 64), torch.nn.ReLU(), torch.nn.Dropout(), torch.nn.Linear(64, 5)
    )
    rows = torch.randn(100, 50)
    found = compare(
        lambda: model(rows).square().mean(), model.parameters(), (None, "rel=0.1", "rel=0.5"), 1
    )
    assert [row["storage"] for row in found] == ["PyTorch", "lossless", "rel=0.1", "rel=0.5"]
    _, lossless, low, high = found
    assert lossless["gradient_deviation"] == 0
    assert 0 < low["gradient_deviation"] < high["gradient_deviation"] < 0.5
    stored = [row["stored_bytes"] for row in found]
    assert stored == sorted(stored, reverse=True)
    assert lossless["ratio"] == lossless["raw_bytes"] / lossless["stored_bytes"]
    assert len({row["raw_bytes"] for row in found}) == 1
    assert all(row["seconds"] > 0 for row in found)
