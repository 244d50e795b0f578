"""``--lossy`` of ``cdma compress``, and what the other verbs say of such files."""

from pathlib import Path

import numpy as np
import pytest

from cdma.cli.main import main


@pytest.fixture(autouse=True)
def _in_its_own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def tensor():
    """Half zeros, a NaN and an infinity, saved as ``a.npy``."""
    array = np.maximum(np.random.default_rng(1).standard_normal((10, 30)), 0).astype("f4")
    array[0, :2] = np.nan, -np.inf
    np.save("a.npy", array)
    return array


def test_compress_decompress_and_info(report, tensor):
    facts = report("compress", "a.npy", "-o", "a.zvc", "--lossy", "abs=0.01")
    assert (facts["codec"], facts["error_bound"], facts["q_bits"]) == ("lossy-zvc", 0.01, 8)
    assert facts["raw_bytes"] == 1200
    assert facts["ratio"] == 1200 / (facts["stream_bytes"] + facts["outlier_bytes"]) > 3
    assert facts["file_bytes"] == Path("a.zvc").stat().st_size
    result = report("decompress", "a.zvc", "-o", "b.npy")
    described = report("info", "a.zvc")
    for key in ("codec", "error_bound", "q_bits", "outliers", "outlier_bytes", "ratio"):
        assert result[key] == described[key] == facts[key]
    for key in ("density", "nonzeros", "stream_bytes", "file_bytes", "raw_bytes"):
        assert described[key] == facts[key]
    read = np.load("b.npy")
    assert (read.dtype, read.shape) == (tensor.dtype, tensor.shape)
    assert np.isnan(read[0, 0])
    assert read[0, 1] == -np.inf
    finite = np.isfinite(tensor)
    error = np.abs(read[finite].astype("f8") - tensor[finite].astype("f8"))
    assert 0 < error.max() <= 0.01
    assert (read[tensor == 0] == 0).all()


def test_texts(capsys, tensor):
    assert main(["compress", "a.npy", "-o", "a.zvc", "--lossy", "rel=0.1"]) == 0
    assert main(["info", "a.zvc"]) == 0
    assert main(["decompress", "a.zvc", "-o", "b.npy"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if "error at most" in line]
    assert len(lines) == 3
    assert all("8-bit numbers, " in line for line in lines)


def test_relative_bound(report, tensor):
    finite = tensor[np.isfinite(tensor) & (tensor != 0)].astype("f8")
    facts = report("compress", "a.npy", "-o", "a.zvc", "--lossy", "rel=0.1")
    assert facts["error_bound"] == pytest.approx(0.1 * finite.std())


def test_bfloat16(report):
    pytest.importorskip("ml_dtypes")
    np.save("a.npy", np.array([0, 0x3F80, 0x4000, 0x7FC1], "<u2"))
    options = ("--lossy", "abs=0.1", "--dtype", "bfloat16")
    assert report("compress", "a.npy", "-o", "a.zvc", *options)["dtype"] == "bfloat16"
    report("decompress", "a.zvc", "-o", "b.npy")
    assert np.load("b.npy").view("<u2").tolist()[3] == 0x7FC1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--lossy", "abs=0"), "Error bound must be above 0, not 0: use lossless compression"),
        (("--lossy", "abs=-1"), "Error bound must be finite and above 0, not -1.0"),
        (("--lossy", "0.1"), "Error bound must be abs=EB or rel=R, not '0.1'"),
        (("--lossy", "rel=1", "--raw"), "--raw does not go with --lossy: leave one of them out"),
        (("--lossy", "rel=1", "--word-bits", 32), "--word-bits does not go with --lossy"),
        (("--lossy", "rel=1", "--block-words", 32), "--block-words does not go with --lossy"),
    ],
)
def test_refusals(refuse, tensor, options, message):
    assert message in refuse("compress", "a.npy", "-o", "a.zvc", *options)
    assert not Path("a.zvc").exists()


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.arange(3), "a.npy: Element type must be one of float16, bfloat16, float32, float64"),
        (np.ones(3), "a.npy: Relative error bound must be of values that differ"),
    ],
)
def test_tensors_that_are_refused(refuse, array, message):
    np.save("a.npy", array)
    assert message in refuse("compress", "a.npy", "-o", "a.zvc", "--lossy", "rel=0.1")


def test_damage_is_named(report, refuse, tensor):
    report("compress", "a.npy", "-o", "a.zvc", "--lossy", "abs=0.01")
    data = bytearray(Path("a.zvc").read_bytes())
    data[-1] ^= 1
    Path("a.zvc").write_bytes(data)
    message = refuse("decompress", "a.zvc", "-o", "b.npy")
    assert "the outliers are damaged, their CRC does not match" in message
    assert not Path("b.npy").exists()


def test_the_engine_cannot_take_it(report, refuse, tensor):
    report("compress", "a.npy", "-o", "a.zvc", "--lossy", "abs=0.01")
    assert "lossy codec" in refuse("convert", "a.zvc", "-o", "a.bin", "--index", "a.idx")
