"""Notes on a tensor that is compressed."""

import sys
from pathlib import Path

import numpy as np
import pytest

from cdma.errors import UserError
from cdma.golden import read_container, read_header
from cdma.tensors.codec.compress import compress_tensor


@pytest.fixture
def noted(tmp_path, monkeypatch):
    """Save an array, compress it, and give the facts."""
    monkeypatch.chdir(tmp_path)

    def run(array, **options):
        np.save("a.npy", array)
        return compress_tensor("a.npy", "a.zvc", **options)

    return run


def test_types_that_files_do_not_name(noted):
    facts = noted(np.arange(64, dtype="<u2").view("V2"))
    assert facts["dtype"] == "uint16"
    assert facts["notes"][0] == "the elements, V2, are stored as uint16; see --dtype"
    notes = noted(np.arange(64, dtype=">f4"))["notes"]
    assert notes[0] == "the elements, big-endian, are stored little-endian"


def test_a_zero_point_is_named(noted):
    words = np.full(1000, 128, np.uint8)
    words[:300] = 1
    (note,) = noted(words)["notes"]
    expected = "the commonest word is 0x80 (70%); ratio 2.34 if it were zero: --zero-value 0x80"
    assert note == expected


def test_a_word_that_is_omitted_already_is_not_named(noted):
    words = np.full(1000, 128, np.uint8)
    words[:300] = 1
    assert noted(words, zero_value=128)["notes"] == []
    floats = np.full(1000, -0.0, np.float32)
    floats[:300] = 1
    assert noted(floats, fold_negative_zero=True)["notes"] == []


@pytest.mark.parametrize("is_raw", [False, True])
def test_folding_is_refused_for_integers(noted, is_raw):
    array = np.array([0, -128, 5, -128] * 8, "i1")
    with pytest.raises(
        UserError, match=r"^a\.npy: Elements must be floating point .* not int8, of"
    ):
        noted(array, fold_negative_zero=True, is_raw=is_raw)
    assert not Path("a.zvc").exists()


@pytest.mark.parametrize("has_package", [False, True])
@pytest.mark.parametrize("is_raw", [False, True])
def test_folding_of_bare_words_needs_their_type(noted, monkeypatch, is_raw, has_package):
    if has_package:
        pytest.importorskip("ml_dtypes")
    else:
        monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    words = np.array([0x8000, 0, 0x3F80], "<u2")
    with pytest.raises(UserError, match=r"not uint16, of .*; name the type of bare words"):
        noted(words, fold_negative_zero=True, is_raw=is_raw)
    facts = noted(words, fold_negative_zero=True, is_raw=is_raw, dtype="bfloat16")
    assert (facts["dtype"], facts["nonzeros"]) == ("bfloat16", 1)
    if not is_raw:
        assert read_header("a.zvc").dtype == "bfloat16"
        assert read_container("a.zvc").tobytes() == np.array([0, 0, 0x3F80], "<u2").tobytes()


@pytest.mark.parametrize("block_words", [None, 8, 256])
def test_the_ratio_of_a_note_is_the_one_that_its_option_gives(noted, block_words):
    bools = np.arange(77) % 7 != 0
    (note,) = noted(bools, block_words=block_words)["notes"]
    facts = noted(bools, block_words=block_words, zero_value=1)
    assert f"ratio {facts['ratio']:.2f} if it were zero: --zero-value 0x01" in note
    assert facts["notes"] == []


def test_a_sparse_tensor_needs_no_note(noted):
    facts = noted(np.arange(200, dtype="f4") % 3 == 1)
    assert facts["notes"] == []
    assert facts["nonzeros"] == 67
