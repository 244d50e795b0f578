"""Setups of the model; drawn ones are in ``offload_drawn.py``."""

import csv
import os
import sys
from pathlib import Path

import pytest

from cdma.offload.builder import Wishes, build

sys.path.append(str(Path(__file__).parent))


@pytest.fixture(scope="session")
def setup_of():
    """Setup of wishes, at a ratio of 2.6 unless another is given."""
    return lambda network="alexnet", **wishes: build(
        Wishes(network, **{"ratio": 2.6, "codec": 200.0, **wishes})
    )


@pytest.fixture(scope="session")
def published():
    """Folder of published figures; skips where it is not given."""
    if not os.environ.get("CDMA_PUBLISHED"):
        pytest.skip("CDMA_PUBLISHED is not set")
    return Path(os.environ["CDMA_PUBLISHED"])


@pytest.fixture(scope="session")
def caffe_log(published):
    """Function that gives the rows of a network in the published logs of Caffe."""

    def rows(name) -> list[dict]:
        with (published / "caffe_titanx_layers.csv").open() as file:
            return [row for row in csv.DictReader(file) if row["net"] == name]

    return rows
