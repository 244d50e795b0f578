"""The units talk to AXI4-Stream models of another project (cocotbext-axi)."""

from pathlib import Path

import numpy as np
import pytest

from cdma.golden import compress
from cdma.hdl import emit
from cdma.hdl.zvc.config import Config
from cdma.sim import stimulus
from cdma.toolchain import simulators

pytest.importorskip("cocotbext.axi", reason="cocotbext-axi is not installed")

CONFIG = Config.of(8, 32)
RNG = np.random.default_rng(30)
# No empty packet: these models have no beat without a byte.
WORDS = [
    stimulus.random_words(count, density, CONFIG.format, RNG)
    for count in (1, 7, 8, 32, 33, 200)
    for density in (0.4, 1.0)
]
STREAMS = [compress(words, CONFIG.format).tobytes() for words in WORDS]


@pytest.fixture
def play(monkeypatch):
    """Function that plays packets through a unit with the foreign ports."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))

    def run(unit, inputs, outputs, pauses):
        folder = simulators.build(emit.verilog(unit, CONFIG), f"cdma_{unit}")
        job = [{"inputs": inputs, "outputs": outputs, "pauses": pauses}]
        (got,) = simulators.run(folder, f"cdma_{unit}", job, module="interop_bench")
        return got

    return run


@pytest.mark.parametrize("pauses", [[0], [0, 1, 1, 0, 1]], ids=["willing", "pausing"])
def test_compressor(play, pauses):
    inputs = {"s_axis": [words.tobytes() for words in WORDS]}
    got = play("compressor", inputs, dict.fromkeys(("m_axis", "m_axis_sts"), len(WORDS)), pauses)
    assert got["m_axis"] == STREAMS
    sizes = zip(WORDS, STREAMS, strict=True)
    assert got["m_axis_sts"] == [
        words.size.to_bytes(4, "little") + len(stream).to_bytes(4, "little")
        for words, stream in sizes
    ]


@pytest.mark.slow
@pytest.mark.parametrize("pauses", [[0], [0, 1, 1, 0, 1]], ids=["willing", "pausing"])
def test_decompressor(play, pauses):
    inputs = {
        "s_axis_cmd": [words.size.to_bytes(4, "little") for words in WORDS],
        "s_axis": STREAMS,
    }
    got = play("decompressor", inputs, dict.fromkeys(("m_axis", "m_axis_sts"), len(WORDS)), pauses)
    assert got["m_axis"] == [words.tobytes() for words in WORDS]
    assert got["m_axis_sts"] == [len(stream).to_bytes(5, "little") for stream in STREAMS]
