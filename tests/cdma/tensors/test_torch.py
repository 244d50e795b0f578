"""Reading tensors from .pt and .pth files."""

import os
import sys
from itertools import product

import numpy as np
import pytest

from cdma.errors import UserError
from cdma.tensors.load import each, load_tensor, names

torch = pytest.importorskip("torch")

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8"),
    *("float16", "float32", "float64", "complex64"),
)
#: PyTorch writes them, but not in files of its legacy format.
NEW_DTYPES = ("uint16", "uint32", "uint64")


def refusal(name) -> str:
    with pytest.raises(UserError) as caught:
        load_tensor(str(name))
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.pt"


@pytest.mark.parametrize(
    ("dtype", "is_zip"),
    [*product(DTYPES, (True, False)), *product(NEW_DTYPES, (True,))],
)
@pytest.mark.parametrize("shape", [(), (3, 0, 2), (2, 3, 5)])
def test_reads_what_pytorch_wrote(tmp_path, dtype, shape, is_zip):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    for name in ("a.pt", "a.pth"):
        path = tmp_path / name
        torch.save(torch.tensor(array), path, _use_new_zipfile_serialization=is_zip)
        np.testing.assert_array_equal(load_tensor(str(path)), array, strict=True)
        assert names(str(path)) == [str(path)]


def test_nested_objects(path):
    weight = torch.arange(6.0).reshape(2, 3)
    model = torch.nn.Linear(3, 2)
    saved = {
        "epoch": 3,
        "model": model.state_dict(),
        "list": [weight, (weight.t(), None)],
        5: torch.nn.Parameter(weight),
        "model/bias/": {},
    }
    torch.save(saved, path)
    expected = {
        "model/weight": model.weight.detach().numpy(),
        "model/bias": model.bias.detach().numpy(),
        "list/0": weight.numpy(),
        "list/1/0": weight.t().numpy(),
        "5": weight.numpy(),
    }
    assert names(str(path)) == [f"{path}:{key}" for key in expected]
    for (name, array), key in zip(each(str(path)), expected, strict=True):
        np.testing.assert_array_equal(array, expected[key], strict=True)
        np.testing.assert_array_equal(load_tensor(name), expected[key], strict=True)


def test_types_that_numpy_lacks(path, monkeypatch):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    wide = torch.tensor([[0, -1.5], [-0.0, 3]])
    torch.save({"b": wide.bfloat16().t(), "f": wide.to(torch.float8_e4m3fn)}, path)
    expected = wide.t().numpy().astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(load_tensor(f"{path}:b"), expected, strict=True)
    eighths = wide.numpy().astype(ml_dtypes.float8_e4m3fn).view("u1")
    np.testing.assert_array_equal(load_tensor(f"{path}:f"), eighths, strict=True)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    np.testing.assert_array_equal(load_tensor(f"{path}:b"), expected.view("<u2"), strict=True)


def test_views_that_are_computed_when_read(path):
    torch.save({"x": torch.tensor([1 + 2j]).conj(), "y": torch.tensor([1 + 2j]).conj().imag}, path)
    assert load_tensor(f"{path}:x").tolist() == [1 - 2j]
    assert load_tensor(f"{path}:y").tolist() == [-2]


@pytest.mark.parametrize(
    ("tensor", "kind"),
    [
        (torch.eye(3).to_sparse(), "sparse"),
        (torch.empty(3, device="meta"), "meta"),
        (torch.zeros(2, dtype=torch.complex128), None),
    ],
    ids=["sparse", "meta", "complex128"],
)
def test_tensors_that_are_not_words(path, tensor, kind):
    torch.save({"x": tensor, "y": torch.zeros(1)}, path)
    problem = f"is a {kind} tensor, expected a dense one"
    if kind is None:
        problem = "elements are complex128, expected numbers of 1, 2, 4 or 8 bytes"
    assert refusal(f"{path}:x") == f"{path}:x: {problem}"
    assert load_tensor(f"{path}:y").tolist() == [0]


def test_objects_are_not_loaded(path, tmp_path):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    for value in (torch.nn.Linear(2, 2), {"x": torch.zeros(1), "y": Evil()}):
        for is_zip in (True, False):
            torch.save(value, path, _use_new_zipfile_serialization=is_zip)
            message = f"{path}: holds Python objects or is damaged, "
            assert refusal(path).startswith(message)
    assert not (tmp_path / "made").exists()


def test_no_tensors(path):
    torch.save({"epoch": 3}, path)
    assert refusal(path) == f"{path}: holds no array"


def test_objects_in_themselves_and_shared(path):
    ring = [torch.zeros(1)]
    ring.append(ring)
    bomb = [torch.zeros(2)]
    for _ in range(60):
        bomb = [bomb, bomb]
    deep = torch.zeros(3)
    for _ in range(200):
        deep = [deep]
    torch.save({"ring": ring, "bomb": bomb, "deep": deep}, path)
    keys = ["ring/0", "bomb" + "/0" * 61, "deep" + "/0" * 200]
    assert names(str(path)) == [f"{path}:{key}" for key in keys]


def test_two_tensors_of_a_name(path):
    torch.save({"1": torch.zeros(1), 1: torch.zeros(1)}, path)
    assert refusal(f"{path}:1") == f"{path}: two tensors have the name '1'"


@pytest.mark.parametrize("is_zip", [True, False], ids=["archive", "legacy"])
def test_truncations_are_refused(path, is_zip):
    torch.save({"x": torch.arange(9)}, path, _use_new_zipfile_serialization=is_zip)
    whole = path.read_bytes()
    for size in [*range(0, len(whole), 7), len(whole) - 1]:
        path.write_bytes(whole[:size])
        assert refusal(f"{path}:x").startswith(f"{path}: ")


@pytest.mark.parametrize("is_zip", [True, False], ids=["archive", "legacy"])
def test_damaged_bytes_give_arrays_or_a_refusal(path, is_zip):
    torch.save({"x": torch.arange(9)}, path, _use_new_zipfile_serialization=is_zip)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for at in rng.choice(len(whole), 300, replace=len(whole) < 300):
        damaged = bytearray(whole)
        damaged[at] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            list(each(str(path)))
        except UserError:
            refused += 1
    assert refused > 30


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"text", b"\x80\x02"])
def test_other_files(path, content):
    path.write_bytes(content)
    assert refusal(path).startswith(f"{path}: damaged or not a file of tensors (")


def test_torchscript(path):
    with pytest.warns(DeprecationWarning, match="torch.jit"):
        torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), str(path))
    assert refusal(path).startswith(f"{path}: damaged or not a file of tensors (Cannot use ")


def test_without_the_library(path, monkeypatch):
    torch.save(torch.zeros(1), path)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert refusal(path) == f"{path} needs torch: pip install 'cdma-engine[torch]'"
