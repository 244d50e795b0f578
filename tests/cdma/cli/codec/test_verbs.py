"""``cdma compress``, ``decompress`` and ``info``."""

import io
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cdma.cli.main import main
from cdma.golden import Format, compress, read_container, write_container


@pytest.fixture(autouse=True)
def _in_its_own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def tensor():
    """Half zeros, saved as ``a.npy``."""
    rng = np.random.default_rng(1)
    array = np.maximum(rng.standard_normal((3, 5, 7)), 0).astype("f4")
    np.save("a.npy", array)
    return array


def files(folder) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize("verb", ["compress", "decompress", "info"])
def test_help_has_an_example(helped, verb):
    assert f"example:\n  cdma {verb} " in helped(verb)


@pytest.mark.parametrize("dtype", ["bool", "i1", "u2", "f2", "f4", ">f4", "f8", "c8"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,), (33,), (4, 5, 6)])
def test_container_round_trip(capsys, dtype, shape):
    array = np.random.default_rng(0).integers(0, 3, shape).astype(dtype)
    np.save("a.npy", array)
    assert main(["compress", "a.npy", "-o", "a.zvc"]) == 0
    assert main(["decompress", "a.zvc", "-o", "b.npy"]) == 0
    read = np.load("b.npy")
    assert read.dtype == np.dtype(dtype).newbyteorder("<")
    np.testing.assert_array_equal(read, array)
    assert read.shape == shape


def test_fortran_order(tensor):
    np.save("f.npy", np.asfortranarray(tensor))
    assert main(["compress", "f.npy", "-o", "f.zvc"]) == 0
    np.testing.assert_array_equal(read_container("f.zvc"), tensor, strict=True)


def test_archive_and_block_length(report, tensor):
    np.savez("a.npz", **{"layer/1": tensor})
    facts = report("compress", "a.npz:layer/1", "-o", "a.zvc", "--block-words", 96)
    assert facts["block_words"] == 96
    np.testing.assert_array_equal(read_container("a.zvc"), tensor, strict=True)


def test_bfloat16_in_a_container_and_raw(report):
    pytest.importorskip("ml_dtypes")
    safetensors = pytest.importorskip("safetensors.numpy")
    words = np.array([0, 0x3F80, 0x8000, 0], "<u2")
    safetensors.save_file({"x": words.view("bfloat16")}, "b.safetensors")
    assert report("compress", "b.safetensors:x", "-o", "b.zvc")["dtype"] == "bfloat16"
    report("decompress", "b.zvc", "-o", "b.npy")
    report("compress", "b.safetensors:x", "-o", "b.bin", "--raw")
    raw = ("--raw", "--count", 4, "--dtype", "bfloat16", "-o", "raw.npy")
    report("decompress", "b.bin", *raw)
    assert Path("raw.npy").read_bytes() == Path("b.npy").read_bytes()
    np.testing.assert_array_equal(np.load("b.npy").view("<u2"), words)


def test_raw_is_the_bare_stream(capsys, tensor):
    assert main(["compress", "a.npy", "-o", "a.bin", "--raw"]) == 0
    assert Path("a.bin").read_bytes() == compress(tensor).tobytes()


@pytest.mark.parametrize("dtype", ["bool", "i1", "f2", "f4", ">f4", "f8", "c8"])
@pytest.mark.parametrize("shape", [(), (0,), (65,), (2, 3, 5)])
def test_raw_is_undone_as_it_says(capsys, dtype, shape):
    array = np.random.default_rng(0).integers(0, 3, shape).astype(dtype)
    np.save("a.npy", array)
    assert main(["compress", "a.npy", "-o", "a.bin", "--raw", "--block-words", "192"]) == 0
    advice = capsys.readouterr().out.splitlines()[-1]
    assert advice.startswith("undo with: cdma decompress ")
    assert main(shlex.split(advice)[3:]) == 0
    expected = array.astype(np.dtype(dtype).newbyteorder("<"))
    np.testing.assert_array_equal(np.load("OUT.npy"), expected, strict=True)


@pytest.mark.parametrize("name", ["\u00e4 b.bin", "-x.bin", "it's.bin"])
def test_raw_is_undone_whatever_its_name(capsys, tensor, name):
    assert main(["compress", "a.npy", f"--output={name}", "--raw"]) == 0
    advice = capsys.readouterr().out.splitlines()[-1]
    assert main(shlex.split(advice)[3:]) == 0
    np.testing.assert_array_equal(np.load("OUT.npy"), tensor, strict=True)


def test_floats_of_8_bits_fold_by_their_name(report, refuse):
    """NumPy saves them as raw bytes, without the name."""
    np.save("f8.npy", np.array([0, 0x80, 0x38, 0x80], "u1").view("V1"))
    fold = ("compress", "f8.npy", "-o", "f8.zvc", "--fold-negative-zero")
    facts = report(*fold, "--dtype", "float8_e4m3fn")
    assert facts["density"] == 0.25
    np.testing.assert_array_equal(read_container("f8.zvc"), np.array([0, 0, 0x38, 0], "u1"))
    assert "of which 128 would become 0" in refuse(*fold, "--dtype", "float8_e4m3fnuz")


def test_raw_words_without_a_type(report, tensor):
    compress(tensor).tofile("a.bin")
    report("decompress", "a.bin", "--raw", "--count", tensor.size, "-o", "b.npy")
    np.testing.assert_array_equal(np.load("b.npy"), tensor.view("u4").ravel(), strict=True)
    report("decompress", "a.bin", "--raw", "--shape", "15,7", "-o", "b.npy")
    np.testing.assert_array_equal(np.load("b.npy"), tensor.view("u4").reshape(15, 7), strict=True)


def test_figures(report, tensor):
    nonzeros = np.count_nonzero(tensor)
    facts = report("compress", "a.npy", "-o", "a.zvc")
    expected = {
        "dtype": "float32",
        "shape": [3, 5, 7],
        "word_bits": 32,
        "block_words": 32,
        "words": 105,
        "nonzeros": nonzeros,
        "raw_bytes": 420,
        "stream_bytes": 16 + 4 * nonzeros,
        "ratio": 420 / (16 + 4 * nonzeros),
        "density": nonzeros / 105,
    }
    assert {key: facts[key] for key in expected} == expected
    described = report("info", "a.zvc")
    assert {key: described[key] for key in expected} == expected
    assert described["file_bytes"] == facts["file_bytes"] == Path("a.zvc").stat().st_size
    assert described["chunks"] == 1


def test_negative_zero_counts_as_a_word(report):
    np.save("a.npy", np.array([0.0, -0.0], ">f4"))
    assert report("compress", "a.npy", "-o", "a.zvc")["nonzeros"] == 1
    assert report("info", "a.zvc")["nonzeros"] == 1


def test_an_empty_array_has_figures(report):
    np.save("a.npy", np.zeros((0, 3), "f4"))
    facts = report("compress", "a.npy", "-o", "a.zvc")
    assert (facts["ratio"], facts["density"], facts["stream_bytes"]) == (1, 0, 0)
    facts = report("info", "a.zvc")
    assert (facts["ratio"], facts["density"], facts["chunks"]) == (1, 0, 0)


def test_info_for_people(capsys, tensor):
    write_container("a.zvc", np.zeros((2, 3, 1000), "f2"))
    assert main(["info", "a.zvc"]) == 0
    out = capsys.readouterr().out
    assert "float16 2x3x1000, 6,000 words" in out
    assert "16-bit words, blocks of 64 words" in out
    assert "12,000 bytes as an array, 752 as a stream" in out
    assert "ratio    15.957" in out


def test_bfloat16_survives(capsys):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.array([[0, 1.5], [-0.0, 3]], ml_dtypes.bfloat16)
    np.save("a.npy", array)
    assert main(["compress", "a.npy", "-o", "a.zvc"]) == 0
    assert main(["decompress", "a.zvc", "-o", "b.npy"]) == 0
    np.testing.assert_array_equal(np.load("b.npy"), array.view("u2"), strict=True)
    write_container("c.zvc", array)
    assert main(["decompress", "c.zvc", "-o", "c.npy"]) == 0
    np.testing.assert_array_equal(np.load("c.npy").view("u2"), array.view("u2"), strict=True)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("no.npy", "-o", "x"), "no.npy: No such file or directory"),
        (
            ("a.txt", "-o", "x"),
            "a.txt: unknown type of file, expected .npy, .npz, .safetensors, .pt, .pth",
        ),
        (
            ("a.npy", "-o", "x", "--word-bits", 16),
            "a.npy: elements are float32, so words have 32 bits, not 16; leave --word-bits out",
        ),
        (
            ("a.npy", "-o", "x", "--word-bits", 12),
            "Word width must be 8, 16, 32 or 64 bits, not 12",
        ),
        (
            ("a.npy", "-o", "x", "--block-words", 31),
            "Block length must be a positive multiple of the word width 32, not 31",
        ),
        (("a.npy", "-o", "no/x"), "no/x: the folder no does not exist, create it first"),
        (("a.npy", "-o", "."), ".: is a folder, expected the name of a file to write"),
        (
            ("a.npy", "-o", "/dev/null"),
            "/dev/null: is not a regular file, and only a regular file can be replaced",
        ),
    ],
)
def test_compress_refuses(refuse, tmp_path, tensor, argv, message):
    assert refuse("compress", *argv) == f"cdma compress: {message}"
    assert files(tmp_path) == {"a.npy"}


def test_too_many_dimensions_for_a_container(refuse, tmp_path):
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        pytest.skip("NumPy 1 has no such arrays")
    np.save("a.npy", np.zeros((1,) * 40))
    message = "cdma compress: a.npy: Array must have at most 32 dimensions, not 40"
    assert refuse("compress", "a.npy", "-o", "a.zvc") == message
    assert files(tmp_path) == {"a.npy"}


RAW = ("a.bin", "--raw", "-o", "b.npy")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (("no.zvc", "-o", "b.npy"), "no.zvc: No such file or directory"),
        (("a.zvc", "-o", "b.txt"), "b.txt: expected a name that ends in .npy for the output"),
        (("a.zvc", "-o", "no/b.npy"), "no/b.npy: the folder no does not exist, create it first"),
        (
            ("a.zvc", "-o", "b.npy", "--word-bits", 32),
            "--word-bits is for raw streams: add --raw, or leave it out",
        ),
        (
            ("a.zvc", "-o", "b.npy", "--count", 0),
            "--count is for raw streams: add --raw, or leave it out",
        ),
        (RAW, "a.bin: a raw stream needs --count or --shape"),
        (
            (*RAW, "--count", 105, "--dtype", "f16"),
            "--dtype must be a NumPy type of 1, 2, 4 or 8 bytes, not 'f16'",
        ),
        (("no.bin", "--raw", "--count", 1, "-o", "b.npy"), "no.bin: No such file or directory"),
    ],
)
def test_decompress_refuses(refuse, tmp_path, tensor, argv, message):
    write_container("a.zvc", tensor)
    compress(tensor).tofile("a.bin")
    before = files(tmp_path)
    assert refuse("decompress", *argv) == f"cdma decompress: {message}"
    assert files(tmp_path) == before


@pytest.mark.parametrize("shape", ["", "a", "2,", "2,-3", "1.5", "2x3"])
def test_shapes_that_are_none(refuse, shape):
    message = f"argument --shape: must be sizes with commas between, not {shape!r}"
    line = refuse("decompress", "a.bin", "--raw", f"--shape={shape}", "-o", "b.npy")
    assert line == f"cdma decompress: {message} (see cdma decompress --help)"


@pytest.mark.parametrize("count", [0, 64, 104, 129, 10**18])
def test_a_raw_stream_of_another_count(refuse, tmp_path, tensor, count):
    stream = compress(np.ones(105, "f4"))
    stream.tofile("a.bin")
    (tmp_path / "b.npy").write_text("old")
    line = refuse("decompress", *RAW, "--count", count)
    assert line.startswith("cdma decompress: a.bin: Byte ")
    assert (tmp_path / "b.npy").read_text() == "old"
    assert files(tmp_path) == {"a.npy", "a.bin", "b.npy"}


def test_every_truncation_and_every_changed_byte_is_refused(refuse, tmp_path):
    write_container("a.zvc", np.arange(40, dtype="u1") % 3, Format(8))
    whole = (tmp_path / "a.zvc").read_bytes()
    (tmp_path / "b.npy").write_text("old")
    damaged = [whole[:size] for size in range(len(whole))]
    for at in range(len(whole)):
        changed = bytearray(whole)
        changed[at] ^= 1 << at % 8
        damaged.append(bytes(changed))
    for content in (*damaged, whole + b"\0"):
        (tmp_path / "bad.zvc").write_bytes(content)
        line = refuse("decompress", "bad.zvc", "-o", "b.npy")
        assert line.startswith("cdma decompress: bad.zvc: Byte ")
    assert (tmp_path / "b.npy").read_text() == "old"
    assert files(tmp_path) == {"a.zvc", "b.npy", "bad.zvc"}


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"\x89ZVC\r\n\x1a\n", bytes(500)])
def test_info_on_something_else(refuse, tmp_path, content):
    (tmp_path / "bad.zvc").write_bytes(content)
    assert refuse("info", "bad.zvc").startswith("cdma info: bad.zvc: Byte ")


@pytest.mark.parametrize("verb", ["info", "decompress"])
def test_a_folder_is_no_container(refuse, tmp_path, verb):
    argv = () if verb == "info" else ("-o", "b.npy")
    assert refuse(verb, tmp_path, *argv) == f"cdma {verb}: {tmp_path}: Is a directory"


def test_the_input_is_not_overwritten(refuse, tensor):
    before = Path("a.npy").read_bytes()
    Path("link.npy").symlink_to("a.npy")
    for output in ("a.npy", "./a.npy", "link.npy"):
        line = refuse("compress", "a.npy", "-o", output)
        assert line == (
            f"cdma compress: {output}: is the input too and would be lost, choose another name"
        )
    np.savez("b.npz", x=tensor)
    assert "is the input too" in refuse("compress", "b.npz:x", "-o", "b.npz")
    write_container("c.npy", tensor)
    assert "is the input too" in refuse("decompress", "c.npy", "-o", "c.npy")
    assert Path("a.npy").read_bytes() == before


def piped(*argv, stdin=b""):
    command = [sys.executable, "-m", "cdma", *argv]
    return subprocess.run(command, input=stdin, capture_output=True)


def test_stdin_and_stdout(tensor):
    packed = piped("compress", "-", "-o", "-", stdin=Path("a.npy").read_bytes())
    assert packed.returncode == 0, packed.stderr
    assert packed.stderr.startswith(b"wrote -: float32 3x5x7")
    assert b"float32 3x5x7" in piped("info", "-", stdin=packed.stdout).stdout
    unpacked = piped("decompress", "-", "-o", "-", stdin=packed.stdout)
    np.testing.assert_array_equal(np.load(io.BytesIO(unpacked.stdout)), tensor, strict=True)


def test_a_bad_stdin_is_called_by_its_name():
    done = piped("compress", "-", "-o", "x.zvc", stdin=b"no array")
    assert done.returncode == 2
    assert done.stderr.startswith(b"cdma compress: -: damaged or not an .npy file")
    assert not Path("x.zvc").exists()


def test_json_and_the_output_do_not_share_stdout(refuse, tensor):
    assert "leave one of them out" in refuse("compress", "a.npy", "-o", "-", "--json")


def test_a_full_disk_names_the_file(tensor):
    np.save("large.npy", np.arange(100_000, dtype="f4"))
    write_container("large.zvc", np.arange(100_000, dtype="f4"))
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000));"
        "from cdma.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    runs = ("compress", "large.npy", "-o", "x.zvc"), ("decompress", "large.zvc", "-o", "x.npy")
    for argv in runs:
        done = subprocess.run([sys.executable, "-c", code, *argv], capture_output=True, text=True)
        assert done.returncode == 2
        assert f"cdma {argv[0]}: {argv[-1]}: cannot write all of it (" in done.stderr
        assert done.stderr.count("\n") == 1
    assert not [path for path in Path().iterdir() if path.name.startswith((".cdma", "x."))]


def test_a_type_given_by_hand_survives(report, refuse, capsys):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.arange(64).astype(ml_dtypes.bfloat16)
    np.save("b.npy", array)
    facts = report("compress", "b.npy", "-o", "b.zvc", "--dtype", "bfloat16")
    assert facts["dtype"] == "bfloat16"
    assert read_container("b.zvc").dtype == ml_dtypes.bfloat16
    assert main(["decompress", "b.zvc", "-o", "c.npy"]) == 0
    assert "note: .npy has no name for bfloat16" in capsys.readouterr().out
    np.testing.assert_array_equal(np.load("c.npy").view(ml_dtypes.bfloat16), array)
    message = refuse("compress", "b.npy", "-o", "c.zvc", "--dtype", "float32")
    assert message.endswith("--dtype float32 has 4 bytes an element, the tensor (uint16) has 2")


def test_a_tail_of_ones_needs_no_count(capsys, tensor):
    for raw in ([], ["--raw"]):
        assert main(["compress", "a.npy", "-o", "a.bin", "--tail", "ones", *raw]) == 0
        undo = [*raw, "--tail", "ones", "--dtype", "float32"] if raw else []
        assert main(["decompress", "a.bin", "-o", "b.npy", *undo]) == 0
        np.testing.assert_array_equal(np.load("b.npy").reshape(tensor.shape), tensor)
    assert main(["compress", "a.npy", "-o", "a.zvc", "--tail", "ones"]) == 0
    capsys.readouterr()
    assert main(["info", "a.zvc"]) == 0
    assert "32-bit words, blocks of 32 words, tail of ones" in capsys.readouterr().out


def test_zero_value_and_folding(capsys):
    array = np.where(np.arange(500) % 3, 128, np.arange(500) % 256).astype("u1")
    np.save("z.npy", array)
    for raw in ([], ["--raw"]):
        options = ["--zero-value", "0x80"]
        assert main(["compress", "z.npy", "-o", "z.bin", *options, *raw]) == 0
        undo = [*raw, *options, "--count", "500", "--word-bits", "8"] if raw else []
        assert main(["decompress", "z.bin", "-o", "b.npy", *undo]) == 0
        np.testing.assert_array_equal(np.load("b.npy"), array)
    np.save("m.npy", np.array([0, -128, 5, -128] * 8, "i1"))
    assert main(["compress", "m.npy", "-o", "m.zvc", "--fold-negative-zero"]) == 2
    assert "not int8, of which -128 would become 0" in capsys.readouterr().err
    np.save("f.npy", np.array([0.0, -0.0, 1.5] * 50, "f4"))
    assert main(["compress", "f.npy", "-o", "f.zvc", "--fold-negative-zero"]) == 0
    capsys.readouterr()
    assert main(["info", "f.zvc"]) == 0
    assert "-0.0 folded into 0.0" in capsys.readouterr().out
    assert read_container("f.zvc").tobytes() == np.array([0.0, 0.0, 1.5] * 50, "f4").tobytes()


@pytest.mark.parametrize("verb", ["compress", "generate"])
def test_the_help_says_what_folding_does_to_integers(helped, verb):
    text = " ".join(helped(verb).split())
    assert "such as -128 of 8 bits, would come back as 0" in text
