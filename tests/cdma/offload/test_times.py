"""Times of layers from a file."""

import pytest

from cdma.errors import UserError
from cdma.offload.networks.zoo import network
from cdma.offload.output import as_csv
from cdma.offload.times import layer_rows, read_times


@pytest.fixture
def listed(setup_of, tmp_path):
    setup = setup_of()
    text = as_csv(layer_rows(setup.features, setup.batch, setup.times))
    path = tmp_path / "layers.csv"
    path.write_text(text)
    return path, setup


def test_a_listed_file_is_read_back(listed):
    path, setup = listed
    found = read_times(path, setup.features, setup.times)
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
        read_times(path, setup.features, setup.times)


def test_a_cut_line(listed):
    path, setup = listed
    path.write_text(path.read_text() + "conv1,conv")
    with pytest.raises(UserError, match="lacks one of the columns layer, fwd_ms, bwd_ms"):
        read_times(path, setup.features, setup.times)


def test_a_file_of_a_spreadsheet(listed):
    path, setup = listed
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_times(path, setup.features, setup.times).forward[0] > 0


def test_a_missing_layer(listed):
    path, setup = listed
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(UserError, match="lacks 1 layers of alexnet: pool5"):
        read_times(path, setup.features, setup.times)


def test_no_file(tmp_path):
    with pytest.raises(UserError, match="cannot read these times"):
        read_times(tmp_path / "none.csv", network("alexnet").features, None)
