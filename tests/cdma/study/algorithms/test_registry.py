"""Which algorithms there are, by name."""

import sys

import pytest

from cdma.errors import MissingPackageError, UserError
from cdma.study.algorithms.registry import ALGORITHMS, installed


def test_wanted_ones_in_the_order_of_the_table():
    assert installed(["zlib", "zvc32"]) == (["zvc32", "zlib"], [])


def test_unknown_name():
    with pytest.raises(UserError, match=r"^unknown algorithm 'gzip', there are zvc32, zvc16, "):
        installed(["zvc32", "gzip"])


def test_what_is_not_installed_is_left_out_unless_wanted(monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    names, missing = installed()
    assert missing == ["zstd"]
    assert set(names) == set(ALGORITHMS) - {"zstd"}
    with pytest.raises(MissingPackageError, match=r"^zstd needs zstandard: pip install 'cdma"):
        installed(["zstd"])
