"""``cdma offload``: what its commands print."""

import csv
import json
import sys

import numpy as np
import pytest

from cdma.cli.main import main
from cdma.offload.answers import points
from cdma.offload.tuning import tuner

GIVEN = ("--ratio", "2.6")


def test_run(report, tmp_path):
    file = tmp_path / "rows.csv"
    found = report("offload", "run", "alexnet", *GIVEN, "--csv", str(file))
    assert (found["network"], found["batch"], found["link_gb_per_s"]) == ("alexnet", 128, 12.8)
    rows = {row["scheme"]: row for row in found["rows"]}
    assert rows["cdma-zv"]["step_ms"] < rows["vdnn-all"]["step_ms"]
    with file.open() as lines:
        assert [row["scheme"] for row in csv.DictReader(lines)] == list(rows)


def test_tensors_of_a_folder(capsys, tmp_path):
    np.save(tmp_path / "relu1.npy", np.eye(64, dtype=np.float32))
    assert main(["offload", "run", "nin", "--densities", str(tmp_path), "--link", "5"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("NiN, batch 128, Titan X (Maxwell), link 5 GB/s, engine: 4 channels")
    for title in ("cDMA RL", "cDMA ZV", "cDMA ZL, real", "recompute + async"):
        assert title in text


def test_layers_are_times(capsys, tmp_path, report):
    file = tmp_path / "layers.csv"
    assert main(["offload", "layers", "alexnet", "--csv", str(file)]) == 0
    assert "conv1  conv + relu  64x55x55" in capsys.readouterr().out
    same = report("offload", "run", "alexnet", *GIVEN, "--times", str(file))
    model = report("offload", "run", "alexnet", *GIVEN)
    for one, other in zip(same["rows"], model["rows"], strict=True):
        assert one["step_ms"] == pytest.approx(other["step_ms"])


def test_times_of_one_batch_in_a_sweep_over_batches(refuse, report, tmp_path):
    """As without the file: the model is linear in the batch."""
    file = tmp_path / "layers.csv"
    report("offload", "layers", "vgg-d", "--batch", "64", "--csv", str(file))
    options = ("offload", "sweep", "vgg-d", *GIVEN, "--batches", "32,64,128", "--scheme", "oracle")
    model, given = report(*options), report(*options, "--times", str(file))
    for one, other in zip(given["rows"], model["rows"], strict=True):
        assert one["step_ms"] == pytest.approx(other["step_ms"], rel=0.01)
    file.write_text(file.read_text().replace(",batch,", ",images,"))
    line = refuse(*options, "--times", str(file))
    assert f"{file}: has no column batch, so its times are of one batch only: add the c" in line


def test_run_says_whose_times_it_has(capsys, refuse, tmp_path):
    file = tmp_path / "layers.csv"
    assert main(["offload", "layers", "alexnet", "--csv", str(file)]) == 0
    capsys.readouterr()
    options = ("offload", "run", "alexnet", *GIVEN, "--times", str(file))
    assert main([*options]) == 0
    assert f"Titan X (Maxwell), times of {file}, link" in capsys.readouterr().out
    assert "of the board titan-x, not" in refuse(*options, "--board", "titan-xp")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("x", *GIVEN), "network must be one of alexnet, "),
        (("alexnet", *GIVEN, "--densities", "."), "leave one out"),
        (("alexnet", *GIVEN, "--scheme", "x"), "scheme must be one of oracle, vdnn-all"),
        (("alexnet", *GIVEN, "--scheme", "cdma-rl"), "cdma-rl needs tensors to compress"),
        (("alexnet", *GIVEN, "--link", "0"), "--link: must be a number above 0, not '0'"),
        (("alexnet", *GIVEN, "--channels", "3"), "Number of channels must be"),
    ],
)
def test_wrong_values(refuse, options, message):
    assert message in refuse("offload", "run", *options)


def test_ratios_must_come_from_somewhere(refuse, monkeypatch):
    monkeypatch.delenv("CDMA_DATA", raising=False)
    line = refuse("offload", "run", "alexnet")
    assert "compression ratios are missing: give --densities FOLDER or --ratio R" in line


@pytest.mark.parametrize(
    "command",
    [
        "run",
        "layers",
        "validate",
        "explain",
        "trace",
        "sweep",
        "advise",
        "tune",
        "lossy",
        "measure",
        "document",
    ],
)
def test_help_has_an_example(command, capsys):
    assert main(["offload", command, "--help"]) == 0
    assert f"\n  cdma offload {command} " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "description"),
    [
        ("trace", "A step of each system as a trace for Perfetto."),
        ("tune", "Tune chunk size and threads of the CPU codec."),
        ("measure", "Measure the CPU codec for CSWAP's regression and tuner."),
    ],
)
def test_descriptions_keep_capital_letters(command, description, capsys):
    assert main(["offload", command, "--help"]) == 0
    assert f"\n\n{description}\n\n" in capsys.readouterr().out


def test_help_of_the_device_memory(capsys):
    assert main(["offload", "run", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "bandwidth of the device memory in GB/s: a layer takes at least" in text
    assert "copied beside it (default: the board's)" in text


def test_validate_without_figures(report, capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("CDMA_PUBLISHED", raising=False)
    monkeypatch.delenv("CDMA_DATA", raising=False)
    found = report("offload", "validate")
    assert "7 not given" in found["summary"]
    file = tmp_path / "rows.csv"
    assert main(["offload", "validate", "--csv", str(file)]) == 0
    text = capsys.readouterr().out
    assert "ratio 1: 0 %" in text
    assert text.endswith(found["summary"] + "\n")
    own = tmp_path / "own.csv"
    own.write_text(
        "claim,network,scheme,metric,figure,within,ratio\nmine,nin,async,step_ms,260,5,1\n"
    )
    found = report("offload", "validate", "--add", own)
    assert (found["rows"][0]["claim"], found["rows"][0]["verdict"]) == ("mine", "holds")
    assert file.read_text().startswith("claim,published,model,null,rule,verdict,reason\n")


def test_explain(capsys, report):
    assert main(["offload", "explain", "alexnet", *GIVEN]) == 0
    assert "conv2 backward" in capsys.readouterr().out
    found = report("offload", "explain", "alexnet", *GIVEN, "--scheme", "vdnn-all")
    assert found["scheme"] == "vdnn-all"
    assert found["rows"][0]["tensor"] == "image"


def test_trace(capsys, tmp_path):
    file = tmp_path / "step.json"
    assert main(["offload", "trace", "alexnet", *GIVEN, "-o", str(file)]) == 0
    events = json.loads(file.read_text())["traceEvents"]
    assert capsys.readouterr().out == f"wrote {file}: {len(events)} events\n"


def test_sweep(report, refuse):
    found = report(
        "offload", "sweep", "alexnet", "--links", "8,16", "--ratios", "2", "--scheme", "cdma-zv"
    )
    assert [row["link"] for row in found["rows"]] == [8, 16]
    assert "nothing to sweep" in refuse("offload", "sweep", "alexnet", *GIVEN)
    assert "must be a number above 0" in refuse("offload", "sweep", "alexnet", "--links", "8,x")


@pytest.mark.parametrize(
    ("several", "one"),
    [("--ratios", "--ratio"), ("--links", "--link"), ("--all-channels", "--channels")],
)
def test_sweep_takes_one_value_or_several(refuse, several, one):
    given = () if one == "--ratio" else GIVEN
    line = refuse("offload", "sweep", "alexnet", *given, several, "2", one, "8")
    assert line.endswith(f"{several} has the values in place of {one}: leave one out")


def test_advise(capsys, report):
    options = ("vgg-d", *GIVEN, "--link", "55", "--dram", "2000")
    found = report("offload", "advise", *options, "--tflops", "60")
    assert len(found["rows"]) == 1
    assert found["rows"][0]["tflops"] == pytest.approx(60)
    assert 0 < found["break_even_density"] <= 1
    assert found["link_use"] >= 0.95
    assert main(["offload", "advise", *options]) == 0
    text = capsys.readouterr().out
    assert text.startswith("engine  ")
    assert text.count("\n") > 10


@pytest.mark.parametrize(
    "options", [("sweep", "alexnet", *GIVEN, "--links", "8,16"), ("tune", "a.npy")]
)
def test_outputs_are_checked_before_the_work(refuse, monkeypatch, tmp_path, options):
    pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.eye(64, dtype=np.float32))
    line = refuse("offload", *options, "--csv", "no/rows.csv")
    assert "--csv: no/rows.csv: the folder no does not exist" in line
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(points, "over", pytest.fail)
    monkeypatch.setattr(tuner, "tune", pytest.fail)
    line = refuse("offload", *options, "--figures", "figures")
    assert line == "--figures needs matplotlib: pip install 'cdma-engine[study]'"


def test_tune(report, refuse, tmp_path):
    pytest.importorskip("sklearn")
    np.save(tmp_path / "a.npy", np.eye(64, dtype=np.float32))
    found = report("offload", "tune", tmp_path / "a.npy", "--trials", "3")
    assert len(found["rows"]) == 3
    assert found["best"]["ms"] == min(row["ms"] for row in found["rows"])
    np.save(tmp_path / "none.npy", np.zeros(0, np.float32))
    assert "is empty" in refuse("offload", "tune", tmp_path / "none.npy")


def test_lossy(capsys, refuse, tmp_path, monkeypatch):
    np.save(tmp_path / "relu1.npy", np.eye(64, dtype=np.float32) * np.arange(64, dtype=np.float32))
    options = ("--densities", str(tmp_path), "--bound", "abs=0.1")
    assert main(["offload", "lossy", *options, "--save", str(tmp_path / "a.json")]) == 0
    text = capsys.readouterr().out
    assert "lossy ZVC" in text
    assert "zeros kept, at least" in text
    assert json.loads((tmp_path / "a.json").read_text())["rows"][0]["bound"] == "abs=0.1"
    monkeypatch.delenv("CDMA_DATA", raising=False)
    assert "no tensors given" in refuse("offload", "lossy")


def test_lossy_leaves_out_tensors_that_are_not_float32(capsys, tmp_path):
    """A folder of ``cdma capture`` has float16, float64 and int8, too."""
    np.save(tmp_path / "a.npy", np.arange(64, dtype=np.float32))
    assert main(["offload", "lossy", "--densities", str(tmp_path), "--bound", "rel=0.1"]) == 0
    alone = capsys.readouterr().out
    for kind in ("int8", "float16", "float64"):
        np.save(tmp_path / f"{kind}.npy", np.arange(64).astype(kind))
    assert main(["offload", "lossy", "--densities", str(tmp_path), "--bound", "rel=0.1"]) == 0
    out, err = capsys.readouterr()
    assert out == alone
    assert f"left out {tmp_path}/int8.npy: its elements are int8, expected float32" in err


@pytest.mark.parametrize(
    "command",
    [
        ("run", "vgg-d", "--scheme", "cdma-zv"),
        ("sweep", "vgg-d", "--links", "8,16", "--scheme", "cdma-zv"),
        ("validate",),
    ],
    ids=lambda command: command[0],
)
def test_the_model_leaves_out_tensors_that_are_not_float32(capsys, tmp_path, monkeypatch, command):
    monkeypatch.delenv("CDMA_PUBLISHED", raising=False)
    np.save(tmp_path / "relu1.npy", np.eye(64, dtype=np.float32))
    options = ["offload", *command, "--densities", str(tmp_path)]
    assert main(options) == 0
    alone = capsys.readouterr()
    assert "left out" not in alone.err
    np.save(tmp_path / "labels.npy", np.arange(1, 4097, dtype=np.int32))
    assert main(options) == 0
    out, err = capsys.readouterr()
    assert out == alone.out
    line = f"left out {tmp_path}/labels.npy: its elements are int32, expected float32"
    assert err.count(f"cdma offload {command[0]}: {line}\n") == 1
    for number in range(4):
        np.save(tmp_path / f"z{number}.npy", np.arange(64, dtype=np.int8))
    assert main(options) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "left out" in line]
    assert len(lines) == 4
    assert lines[-1] == f"cdma offload {command[0]}: left out 2 more"


def test_a_wrong_network_lists_all_without_ratios_too(refuse, monkeypatch):
    monkeypatch.delenv("CDMA_DATA", raising=False)
    assert "network must be one of alexnet, " in refuse("offload", "run", "lenet")


@pytest.mark.parametrize("options", [("vgg-d", "--times", "no.csv"), ("no.onnx",)])
def test_a_missing_file_of_the_model(refuse, options):
    if "no.onnx" in options:
        pytest.importorskip("onnx")
    assert "(No such file or directory)" in refuse("offload", "run", *options, "--ratio", "2")


def test_lossy_leaves_out_tensors_without_a_bound(capsys, refuse, tmp_path):
    """Those whose values do not differ, and empty ones; the others of the folder are measured."""
    np.save(tmp_path / "zero.npy", np.zeros((4, 4), np.float32))
    np.save(tmp_path / "same.npy", np.full((4, 4), 3, np.float32))
    np.save(tmp_path / "none.npy", np.zeros((0, 4), np.float32))
    options = ("offload", "lossy", "--densities", str(tmp_path), "--bound", "rel=0.1")
    line = refuse(*options)
    assert "no float32 tensor with such a bound: " in line
    assert all(f"{tmp_path}/{name}.npy, rel=0.1: " in line for name in ("zero", "same", "none"))
    np.save(tmp_path / "good.npy", np.arange(64, dtype=np.float32))
    file = tmp_path / "out" / "a.json"
    file.parent.mkdir()
    assert main([*options, "--bound", "abs=0.1", "--json", "--save", str(file)]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert {row["bound"]: row["tensors"] for row in found["rows"]} == {"abs=0.1": 3, "rel=0.1": 1}
    assert len(found["left_out"]) == 4
    assert err.count("cdma offload lossy: left out ") == 4
    assert f"left out {tmp_path}/none.npy, abs=0.1: it is empty" in err
    assert json.loads(file.read_text())["left_out"] == found["left_out"]


def test_a_tensor_without_a_bound_is_named(refuse, tmp_path):
    np.save(tmp_path / "same.npy", np.full(4096, 3, np.float32))
    options = ("offload", "run", "vgg-d", "--densities", tmp_path / "same.npy")
    line = refuse(*options, "--lossy", "rel=0.01")
    assert line.startswith(f"cdma offload: {tmp_path}/same.npy: Relative error bound must be of")


def test_measure(refuse):
    pytest.importorskip("sklearn")
    assert "must be" in refuse("offload", "measure", "--save", "x", "--samples", "0")


def test_document_needs_tensors(refuse, monkeypatch):
    monkeypatch.delenv("CDMA_DATA", raising=False)
    assert "no tensors given" in refuse("offload", "document")
