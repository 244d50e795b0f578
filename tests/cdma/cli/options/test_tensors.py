"""The tensor of a verb, and its type."""

import argparse
import sys

import numpy as np
import pytest

from cdma.cli.options import add_tensor_options, liberty_path, tensor_from
from cdma.cli.options.tensors import sample_folder, words_of
from cdma.errors import UserError
from cdma.golden import Format
from cdma.offload.validate import rows


@pytest.fixture
def given(tmp_path):
    """Tensor and type of a file with these elements, and of further options."""

    def read(array, *options):
        np.save(tmp_path / "tensor.npy", array)
        parser = argparse.ArgumentParser()
        add_tensor_options(parser)
        return tensor_from(parser.parse_args([str(tmp_path / "tensor.npy"), *options]))

    return read


@pytest.mark.parametrize(
    ("dtype", "name"), [("f4", "fp32"), ("f2", "fp16"), ("u1", "int8"), ("i2", "int16")]
)
def test_the_type_is_that_of_the_file(given, dtype, name):
    tensor, type_ = given(np.arange(6, dtype=dtype))
    assert (tensor.dtype, type_) == (dtype, name)
    np.testing.assert_array_equal(tensor, np.arange(6))


@pytest.mark.parametrize("has_package", [True, False])
def test_words_get_a_type_by_name(given, monkeypatch, has_package):
    if has_package:
        pytest.importorskip("ml_dtypes")
    else:
        monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    words = np.array([0, 0x3F80, 0x4049], "<u2")
    tensor, type_ = given(words, "--dtype", "bfloat16")
    assert type_ == "bf16"
    assert tensor.tobytes() == words.tobytes()


def test_a_type_of_another_size_is_refused(given):
    refused = r"^--dtype float32 has 4 bytes an element, the tensor \(uint16\) has 2$"
    with pytest.raises(UserError, match=refused):
        given(np.zeros(3, "u2"), "--dtype", "float32")


def test_bare_words_need_their_type_where_a_unit_folds():
    words, fmt = np.array([0x8000, 1], "<u2"), Format(16, fold_negative_zero=True)
    assert words_of(words, fmt, "bfloat16").tolist() == [0x8000, 1]
    assert words_of(words, Format(16), None).tolist() == [0x8000, 1]
    with pytest.raises(
        UserError, match=r"not uint16, of which 32768 would become 0; name the type"
    ):
        words_of(words, fmt, None)


def test_an_empty_variable_is_not_set(monkeypatch):
    for name in ("CDMA_DATA", "CDMA_LIBERTY", "CDMA_PUBLISHED"):
        monkeypatch.setenv(name, "")
    assert sample_folder() == []
    assert liberty_path(argparse.Namespace(liberty=None)) is None
    assert rows.folder() is None
