"""Reading tensors from .npy and .npz files."""

import io
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

from cdma.errors import UserError
from cdma.tensors.load import each, load_tensor, names, split

DTYPES = ("bool", "i1", "u1", "<f2", ">f2", "<i4", ">f4", "<f8", "u8", "<c8")


def npy_bytes(array, **options) -> bytes:
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def refusal(name) -> str:
    """Message with which a tensor is refused."""
    with pytest.raises(UserError) as caught:
        load_tensor(str(name))
    return str(caught.value)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (7,), (2, 3, 5)])
def test_reads_what_numpy_wrote(tmp_path, dtype, shape):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "plain.npz", x=array, y=1)
    np.savez_compressed(tmp_path / "packed.npz", **{"group/x:y": array})
    for name in ("a.npy", "plain.npz:x", "packed.npz:group/x:y", "packed.npz"):
        read = load_tensor(str(tmp_path / name))
        assert read.dtype == array.dtype
        np.testing.assert_array_equal(read, array, strict=True)


def test_fortran_order(tmp_path):
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    np.save(tmp_path / "a.npy", array)
    np.testing.assert_array_equal(load_tensor(str(tmp_path / "a.npy")), array, strict=True)


@pytest.mark.parametrize(("name", "word"), [("bfloat16", "<u2"), ("float8_e4m3fn", "u1")])
def test_types_that_numpy_lacks_are_words(tmp_path, name, word):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.asfortranarray(np.array([[0, -1.5, 2], [-0.0, 0, 1]], getattr(ml_dtypes, name)))
    np.save(tmp_path / "a.npy", array)
    read = load_tensor(str(tmp_path / "a.npy"))
    np.testing.assert_array_equal(read, array.view(word), strict=True)


def test_no_such_file(tmp_path):
    path = tmp_path / "a.npy"
    assert refusal(path) == f"{path}: No such file or directory"
    path = tmp_path / "a.npz"
    assert refusal(f"{path}:x") == f"{path}: No such file or directory"


def test_folder(tmp_path):
    (tmp_path / "a.npy").mkdir()
    message = f"{tmp_path}/a.npy: is a folder, expected a file of tensors"
    assert refusal(tmp_path / "a.npy") == message


@pytest.mark.parametrize("name", ["a.txt", "a", "", "a.npy.gz"])
def test_unknown_type_of_file(name):
    suffixes = ".npy, .npz, .safetensors, .pt, .pth"
    message = f"{name}: unknown type of file, expected {suffixes}"
    assert refusal(name) == message


def test_names_that_are_no_file_of_tensors(tmp_path):
    assert refusal(tmp_path) == f"{tmp_path}: is a folder, expected a file of tensors"
    expected = "a.npy:x: an .npy file has one tensor and no keys, expected a.npy"
    assert refusal("a.npy:x") == expected


def test_keys_of_an_archive(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, **{f"k{i}": 0 for i in range(6)})
    keys = "there are 6: a.npz:k0, a.npz:k1, a.npz:k2, a.npz:k3, ..."
    assert refusal(path) == f"{path}: name one of its arrays, {keys}"
    assert refusal(f"{path}:x") == f"{path}: no array 'x', {keys}"
    assert refusal(f"{path}:") == f"{path}: no array '', {keys}"


def test_an_empty_key_beside_others(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, **{"": np.arange(2), "k": np.arange(3)})
    assert names(str(path)) == [f"{path}:", f"{path}:k"]
    assert [(name, array.size) for name, array in each(str(path))] == [
        (f"{path}:", 2),
        (f"{path}:k", 3),
    ]
    assert load_tensor(f"{path}:").size == 2
    assert refusal(path) == f"{path}: name one of its arrays, there are 2: a.npz:, a.npz:k"


def test_archive_without_arrays(tmp_path):
    np.savez(tmp_path / "a.npz")
    assert refusal(tmp_path / "a.npz") == f"{tmp_path}/a.npz: holds no array"
    message = f"{tmp_path}/a.npz: no array 'x', it holds none"
    assert refusal(f"{tmp_path}/a.npz:x") == message


def test_never_unpickles(tmp_path):
    array = np.array([{"a": 1}, None], object)
    np.save(tmp_path / "a.npy", array, allow_pickle=True)
    np.savez(tmp_path / "a.npz", x=array)
    for name in ("a.npy", "a.npz:x"):
        expected = f"{tmp_path / name}: holds Python objects, expected an array of numbers"
        assert refusal(tmp_path / name) == expected


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(2, "c16"),
        np.zeros(2, "U3"),
        np.zeros(2, "S4"),
        np.zeros(2, "f4,i4"),
        np.zeros(2, "V4"),
        np.zeros(2, "M8[s]"),
        np.zeros(2, np.longdouble),
    ],
    ids=lambda array: str(array.dtype),
)
def test_refuses_what_is_not_words(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    message = (
        f"{tmp_path}/a.npy: elements are {array.dtype}, expected numbers of 1, 2, 4 or 8 bytes"
    )
    assert refusal(tmp_path / "a.npy") == message


def test_every_truncation_is_refused(tmp_path):
    path = tmp_path / "a.npy"
    whole = npy_bytes(np.arange(5, dtype="f4"))
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        assert refusal(path).startswith(f"{path}: damaged or not an .npy file (")


def test_bytes_behind_the_array_are_refused(tmp_path):
    path = tmp_path / "a.npy"
    path.write_bytes(npy_bytes(np.arange(5)) + b"\0")
    assert refusal(path) == f"{path}: damaged file (bytes follow after the array)"


def test_a_damaged_header_gives_an_array_or_a_refusal(tmp_path):
    path = tmp_path / "a.npy"
    whole = npy_bytes(np.arange(5, dtype="f4"))
    rng = np.random.default_rng(0)
    refused = 0
    for at in range(whole.index(b"\n")):
        damaged = bytearray(whole)
        damaged[at] = rng.choice(list(b"\0'(0}\xff"))
        path.write_bytes(damaged)
        try:
            load_tensor(str(path))
        except UserError:
            refused += 1
    assert refused > 40  # the rest of the header is padding


def test_any_changed_byte_of_an_archived_array_is_noticed(tmp_path):
    path = tmp_path / "a.npz"
    array = np.arange(50, dtype="f4")
    np.savez(path, x=array)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("x.npy")
    start = whole.index(b"x.npy") + len(b"x.npy")  # then comes the extra field, then the data
    start += int.from_bytes(whole[28:30], "little")
    for at in range(start, start + info.compress_size):
        damaged = bytearray(whole)
        damaged[at] ^= 0x10
        path.write_bytes(damaged)
        assert refusal(f"{path}:x").startswith(f"{path}:x: damaged ")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"text", npy_bytes(np.arange(3))])
def test_not_an_archive(tmp_path, content):
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    assert refusal(path).startswith(f"{path}: not an .npz file (")
    assert refusal(f"{path}:x").startswith(f"{path}: not an .npz file (")


def test_archive_of_something_else(tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "text")
    assert refusal(path).startswith(f"{path}:notes.txt: damaged or not an .npy file (")


def test_npy_files_are_mapped(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(1 << 20))
    tracemalloc.start()
    try:
        read = load_tensor(str(tmp_path / "a.npy"))
        assert tracemalloc.get_traced_memory()[1] < 1 << 18
    finally:
        tracemalloc.stop()
    assert not read.any()


def test_each_array_of_a_file_comes_with_its_name(tmp_path):
    arrays = {"x": np.arange(3), "group/y:z": np.zeros((2, 2))}
    np.savez(tmp_path / "a.npz", **arrays)
    np.save(tmp_path / "a.npy", np.ones(2))
    path = tmp_path / "a.npz"
    assert names(str(path)) == [f"{path}:x", f"{path}:group/y:z"]
    for (name, array), expected in zip(each(str(path)), arrays.values(), strict=True):
        np.testing.assert_array_equal(array, expected, strict=True)
        np.testing.assert_array_equal(load_tensor(name), expected, strict=True)
    ((name, array),) = each(f"{path}:x")
    assert name == f"{path}:x"
    np.testing.assert_array_equal(array, arrays["x"])
    assert names(f"{path}:x") == [f"{path}:x"]
    assert names(str(tmp_path / "a.npy")) == [str(tmp_path / "a.npy")]
    assert [name for name, _ in each(str(tmp_path / "a.npy"))] == [str(tmp_path / "a.npy")]


def test_each_reads_one_at_a_time(tmp_path):
    size = 1 << 20
    np.savez_compressed(tmp_path / "a.npz", **{f"k{i}": np.zeros(size, "u1") for i in range(8)})
    tracemalloc.start()
    try:
        for _, array in each(str(tmp_path / "a.npz")):
            assert array.size == size
        assert tracemalloc.get_traced_memory()[1] < 3 * size
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("function", [names, lambda name: list(each(name))])
def test_each_and_names_refuse(tmp_path, function):
    path = tmp_path / "a.npz"
    np.savez(path)
    for name, message in [
        (path, f"{path}: holds no array"),
        (f"{path}:x", f"{path}: no array 'x', it holds none"),
        (tmp_path / "b.npy", f"{tmp_path}/b.npy: No such file or directory"),
        ("a.txt", "a.txt: unknown type of file, expected .npy, .npz, .safetensors, .pt, .pth"),
    ]:
        with pytest.raises(UserError) as caught:
            function(str(name))
        assert str(caught.value) == message


@pytest.mark.parametrize(
    ("name", "file", "key"),
    [
        ("a.npz:x", "a.npz", "x"),
        ("d.e/a.safetensors:conv1.weight", "d.e/a.safetensors", "conv1.weight"),
        ("a.pt:b.npz:c", "a.pt", "b.npz:c"),
        ("a.pth:b\nc", "a.pth", "b\nc"),
        ("a.pth", "a.pth", None),
        ("a:b.npy", "a:b.npy", None),
    ],
)
def test_file_and_key(name, file, key):
    assert split(name) == (Path(file), key)
