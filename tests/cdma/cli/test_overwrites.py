"""No result replaces an input of the same run, or another result: the command refuses both."""

import argparse
from pathlib import Path

import numpy as np
import pytest

from cdma.cli import overwrites
from cdma.cli.main import build_parser, main
from cdma.golden import write_container


@pytest.fixture(autouse=True)
def _files(tmp_path, monkeypatch):
    """A tensor, a container, an index, and folders and links to them."""
    monkeypatch.chdir(tmp_path)
    array = np.float32([0, 1, 0, 2])
    np.save("x.npy", array)
    write_container("x.zvc", array)
    assert main(["convert", "x.zvc", "-o", "x.bin", "--index", "x.idx"]) == 0
    assert main(["convert", "x.zvc", "-o", "x.iaa", "--to", "iaa"]) == 0
    Path("times.csv").write_text("layer,fwd_ms,bwd_ms\n")
    Path("link.npy").symlink_to("x.npy")
    Path("dir").mkdir()
    np.save("dir/y.npy", array)
    Path("dir/manifest.json").write_text('{"tensors": []}')


def _content() -> dict:
    return {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


IS_INPUT = "is the input too and would be lost"
IS_TWICE = "two outputs would be this one file"
FOREIGN = ["--from", "iaa", "--dtype", "float32"]
BACK = ["--index", "x.idx", "--dtype", "float32", "--shape", "4"]
RUN = ["offload", "run", "vgg-d"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compress", "x.npy", "-o", "x.npy"], IS_INPUT),
        (["convert", "x.zvc", "-o", "c.bin", "--index", "x.zvc"], IS_INPUT),
        (["convert", "x.zvc", "-o", "c.bin", "--index", "./c.bin"], IS_TWICE),
        (["convert", "x.bin", "-o", "x.idx.zvc", *BACK], IS_INPUT),
        (["convert", "x.zvc", "--to", "iaa", "-o", "x.zvc"], IS_INPUT),
        (["convert", "x.iaa", "-o", "x.iaa", *FOREIGN], IS_INPUT),
        (["cosim", "x.npy", "-o", "x.npy"], IS_INPUT),
        (["cosim", "x.npy", "-o", "link.npy"], IS_INPUT),
        (["cosim", "x.npy", "-o", "w.vcd", "--waves", "w.vcd"], IS_TWICE),
        (["analyze", "x.npy", "--csv", "x.npy"], IS_INPUT),
        (["analyze", "dir", "--csv", "dir/y.npy"], IS_INPUT),
        (["analyze", "dir/y.npy", "--csv", "dir/manifest.json"], IS_INPUT),
        (["bench", "--engine", "x.npy", "--save", "x.npy"], IS_INPUT),
        (["power", "x.npy", "--save", "x.npy"], IS_INPUT),
        ([*RUN, "--densities", "x.npy", "--csv", "x.npy"], IS_INPUT),
        ([*RUN, "--densities", "dir", "--csv", "dir/y.npy"], IS_INPUT),
        ([*RUN, "--ratio", "2", "--times", "times.csv", "--csv", "times.csv"], IS_INPUT),
        (["offload", "lossy", "--densities", "x.npy", "--save", "x.npy"], IS_INPUT),
        (["offload", "lossy", "--densities", "x.npy", "--save", "o", "--csv", "o"], IS_TWICE),
        (["offload", "validate", "--add", "times.csv", "--csv", "times.csv"], IS_INPUT),
        (["offload", "tune", "x.npy", "--csv", "x.npy"], IS_INPUT),
    ],
)
def test_the_files_stay(capsys, arguments, message):
    Path("x.idx.zvc").symlink_to("x.idx")
    before = _content()
    assert main(arguments) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert len(shown.splitlines()) == 1
    assert _content() == before


def test_tensors_of_the_environment_stay(refuse, monkeypatch):
    monkeypatch.setenv("CDMA_DATA", "dir")
    before = _content()
    assert IS_INPUT in refuse(*RUN, "--csv", "dir/y.npy")
    assert _content() == before


def test_the_cell_library_stays(refuse, monkeypatch):
    Path("cells").mkdir()
    Path("cells/a.lib").write_text("library")
    save = ("power", "x.npy", "--save", "cells/a.lib")
    assert IS_INPUT in refuse(*save, "--liberty", "cells/a.lib")
    monkeypatch.setenv("CDMA_LIBERTY", "cells")
    assert IS_INPUT in refuse(*save)
    assert Path("cells/a.lib").read_text() == "library"


def test_a_model_stays_and_a_file_with_the_name_of_a_network_may_be_replaced(refuse):
    Path("a.onnx").write_text("model")
    assert IS_INPUT in refuse("offload", "layers", "a.onnx", "--csv", "a.onnx")
    Path("vgg-d").write_text("old")
    assert main(["offload", "layers", "vgg-d", "--csv", "vgg-d"]) == 0
    assert Path("vgg-d").read_text().startswith("layer,")


def test_another_file_of_the_folder_may_be_replaced(capsys):
    Path("dir/old.csv").write_text("old")
    assert main(["analyze", "dir", "--csv", "dir/old.csv"]) == 0
    assert "y.npy" in Path("dir/old.csv").read_text()


def _options(parser, verb=""):
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, below in action.choices.items():
                yield from _options(below, f"{verb} {name}".strip())
        elif action.metavar and str(action.metavar).startswith(("FILE", "OUT", "TENSOR", "IN")):
            yield verb, action.dest


def test_every_option_of_a_file_is_known():
    """A new option of a file has to be added to the inputs or the outputs."""
    known = {*overwrites.INPUTS, *overwrites.OUTPUTS, "files", "densities", "baseline", "liberty"}
    found = {(verb, name) for verb, name in _options(build_parser()) if name not in known}
    codec = {(verb, "input") for verb in ("compress", "decompress", "info", "convert")}
    assert found == {*codec, ("convert", "index")}
