"""``cdma convert``."""

import json
from pathlib import Path

import numpy as np
import pytest

from cdma.cli.main import main
from cdma.engine_config import EngineConfig
from cdma.golden import engine, read_container, write_container


@pytest.fixture(autouse=True)
def _in_its_own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def tensor():
    """Dense and sparse halves, as ``a.zvc``."""
    array = np.random.default_rng(1).standard_normal((2, 50, 100)).astype("f4")
    array[0] = np.maximum(array[0], 0)
    write_container("a.zvc", array)
    return array


BACK = ["--dtype", "float32", "--shape", "2,50,100"]


def test_help_has_an_example(helped):
    assert "example:\n  cdma convert " in helped("convert")


def test_there_and_back(tensor, capsys):
    assert main(["convert", "a.zvc", "-o", "a.bin", "--index", "a.idx"]) == 0
    assert "wrote a.bin and a.idx: float32 2x50x100, 10 stripes (0 raw)" in capsys.readouterr().out
    sent = engine.offload(tensor, EngineConfig(), raw="never", crc=True)
    assert Path("a.bin").read_bytes() == sent.stream.tobytes()
    assert Path("a.idx").read_bytes() == sent.index.tobytes()
    assert main(["convert", "a.bin", "-o", "b.zvc", "--index", "a.idx", *BACK]) == 0
    assert np.array_equal(read_container("b.zvc"), tensor)


def test_one_stripe_is_no_stripes(tmp_path, capsys):
    write_container(tmp_path / "one.zvc", np.ones(4, np.float32))
    names = [str(tmp_path / name) for name in ("one.zvc", "one.bin", "one.idx")]
    assert main(["convert", names[0], "-o", names[1], "--index", names[2]]) == 0
    assert ": float32 4, 1 stripe (0 raw), " in capsys.readouterr().out


def test_there_and_back_with_zvcplus(tensor, capsys):
    np.save("x.npy", tensor)
    assert main(["compress", "x.npy", "-o", "a.zvc", "--codec", "zvcplus"]) == 0
    assert main(["convert", "a.zvc", "-o", "a.bin", "--index", "a.idx"]) == 0
    config = EngineConfig(codec="zvcplus", type="fp32")
    sent = engine.offload(tensor, config, raw="never", crc=True)
    assert Path("a.bin").read_bytes() == sent.stream.tobytes()
    assert Path("a.idx").read_bytes() == sent.index.tobytes()
    back = ["-o", "b.zvc", "--index", "a.idx", "--codec", "zvcplus", *BACK]
    assert main(["convert", "a.bin", *back]) == 0
    assert np.array_equal(read_container("b.zvc"), tensor)
    assert main(["convert", "a.bin", *back[:4], *BACK]) == 2
    assert "a.bin: " in capsys.readouterr().err


def test_raw_stripes_make_version_2(tensor, capsys):
    options = ["--index", "a.idx", "--stripe-bytes", "1024"]
    assert main(["convert", "a.zvc", "-o", "a.bin", "--raw", "always", *options]) == 0
    assert main(["convert", "a.bin", "-o", "b.zvc", *options, *BACK, "--json"]) == 0
    out = capsys.readouterr().out
    facts = json.loads(out[out.index("{") :])
    assert (facts["stripes"], facts["raw_stripes"], facts["stream_bytes"]) == (40, 40, 40000)
    assert main(["info", "b.zvc"]) == 0
    out = capsys.readouterr().out
    assert "(container version 2)" in out
    assert "40 of 256 words, 40 raw" in out
    assert f"{np.count_nonzero(tensor) / tensor.size:.1%} of the words" in out
    assert main(["decompress", "b.zvc", "-o", "b.npy"]) == 0
    assert np.array_equal(np.load("b.npy"), tensor)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.zvc", "-o", "b.zvc"], "expected one name that ends in .zvc"),
        (["a.bin", "-o", "b.bin"], "expected one name that ends in .zvc"),
        (["a.zvc", "-o", "b.bin", "--dtype", "float32"], "--dtype is for writing a container"),
        (["a.zvc", "-o", "b.bin", "--stripe-bytes", "100"], "Stripe length must be 1024"),
        (["a.zvc", "-o", "b.bin", "--block-words", "0"], "Block length must be a positive"),
        (["a.bin", "-o", "b.zvc", *BACK[:2], "--shape", f"0,{2**63 - 1}"], "--shape: must have"),
        (["a.bin", "-o", "b.zvc", *BACK[:2], "--shape", ",".join("1" * 37)], "at most 32 sizes"),
        (["a.zvc", "-o", "b.bin", "--block-words", "64"], "Container has words of 32 bits"),
        (["a.bin", "-o", "b.zvc", "--raw", "auto", *BACK], "--raw is for reading a container"),
        (["a.bin", "-o", "b.zvc"], "a container needs --dtype and --shape"),
        (["a.bin", "-o", "b.zvc", "--dtype", "f", "--shape", "1"], "--dtype must be one of bool,"),
        (["a.bin", "-o", "b.zvc", "--dtype", "int8", "--shape", "9999"], "expected 24 bytes of"),
        (["a.bin", "-o", "b.zvc", *BACK[:2], "--shape", "9300"], "a.bin: Stripe 9, byte "),
        (["no.zvc", "-o", "b.bin"], "no.zvc"),
    ],
)
def test_mistakes_are_named(tensor, capsys, arguments, message):
    assert main(["convert", "a.zvc", "-o", "a.bin", "--index", "a.idx"]) == 0
    before = {path.name for path in Path().iterdir()}
    capsys.readouterr()
    assert main(["convert", *arguments, "--index", "a.idx"]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert len(shown.splitlines()) == 1
    assert {path.name for path in Path().iterdir()} == before
