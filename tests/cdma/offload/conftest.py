"""Setups of the model; drawn ones are in ``offload_drawn.py``."""

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
