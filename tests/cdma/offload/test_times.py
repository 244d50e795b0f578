"""Times of layers from a file."""

import pytest

from cdma.errors import UserError
from cdma.offload.networks.zoo import network
from cdma.offload.output import as_csv
from cdma.offload.times import batch_of, layer_rows, read_times


@pytest.fixture
def listed(setup_of, tmp_path):
    setup = setup_of()
    text = as_csv(layer_rows(setup.features, setup.batch, setup.times, "titan-x"))
    path = tmp_path / "layers.csv"
    path.write_text(text)
    return path, setup


def _read(path, setup, **other):
    about = {"batch": setup.batch, "board": "titan-x"} | other
    return read_times(path, setup.features, setup.times, **about)


def _without(path, column):
    """Leave a column out of a file."""
    lines = [line.split(",") for line in path.read_text().splitlines()]
    place = lines[0].index(column)
    path.write_text("".join(",".join(x[:place] + x[place + 1 :]) + "\n" for x in lines))


def test_a_listed_file_is_read_back(listed):
    path, setup = listed
    found = _read(path, setup)
    assert found.forward == pytest.approx(setup.times.forward)
    assert found.backward == pytest.approx(setup.times.backward)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("conv1,", "conv9,", "line 2: alexnet has no layer 'conv9'"),
        ("conv2,", "conv1,", "line 4: layer 'conv1' is there twice"),
        ("fwd_ms", "forward", "lacks the column fwd_ms .columns found: layer, kind, .*forward"),
        ("pool5,maxpool", "pool5,maxpool,,,,x,", "expected a time in ms above 0, not"),
    ],
)
def test_a_wrong_file(listed, old, new, message):
    path, setup = listed
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(UserError, match=message):
        _read(path, setup)


def test_a_cut_line(listed):
    path, setup = listed
    path.write_text(path.read_text() + "conv1,conv")
    with pytest.raises(UserError, match="lacks one of the columns layer, fwd_ms, bwd_ms"):
        _read(path, setup)


def test_a_file_of_a_spreadsheet(listed):
    path, setup = listed
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert _read(path, setup).forward[0] > 0


def test_a_missing_layer(listed):
    path, setup = listed
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(UserError, match=r"lacks 1 layer of alexnet: pool5$"):
        _read(path, setup)


def test_no_file(tmp_path):
    with pytest.raises(UserError, match="cannot read these times"):
        read_times(tmp_path / "none.csv", network("alexnet").features, None, 128, "titan-x")


@pytest.mark.parametrize("batch", [32, 128, 512])
def test_times_are_scaled_from_the_batch_of_the_file(listed, batch):
    path, setup = listed
    assert batch_of(path) == setup.batch == 128
    found = _read(path, setup, batch=batch)
    assert found.forward == pytest.approx([batch / 128 * t for t in setup.times.forward])
    assert found.backward == pytest.approx([batch / 128 * t for t in setup.times.backward])


def test_without_a_batch_the_times_are_those_of_the_run(listed):
    path, setup = listed
    _without(path, "batch")
    assert batch_of(path) is None
    assert _read(path, setup, batch=32).forward == pytest.approx(setup.times.forward)


@pytest.mark.parametrize("value", ["0", "-1", "64.5", "x"])
def test_a_wrong_batch(listed, value):
    path, setup = listed
    path.write_text(path.read_text().replace(",128,titan-x", f",{value},titan-x"))
    with pytest.raises(UserError, match=f"batch: expected an integer of at least 1, not '{value}'"):
        _read(path, setup)


@pytest.mark.parametrize(("old", "column"), [(",128,", "batch"), ("titan-x", "board")])
def test_lines_of_several_batches_or_boards(listed, old, column):
    path, setup = listed
    path.write_text(path.read_text().replace(old, old.replace(old.strip(","), ""), 1))
    with pytest.raises(UserError, match=f"column {column}: expected the same value in all lines"):
        _read(path, setup)


def test_times_of_another_board(listed):
    path, setup = listed
    with pytest.raises(UserError, match="of the board titan-x, not of titan-xp"):
        _read(path, setup, board="titan-xp")
    _without(path, "board")
    assert _read(path, setup, board="titan-xp").forward == pytest.approx(setup.times.forward)
