"""Reading tensors from .safetensors files."""

import json
import sys
import tracemalloc

import numpy as np
import pytest

from cdma.errors import UserError
from cdma.tensors.load import each, load_tensor, names

pytest.importorskip("safetensors")
from safetensors.numpy import save_file

DTYPES = (
    *("bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"),
    *("f2", "f4", "f8", "c8"),
)


def write(path, entries: dict, data: bytes) -> None:
    """A file with this header, whatever it says."""
    header = json.dumps(entries).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)


def entry(dtype: str, shape, start: int, end: int) -> dict:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}


def refusal(name) -> str:
    with pytest.raises(UserError) as caught:
        load_tensor(str(name))
    return str(caught.value)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (7,), (2, 3, 5)])
def test_reads_what_the_library_wrote(tmp_path, dtype, shape):
    path = tmp_path / "a.safetensors"
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    save_file({"a.weight": array, "odd": np.ones(3, "u1")}, path, {"some": "metadata"})
    read = load_tensor(f"{path}:a.weight")
    np.testing.assert_array_equal(read, array, strict=True)
    assert sorted(names(str(path))) == [f"{path}:a.weight", f"{path}:odd"]
    arrays = dict(each(str(path)))
    np.testing.assert_array_equal(arrays[f"{path}:a.weight"], array, strict=True)


def test_bfloat16(tmp_path, monkeypatch):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    path = tmp_path / "a.safetensors"
    array = np.array([[0, -1.5], [-0.0, 3]], ml_dtypes.bfloat16)
    save_file({"x": array}, path)
    np.testing.assert_array_equal(load_tensor(str(path)), array, strict=True)
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    np.testing.assert_array_equal(load_tensor(str(path)), array.view("<u2"), strict=True)


def test_8_bit_floats_are_words(tmp_path):
    path = tmp_path / "a.safetensors"
    write(path, {"x": entry("F8_E4M3", (2, 2), 0, 4)}, bytes([0, 0x80, 1, 0xFF]))
    expected = np.array([[0, 0x80], [1, 0xFF]], np.uint8)
    np.testing.assert_array_equal(load_tensor(str(path)), expected, strict=True)


def test_elements_of_half_a_byte(tmp_path):
    path = tmp_path / "a.safetensors"
    write(path, {"x": entry("F4", (4,), 0, 2)}, bytes(2))
    assert refusal(path) == f"{path}:x: elements are F4, expected numbers of 1, 2, 4 or 8 bytes"


def test_keys(tmp_path):
    path = tmp_path / "a.safetensors"
    write(path, {}, b"")
    assert refusal(path) == f"{path}: holds no array"
    save_file({"x": np.zeros(1)}, path)
    assert refusal(f"{path}:y") == f"{path}: no array 'y', there are 1: a.safetensors:x"
    assert refusal(tmp_path / "b.safetensors") == (
        f"{tmp_path}/b.safetensors: No such file or directory"
    )


def test_every_truncation_and_extension_is_refused(tmp_path):
    path = tmp_path / "a.safetensors"
    save_file({"x": np.arange(5), "y": np.zeros(3, "u1")}, path)
    whole = path.read_bytes()
    for damaged in (*(whole[:size] for size in range(len(whole))), whole + b"\0"):
        path.write_bytes(damaged)
        message = refusal(f"{path}:x")
        assert message.startswith(f"{path}: damaged or not a .safetensors file (")
        assert "\n" not in message


@pytest.mark.parametrize(
    ("entries", "data"),
    [
        ({"x": entry("F32", (4,), 0, 8)}, bytes(8)),
        ({"x": entry("F32", (2**62,), 0, 8)}, bytes(8)),
        ({"x": entry("F32", (2,), 8, 16)}, bytes(16)),
        ({"x": entry("F32", (2,), 0, 8), "y": entry("F32", (2,), 4, 12)}, bytes(12)),
        ({"x": entry("F99", (2,), 0, 8)}, bytes(8)),
        ({"x": entry("F32", (1,) * 100, 0, 4)}, bytes(4)),
        ({"x": entry("F32", (0, 2**62), 0, 0)}, b""),
        ({"x": 3}, b""),
        ([], b""),
    ],
)
def test_forged_headers_are_refused(tmp_path, entries, data):
    path = tmp_path / "a.safetensors"
    write(path, entries, data)
    refusal(path)


def test_damaged_headers_give_arrays_or_a_refusal(tmp_path):
    path = tmp_path / "a.safetensors"
    save_file({"x": np.arange(5), "y": np.zeros(3, "u1")}, path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    refused = 0
    for at in range(len(whole) - 43):
        damaged = bytearray(whole)
        damaged[at] = rng.choice(list(b"\0'0}\xff"))
        path.write_bytes(damaged)
        try:
            list(each(str(path)))
        except UserError:
            refused += 1
    assert refused > 80


def test_tensors_are_mapped(tmp_path):
    path = tmp_path / "a.safetensors"
    save_file({"x": np.zeros(1 << 20)}, path)
    tracemalloc.start()
    try:
        load_tensor(str(path))
        assert tracemalloc.get_traced_memory()[1] < 1 << 18
    finally:
        tracemalloc.stop()


def test_without_the_library(tmp_path, monkeypatch):
    path = tmp_path / "a.safetensors"
    save_file({"x": np.zeros(1)}, path)
    monkeypatch.setitem(sys.modules, "safetensors", None)
    assert refusal(path) == f"{path} needs safetensors: pip install 'cdma-engine[safetensors]'"
