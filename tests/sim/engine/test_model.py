"""The engine as an object in Python: which arrays it takes, and the example of the page."""

import re
from pathlib import Path

import numpy as np
import pytest

import cdma
from cdma.sim.engine.memory import Memory

PAGE = Path(cdma.__file__).parents[1] / "docs" / "engine.md"


@pytest.fixture
def model(model_with, small_zvc):
    """An engine of words of 32 bits."""
    return model_with(small_zvc)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(600, dtype="<f4"),
        np.arange(600, dtype=">f4"),
        np.arange(600, dtype=">i4").reshape(20, 30)[:, ::2],
        np.asfortranarray(np.arange(600, dtype="u4").reshape(20, 30)),
        np.zeros((0, 3), "f4"),
        np.float32(3),
    ],
    ids=["plain", "big-endian", "strided", "columns first", "empty", "scalar"],
)
def test_arrays_come_back_in_any_layout(model, array):
    output = model.prefetch(model.offload(array)).output
    assert np.array_equal(output, array)
    assert (output.shape, output.dtype) == (array.shape, array.dtype.newbyteorder("<"))


@pytest.mark.parametrize("dtype", ["f8", "i2", "O"])
def test_elements_that_are_no_words_are_refused(model, dtype):
    """As by the golden engine: the words of another engine would be compressed silently."""
    with pytest.raises((TypeError, ValueError), match=r"^Element "):
        model.offload(np.ones(100, dtype))


def test_an_unknown_policy_is_refused(model):
    with pytest.raises(ValueError, match="Raw policy must be one of never, auto, always, not 'x'"):
        model.offload(np.ones(100, "f4"), raw="x")


def test_a_memory_for_each_channel(model_with, small_zvc):
    with pytest.raises(ValueError, match="one memory or one for each of 2 channels, not 3"):
        model_with(small_zvc, device=[Memory()] * 3)


@pytest.mark.skipif(not PAGE.exists(), reason="installed without docs/")
def test_the_example_of_the_page_runs(capsys):
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    exec(compile(block, PAGE.name, "exec"), {})
    assert re.match(r"^\d+ of 131072 bytes, \d+ cycles, at least \d+\n$", capsys.readouterr().out)
