"""Which steps are recorded, and how much of them."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from cdma.errors import UserError  # noqa: E402
from cdma.tensors.capture import recorder  # noqa: E402
from cdma.tensors.capture.recorder import LEAST_STEPS, Recorder, Thinned  # noqa: E402

MODEL = nn.Sequential(nn.ReLU(), nn.MaxPool2d(2))
#: Bytes that the model's outputs take for one image of 3 x 4 x 4.
IMAGE_BYTES = 4 * (48 + 12)


def record(folder, steps: int, budget: int, images: int = 2, model=MODEL) -> Recorder:
    capture = Recorder(folder, budget)
    generator = torch.Generator().manual_seed(0)
    for step in range(steps):
        with capture(model):
            model(torch.randn(images, 3, 4, 4, generator=generator))
        capture.note(loss=torch.tensor(float(step), requires_grad=True))
    return capture


def test_all_steps_are_kept_while_they_fit():
    thinned = Thinned(10)
    assert [thinned.add(step, str(step), 1) for step in range(10)] == [[]] * 10
    assert list(thinned.items) == list(range(10))
    assert thinned.items[3] == "3"


@pytest.mark.parametrize("limit", [16, 40, 100])
@pytest.mark.parametrize("steps", [11, 1000, 5000])
def test_steps_are_dense_at_first_and_within_the_limit(limit, steps):
    thinned = Thinned(limit)
    dropped = []
    for step in range(steps):
        if thinned.is_due(step):
            dropped += thinned.add(step, step, 1)
            assert len(thinned.items) <= limit
    kept = list(thinned.items)
    assert kept[0] == 0
    assert kept == sorted(kept)
    assert not set(kept) & set(dropped)
    bits = max((step >> (step & -step).bit_length() - 1).bit_length() for step in kept if step)
    fewest = [s for s in range(steps) if s % (1 << max(0, s.bit_length() - bits)) == 0]
    assert kept == fewest
    if len(fewest) < steps:  # with a digit more there would be too many
        more = sum(s % (1 << max(0, s.bit_length() - bits - 1)) == 0 for s in range(steps))
        assert more > limit


def test_costs_are_added_up():
    thinned = Thinned(100)
    assert thinned.add(0, "a", 40) == []
    assert thinned.add(1, "b", 50) == []
    assert thinned.add(2, "c", 10) == []
    assert thinned.add(3, "d", 30) == ["d"]
    assert thinned.items == {0: "a", 1: "b", 2: "c"}
    assert not thinned.is_due(3)


def test_the_first_step_is_always_kept():
    thinned = Thinned(2)
    for step in range(9):
        if thinned.is_due(step):
            thinned.add(step, None, 1)
    assert list(thinned.items) == [0]


def test_files_and_listing_agree(tmp_path):
    capture = record(tmp_path, 5, 1 << 20)
    listing = capture.listing()
    assert listing["steps"] == 5
    assert listing["stages"] == [{"step": step, "loss": float(step)} for step in range(5)]
    assert {path.name for path in tmp_path.iterdir()} == {t["file"] for t in listing["tensors"]}
    assert len(listing["tensors"]) == 10
    for tensor in listing["tensors"]:
        array = np.load(tmp_path / tensor["file"])
        assert array.flags.c_contiguous
        assert list(array.shape) == tensor["shape"]
        assert array.dtype.name == tensor["dtype"] == "float32"
        assert tensor["layout"] == "NCHW"
        assert tensor["kind"] == {"0": "relu", "1": "pool"}[tensor["layer"]]
        assert tensor["density"] == np.count_nonzero(array) / array.size
    assert listing["tensors"][3]["file"] == "step000001.1.npy"


def test_history_is_of_whole_batches(tmp_path):
    listing = record(tmp_path, 3, LEAST_STEPS * IMAGE_BYTES, images=50).listing()
    history = listing["history"]
    assert history["steps"] == [0, 1, 2]
    assert history["notes"] == {"loss": [0, 1, 2]}
    generator = torch.Generator().manual_seed(0)
    for step in range(3):
        outputs = MODEL[0](torch.randn(50, 3, 4, 4, generator=generator))
        assert history["density"]["0"][step] == torch.count_nonzero(outputs) / outputs.numel()
        saved = np.load(tmp_path / f"step{step:06d}.0.npy")
        np.testing.assert_array_equal(saved, outputs[:1])


@pytest.mark.parametrize("images", [1, 7, 64])
@pytest.mark.parametrize("steps", [1, 120])
def test_files_stay_within_the_budget(tmp_path, images, steps):
    budget = 3 * LEAST_STEPS * IMAGE_BYTES
    capture = record(tmp_path, steps, budget, images)
    used = sum(tensor_bytes(path) for path in tmp_path.iterdir())
    assert used <= budget
    if steps == 120:
        assert used > budget / 6
    listing = capture.listing()
    assert {path.name for path in tmp_path.iterdir()} == {t["file"] for t in listing["tensors"]}
    assert listing["tensors"][0]["shape"][0] == min(images, 3)


def tensor_bytes(path) -> int:
    return np.load(path).nbytes


def test_a_budget_too_small(tmp_path):
    least = LEAST_STEPS * IMAGE_BYTES
    with pytest.raises(UserError) as caught:
        record(tmp_path, 1, least - 1)
    assert str(caught.value) == (
        f"--budget {least - 1} is too small: it must hold {LEAST_STEPS} times an image of every "
        f"layer, {least} bytes"
    )
    record(tmp_path, 1, least)


def test_history_is_thinned(tmp_path, monkeypatch):
    monkeypatch.setattr(recorder, "HISTORY_STEPS", 20)
    history = record(tmp_path, 200, 1 << 17).listing()["history"]
    assert history["steps"] == [0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192]
    assert history["notes"]["loss"] == history["steps"]


def test_numbers_that_json_lacks(tmp_path):
    capture = record(tmp_path, 1, 1 << 20)
    capture.note(loss=float("nan"), rate=torch.tensor(float("inf")), step=7)
    assert capture.listing()["stages"] == [{"loss": None, "rate": None, "step": 0}]


def test_layers_that_come_and_go(tmp_path):
    capture = Recorder(tmp_path, 1 << 20)
    for model in (MODEL[:1], MODEL, MODEL[1:]):
        with capture(model):
            model(torch.ones(1, 3, 4, 4))
    with capture(MODEL):
        pass
    history = capture.listing()["history"]
    assert history == {
        "steps": [0, 1, 2],
        "density": {"0": [1, 1, None], "1": [None, 1, 1]},
        "notes": {},
    }


def test_a_step_that_fails_is_not_recorded(tmp_path):
    capture = Recorder(tmp_path, 1 << 20)

    def fail():
        with capture(MODEL):
            MODEL(torch.ones(1, 3, 4, 4))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert capture.listing()["tensors"] == []
    assert list(tmp_path.iterdir()) == []


def test_empty_outputs_are_left_out(tmp_path):
    capture = Recorder(tmp_path, 1 << 20)
    with capture(MODEL[:1]):
        MODEL[0](torch.ones(0, 3))
    assert capture.listing()["tensors"] == []


def test_types_and_memory_orders(tmp_path):
    pytest.importorskip("ml_dtypes")
    capture = Recorder(tmp_path, 1 << 20)
    with capture(MODEL[:1]):
        MODEL[0](torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last))
        MODEL[0](torch.tensor([[0.0, -1.0, 1.5]]).bfloat16())
        MODEL[0](torch.ones(2, 3, 4, dtype=torch.float16))
    plain, narrow, half = capture.listing()["tensors"]
    np.testing.assert_array_equal(
        np.load(tmp_path / plain["file"]), np.arange(24.0, dtype="f4").reshape(1, 2, 3, 4)
    )
    assert (narrow["dtype"], narrow["layout"], narrow["density"]) == ("bfloat16", "NC", 1 / 3)
    assert np.load(tmp_path / narrow["file"]).view("<u2").tolist() == [[0, 0, 0x3FC0]]
    assert (half["dtype"], half["layout"]) == ("float16", None)
