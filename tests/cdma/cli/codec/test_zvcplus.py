"""``--codec zvcplus`` of ``cdma compress``, and what the other verbs say of such files."""

from pathlib import Path

import numpy as np
import pytest

from cdma.cli.main import main
from cdma.golden import read_header
from cdma.zvcplus import Format


@pytest.fixture(autouse=True)
def _in_its_own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    array = np.maximum(np.random.default_rng(1).standard_normal((6, 10, 30)), 0).astype("f4")
    array[:, 1::2] = array[:, 0::2]
    np.save("a.npy", array)
    np.save("u4.npy", array.view("u4"))
    np.save("f2.npy", array.astype("f2"))
    np.save("line.npy", array.reshape(-1))


def test_compress_decompress_and_info(report):
    facts = report("compress", "a.npy", "-o", "a.zvc", "--codec", "zvcplus", "--repeats", "above")
    assert (facts["codec"], facts["type"], facts["distance"]) == ("zvcplus", "fp32", 30)
    assert facts["file_bytes"] == Path("a.zvc").stat().st_size
    assert facts["ratio"] > 2.5
    described, result = report("info", "a.zvc"), report("decompress", "a.zvc", "-o", "b.npy")
    for key in ("codec", "type", "repeats", "distance", "min_beats"):
        assert described[key] == result[key] == facts[key]
    for key in ("density", "nonzeros", "stream_bytes", "ratio"):
        assert described[key] == facts[key]
    assert Path("a.npy").read_bytes() == Path("b.npy").read_bytes()


@pytest.mark.parametrize(
    ("file", "options", "fmt"),
    [
        ("a.npy", [], Format("fp32")),
        ("f2.npy", ["--repeats", "left"], Format("fp16", "left")),
        ("f2.npy", ["--dtype", "bfloat16"], Format("bf16")),
        ("u4.npy", ["--dtype", "float32"], Format("fp32")),
        ("a.npy", ["--repeats", "above", "--distance", "7"], Format("fp32", "above", 7)),
        ("a.npy", ["--repeats", "above", "--layout", "CHWN"], Format("fp32", "above", 300)),
        ("line.npy", ["--repeats", "above"], Format("fp32", "left")),
    ],
)
def test_format_follows_from_the_tensor(file, options, fmt, capsys):
    assert main(["compress", file, "-o", "a.zvc", "--codec", "zvcplus", *options]) == 0
    assert read_header("a.zvc").format == fmt
    assert f"ZVC+: {fmt.type}, repeats {fmt.repeats}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["u4.npy", "--codec", "zvcplus"], "elements are uint32, ZVC+ has float32"),
        (["a.npy", "--repeats", "left"], "--repeats is for --codec zvcplus"),
        (["a.npy", "--codec", "zvcplus", "--raw"], "--raw does not go with --codec zvcplus"),
        (["a.npy", "--codec", "zvcplus", "--distance", "3"], "--distance is for --repeats above"),
        (
            ["a.npy", "--codec", "zvcplus", "--repeats", "above", "--distance", "x"],
            "--distance must be auto or a number of words, not 'x'",
        ),
        (
            ["a.npy", "--codec", "zvcplus", "--repeats", "above", "--distance", "2000"],
            "distance must be in 1..1024 words, not 2000",
        ),
        (["a.npy", "--codec", "zvcplus", "--lossy", "abs=1"], "--codec zvcplus does not go with"),
    ],
)
def test_refused(options, message, capsys):
    assert main(["compress", *options, "-o", "a.zvc"]) == 2
    assert message in capsys.readouterr().err
    assert not Path("a.zvc").exists()


def test_damage_is_named(capsys):
    assert main(["compress", "a.npy", "-o", "a.zvc", "--codec", "zvcplus"]) == 0
    data = bytearray(Path("a.zvc").read_bytes())
    data[-3] ^= 1
    Path("a.zvc").write_bytes(data)
    assert main(["decompress", "a.zvc", "-o", "b.npy"]) == 2
    assert "its CRC does not match" in capsys.readouterr().err
