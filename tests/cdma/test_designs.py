"""Generated Verilog in the cache: what was generated once, and again when a source changes."""

import importlib

import pytest

from cdma import designs
from cdma.hdl.zvc.config import Config

SMALL = Config.of(2, 8, 8)
emit = importlib.import_module("cdma.hdl.emit")


@pytest.fixture
def texts(monkeypatch):
    """What Verilog is "generated" next, in place of generating it."""
    left = ["first", "second"]
    monkeypatch.setattr(emit, "verilog", lambda *_: left.pop(0))
    return left


@pytest.mark.parametrize("unit", ["compressor", "decompressor"])
def test_it_is_what_is_generated(tmp_path, unit):
    for _ in range(2):
        assert designs.unit(unit, SMALL, tmp_path) == emit.verilog(unit, SMALL)


def test_it_is_generated_once(tmp_path, texts):
    assert designs.unit("compressor", SMALL, tmp_path) == "first"
    assert designs.unit("compressor", SMALL, tmp_path) == "first"
    assert texts == ["second"]


@pytest.mark.parametrize(
    ("unit", "config"), [("decompressor", SMALL), ("compressor", Config.of(2, 8, 16))]
)
def test_another_unit_or_size_is_another_design(tmp_path, texts, unit, config):
    assert designs.unit("compressor", SMALL, tmp_path) == "first"
    assert designs.unit(unit, config, tmp_path) == "second"


def test_a_changed_source_is_generated_again(tmp_path, texts, monkeypatch):
    assert designs.unit("compressor", SMALL, tmp_path) == "first"
    changed = ["# a comment", *designs._sources()]
    monkeypatch.setattr(designs, "_sources", lambda: changed)
    assert designs.unit("compressor", SMALL, tmp_path) == "second"


def test_no_such_unit(tmp_path):
    with pytest.raises(ValueError, match="sorter"):
        designs.unit("sorter", SMALL, tmp_path)
    assert not list(tmp_path.rglob("design.v"))
