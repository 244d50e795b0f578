"""Element types that a user names."""

import numpy as np
import pytest

from cdma.errors import UserError
from cdma.tensors.codec.elements import dtype_of, typed


@pytest.mark.parametrize("name", ["f16", "object", "no such", "U1"])
def test_refuses_what_is_no_number_of_a_word(name):
    with pytest.raises(UserError, match=r"^--dtype must be a NumPy type of 1, 2, 4 or 8 bytes"):
        dtype_of(name)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e5m2fnuz"])
def test_floats_of_8_bits_are_words(name):
    words = np.array([0x00, 0x80, 0x38], "u1")
    array, notes = typed(words, name)
    assert (array.dtype, notes) == (np.dtype("u1"), [])
    np.testing.assert_array_equal(array, words)


def test_the_byte_order_of_the_file_is_kept():
    array, notes = typed(np.arange(4, dtype=">u4"), "float32")
    assert array.dtype == np.dtype(">f4")
    assert notes == ["the elements, big-endian, are stored little-endian"]


def test_a_type_of_another_size_is_refused():
    refused = r"^--dtype int8 has 1 byte an element, the tensor \(uint32\) has 4$"
    with pytest.raises(UserError, match=refused):
        typed(np.arange(4, dtype="<u4"), "int8")


def test_without_a_name_the_array_is_as_it_was():
    array = np.arange(4, dtype="<u4")
    found, notes = typed(array, None)
    assert found is array
    assert notes == []
