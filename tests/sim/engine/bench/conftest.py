"""The engine whose speed is measured has the first codec."""

import pytest


@pytest.fixture(scope="session")
def small(small_zvc):
    """Size of the engine of the quick tests."""
    return small_zvc
