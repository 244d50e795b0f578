"""The guarantee of the lossy codec, by property and on values that break simpler encoders."""

import numpy as np
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from cdma.golden.lossy.bound import Bound
from cdma.golden.lossy.codec import (
    dequantise,
    dequantise_words,
    quantise,
    quantise_words,
)
from cdma.golden.lossy.elements import ELEMENTS, from_float64, to_float64

LARGEST = np.finfo(np.float64).max
#: Bit patterns of each type: zeros, subnormals, ones, the largest, infinities, NaNs with payloads.
WORDS = {
    "float16": [0, 0x8000, 1, 0x8001, 0x03FF, 0x0400, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x7C00,
                0xFC00, 0x7C01, 0x7E00, 0xFE55],
    "bfloat16": [0, 0x8000, 1, 0x8001, 0x7F, 0x80, 0x3F80, 0xBF80, 0x7F7F, 0xFF7F, 0x7F80,
                 0xFF80, 0x7F81, 0x7FC0, 0xFFD5],
    "float32": [0, 1 << 31, 1, (1 << 31) + 1, 0x7FFFFF, 0x800000, 0x3F800000, 0xBF800000,
                0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7F800001, 0x7FC00000, 0xFFC12345],
    "float64": [0, 1 << 63, 1, (1 << 63) + 1, (1 << 52) - 1, 1 << 52, 0x3FF << 52, 0xBFF << 52,
                (0x7FF << 52) - 1, (0xFFF << 52) - 1, 0x7FF << 52, 0xFFF << 52, (0x7FF << 52) + 1,
                0x7FF8 << 48, (0xFFF8 << 48) + 0x123456789],
}  # fmt: skip
BOUNDS = st.one_of(
    st.floats(min_value=5e-324, max_value=LARGEST / 2),
    st.floats(min_value=1e-6, max_value=1e6),
    st.sampled_from([5e-324, 2.0**-149, 2.0**-24, 2.0**-25, 0.1, 3.5, 100.0, LARGEST / 2]),
)


def check_guarantee(words: np.ndarray, dtype: str, bound: float, decoded: np.ndarray) -> None:
    """Every element is within the bound or has the same bits; zeros are all zero bits."""
    with np.errstate(all="ignore"):
        values, approximate = to_float64(words, dtype), to_float64(decoded, dtype)
        within = np.abs(values - approximate) <= bound  # False for NaN
    assert (within | (words == decoded)).all()
    assert (decoded[values == 0] == 0).all()
    assert (decoded[~np.isfinite(values)] == words[~np.isfinite(values)]).all()


def words_of(dtype: str):
    """Lists of bit patterns: any, corners, and values that are close to multiples of a step."""
    bits = 8 * ELEMENTS[dtype]
    any_word = st.integers(0, 2**bits - 1)
    return st.lists(st.one_of(any_word, st.sampled_from(WORDS[dtype])), max_size=40)


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(list(ELEMENTS)), BOUNDS, st.sampled_from([None, 8, 16, 32]), st.data())
def test_guarantee(dtype, bound, q_bits, data):
    words = np.array(data.draw(words_of(dtype)), f"<u{ELEMENTS[dtype]}")
    near = data.draw(st.lists(st.integers(-300, 300), max_size=20))
    with np.errstate(all="ignore"):  # around the middles between two multiples of the step
        middles = from_float64((np.array(near, np.float64) + 0.5) * (2 * bound), dtype)
    words = np.concatenate([words, middles, middles + middles.dtype.type(1)])
    quantised = quantise_words(words, dtype, words.shape, bound, q_bits)
    check_guarantee(words, dtype, bound, dequantise_words(quantised))
    assert quantised.bound == bound
    event(f"{dtype}: {'some outliers' if len(quantised.outliers) else 'no outliers'}")


@pytest.mark.parametrize(
    ("dtype", "value", "bound", "wrong"),
    [
        ("float32", 1.1, 0.1, 1.2),  # the error is 0.10000002
        ("float16", 65504, 100, np.inf),
        ("bfloat16", 516, 3.5, 520),
    ],
)
def test_values_that_rounding_moves_out_of_the_bound(dtype, value, bound, wrong):
    """Named examples of values that need an outlier, though they are near a multiple."""
    word = from_float64(np.array([float(value)]), dtype)
    q = np.rint(to_float64(word, dtype) / (2 * bound))
    nearest = to_float64(from_float64(q * (2 * bound), dtype), dtype)
    assert nearest[0] == pytest.approx(wrong)
    assert not abs(to_float64(word, dtype)[0] - nearest[0]) <= bound
    quantised = quantise_words(word, dtype, (1,), bound)
    assert quantised.outliers.tolist() == [0]
    assert dequantise_words(quantised).tolist() == word.tolist()


@pytest.mark.parametrize("dtype", ELEMENTS)
def test_what_is_no_finite_number_is_kept_bit_for_bit(dtype):
    words = np.array(WORDS[dtype], f"<u{ELEMENTS[dtype]}")
    odd = ~np.isfinite(to_float64(words, dtype))
    assert odd.sum() == 5
    quantised = quantise_words(words, dtype, words.shape, 1e-3)
    assert set(np.flatnonzero(odd)) <= set(quantised.outliers.tolist())
    check_guarantee(words, dtype, 1e-3, dequantise_words(quantised))


@pytest.mark.parametrize("dtype", ELEMENTS)
def test_all_zeros_become_positive_zeros_without_outliers(dtype):
    words = np.array([0, 1 << 8 * ELEMENTS[dtype] - 1], f"<u{ELEMENTS[dtype]}")
    quantised = quantise_words(words, dtype, (2,), 0.5)
    assert (quantised.q.tolist(), len(quantised.outliers)) == ([0, 0], 0)
    assert dequantise_words(quantised).tolist() == [0, 0]


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(["float16", "bfloat16", "float32"]), st.data())
def test_decoder_rounds_once(dtype, data):
    """Nearest of all values of the type, ties to even: by comparison with its neighbours."""
    bits = 8 * ELEMENTS[dtype]
    infinity = WORDS[dtype][10]
    word = data.draw(st.integers(0, infinity - 1))
    low, high = to_float64(np.array([word, word + 1], f"<u{bits // 8}"), dtype)
    if high == np.inf:  # the largest value rounds as if another followed
        high = low + (low - to_float64(np.array([word - 1], f"<u{bits // 8}"), dtype)[0])
    middle = low + (high - low) / 2  # exact in float64
    cases = {
        low: word,
        np.nextafter(middle, low): word,
        middle: word + (word & 1),
        np.nextafter(middle, high): word + 1,
    }
    expected = list(cases.values())
    values = np.array(list(cases))
    assert from_float64(values, dtype).tolist() == expected
    sign = 1 << bits - 1
    assert from_float64(-values, dtype).tolist() == [sign + each for each in expected]


def test_bfloat16_arrays():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.random.default_rng(0).standard_normal((3, 5, 7)).astype(ml_dtypes.bfloat16)
    decoded = dequantise(quantise(array, 0.01))
    assert (decoded.dtype, decoded.shape) == (array.dtype, array.shape)
    error = np.abs(decoded.astype(np.float64) - array.astype(np.float64))
    assert 0 < error.max() <= 0.01


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_arrays_of_any_layout(dtype):
    array = np.random.default_rng(1).standard_normal((4, 6, 8)).astype(dtype)
    expected = dequantise(quantise(array, 0.01))
    assert np.abs(expected - array.astype("f8")).max() <= 0.01
    for other in (np.asfortranarray(array), array.astype(array.dtype.newbyteorder(">"))):
        np.testing.assert_array_equal(dequantise(quantise(other, 0.01)), expected, strict=True)
    assert dequantise(quantise(array[:0], 1)).shape == (0, 6, 8)
    assert dequantise(quantise(array[0, 0, 0], 1)).shape == ()


def test_many_batches():
    rng = np.random.default_rng(2)
    array = np.maximum(rng.standard_normal(200_001), 0).astype(np.float32)
    array[::5000] = np.nan
    quantised = quantise(array, 0.004)
    assert quantised.outliers.tolist() == list(range(0, 200_001, 5000))
    check_guarantee(array.view("<u4"), "float32", 0.004, dequantise_words(quantised))


@pytest.mark.parametrize(("largest", "bits"), [(127, 8), (128, 16), (32767, 16), (32768, 32)])
def test_width_follows_the_range(largest, bits):
    array = np.tile(np.array([1 - largest, largest], np.float32), 5000)
    quantised = quantise(array, 0.5)
    assert (quantised.q.dtype.itemsize * 8, len(quantised.outliers)) == (bits, 0)


def test_width_of_the_smallest_file():
    """One large value is an outlier rather than a wider type; each width can be asked for."""
    array = np.ones(10_000, np.float32)
    array[77] = 1000
    sizes = {bits: quantise(array, 0.5, bits).stored_bytes for bits in (8, 16, 32)}
    best = quantise(array, 0.5)
    assert (best.q.dtype, best.outliers.tolist()) == (np.int8, [77])
    assert best.stored_bytes == min(sizes.values())
    assert len(quantise(array, 0.5, 16).outliers) == 0


def test_relative_bound_is_of_finite_non_zeros():
    array = np.array([0, 0, 1, 3, 0, np.nan, np.inf, -0.0], np.float32)
    assert quantise(array, Bound("rel", 0.25)).bound == 0.25
    huge = np.array([1e308, -1e308, 0])
    assert quantise(huge, Bound("rel", 1e-3)).bound == pytest.approx(1e305)


@pytest.mark.parametrize(
    "array", [np.zeros(3), np.ones(4), np.array([]), np.array([np.nan, np.inf])]
)
def test_relative_bound_of_values_that_do_not_differ_is_refused(array):
    with pytest.raises(ValueError, match="standard deviation of 0; use abs=EB, or lossless"):
        quantise(array, Bound("rel", 0.1))


@pytest.mark.parametrize(
    ("bound", "error", "message"),
    [
        (0, ValueError, "above 0, not 0: use lossless compression"),
        (0.0, ValueError, "above 0, not 0: use lossless compression"),
        (-1, ValueError, "finite and above 0, not -1"),
        (np.nan, ValueError, "finite and above 0, not nan"),
        (np.inf, ValueError, "finite and above 0, not inf"),
        (LARGEST, ValueError, "must have a finite double, the step, not"),
        ("0.1", TypeError, "must be a number, not '0.1'"),
        (True, TypeError, "must be a number, not True"),
        (1j, TypeError, "must be a number, not 1j"),
    ],
)
def test_bounds_that_are_refused(bound, error, message):
    with pytest.raises(error, match=message):
        quantise(np.ones(3), bound)


@pytest.mark.parametrize("dtype", ["bool", "i4", "u2", "c8", "longdouble", "S4", "O"])
def test_element_types_that_are_refused(dtype):
    with pytest.raises(TypeError, match="must be one of float16, bfloat16, float32, float64"):
        quantise(np.zeros(3, dtype), 0.1)


def test_widths_that_are_refused():
    with pytest.raises(ValueError, match="8, 16 or 32 bits, not 64"):
        quantise(np.ones(3), 0.1, 64)


@pytest.mark.parametrize(
    ("text", "expected"), [("abs=0.5", Bound("abs", 0.5)), (" rel=1e-3", Bound("rel", 1e-3))]
)
def test_bound_as_text(text, expected):
    assert Bound.parse(text) == expected
    assert Bound.parse(str(expected)) == expected


@pytest.mark.parametrize(
    "text", ["", "0.1", "abs", "abs=", "abs=x", "max=1", "abs=0", "rel=-1", "rel=nan", "abs=1e308"]
)
def test_text_that_is_no_bound(text):
    with pytest.raises(ValueError, match="Error bound must"):
        Bound.parse(text)
