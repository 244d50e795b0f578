"""The engine talks to AXI4 and AXI4-Lite models of another project (cocotbext-axi)."""

from pathlib import Path

import numpy as np
import pytest

from cdma import designs
from cdma.engine_codes import Op
from cdma.engine_config import EngineConfig
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Completion, Descriptor
from cdma.hdl.engine.registers import register_map
from cdma.sim.engine import build, pins
from cdma.toolchain import simulators

pytest.importorskip("cocotbext.axi", reason="cocotbext-axi is not installed")

CONFIG = EngineConfig(channels=2, lanes=4, stripe_bytes=1024, link_bytes=8, latency=60)
SIZE = 1 << 17
SQ, CQ = (0x1000, 0x2000), (0x3000, 0x4000)
SOURCE, TARGET, STREAM, INDEX = 0x2000, 0x8000, 0x8000, 0x7000


@pytest.fixture
def play(monkeypatch):
    """Function that plays a job on a simulator."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))

    def run(job, simulator):
        text = designs.engine(CONFIG)
        names = pins.managers(pins.declared(text, build.TOP))
        job = {**job, "channels": names[:-1], "link": names[-1]}
        folder = simulators.build(text, build.TOP, simulator)
        (report,) = simulators.run(folder, build.TOP, [job], "engine_bench", simulator)
        return report

    return run


def set_up(ring):
    """Writes that program a ring and let it run."""
    block = register_map(CONFIG).block("RING")
    values = {"SQ_BASE_LO": SQ[ring], "CQ_BASE_LO": CQ[ring], "SQ_SIZE": 2, "CQ_SIZE": 2}
    values |= {"DEV_LIMIT_LO": SIZE, "HOST_LIMIT_LO": SIZE, "CTRL": 1}
    return [{"write": (block.address(name, ring), value)} for name, value in values.items()]


@pytest.mark.slow
@pytest.mark.parametrize("simulator", simulators.SIMULATORS)
def test_round_trip(play, simulator):
    rng = np.random.default_rng(8)
    words = rng.integers(1, 1 << 31, 900, np.uint32) * (rng.random(900) < 0.4)
    words = words.astype(np.uint32)
    made = golden.offload(words, CONFIG, "never", crc=True)
    device, host = np.zeros(SIZE, np.uint8), np.zeros(SIZE, np.uint8)
    device[SOURCE : SOURCE + words.nbytes] = words.view(np.uint8)
    fields = {"host": STREAM, "index": INDEX, "row_bytes": words.nbytes, "with_index": True}
    fields |= {"crc": True, "limit": made.bytes}
    jobs = (
        Descriptor(Op.OFFLOAD, device=SOURCE, cookie=1, **fields),
        Descriptor(Op.PREFETCH, device=TARGET, cookie=2, **fields),
    )
    steps = []
    tail = register_map(CONFIG).block("RING")
    for ring, descriptor in enumerate(jobs):
        host[SQ[ring] : SQ[ring] + 64] = descriptor.pack(1)
        steps += set_up(ring)
        steps += [{"write": (tail.address("SQ_TAIL", ring), 1)}]
        steps += [{"until": (CQ[ring] + 31, 0x80 | 0x7F)}]
    registers = [tail.address("STATE", ring) for ring in (0, 1)]
    job = {"device": device.tobytes(), "host": host.tobytes(), "steps": steps}
    report = play({**job, "registers": registers}, simulator)
    for ring in (0, 1):
        completion, _ = Completion.unpack(report["host"][CQ[ring] : CQ[ring] + 32])
        assert (completion.status, completion.cookie) == (0, ring + 1)
        assert completion.stream_bytes == made.bytes
        host[CQ[ring] : CQ[ring] + 32] = np.frombuffer(report["host"], np.uint8)[
            CQ[ring] : CQ[ring] + 32
        ]
    host[STREAM : STREAM + made.bytes] = made.stream
    host[INDEX : INDEX + made.index.size] = made.index
    assert report["host"] == host.tobytes(), "nothing else was written"
    device[TARGET : TARGET + words.nbytes] = words.view(np.uint8)
    assert report["device"] == device.tobytes()
    assert [each & 7 for each in report["registers"]] == [1, 1]
