"""cocotb module: resets in the middle of jobs of the engine, then a round trip.

Reads ``job.pickle`` as :mod:`cdma.sim.cocotb.engine` does, and ``resets``: cycles of a reset, and
cycles of it. Leaves ``report-0.pickle``: the trip.
"""

import pickle
from pathlib import Path

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.task import bridge

from cdma.engine_codes import Op
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.cocotb.engine import PERIOD_NS, SimulatedEngine
from cdma.sim.engine.cosim import travel
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.model import OFFLOAD, PREFETCH, EngineModel


@cocotb.test()
async def run(dut):
    """Play the job and report."""
    (job,) = pickle.loads(Path("job.pickle").read_bytes())

    def play():
        engine = SimulatedEngine(dut, job)
        for wait, cycles in job["resets"]:
            model = EngineModel(job["config"], seed=job["seed"], log2=2, engine=engine)
            buffers = begin(model, job["array"])
            engine.run(wait)
            engine.reset(cycles)
            for address in model.map.addresses():
                engine.access(address)  # a violation when it is X
            for ring in model.rings:
                buffers += [ring.descriptors, ring.completions]
            model.free(*buffers)
        model = EngineModel(job["config"], seed=job["seed"], engine=engine)
        return travel(model, job["array"])

    Clock(dut.aclk, PERIOD_NS, "ns").start(start_high=False)
    trip = await bridge(play)()
    Path("report-0.pickle").write_bytes(pickle.dumps(trip))


def begin(model, words):
    """A job of each ring; neither has ended. Gives the buffers."""
    config = model.config
    made = golden.offload(words, config)
    tensor = model.place_tensor(words)
    host = model.allocate(HOST, config.bound(words.nbytes))
    index, entries = (model.allocate(HOST, made.index.size) for _ in range(2))
    target = model.allocate(DEVICE, words.nbytes, align=config.channels * config.stripe_bytes)
    stream = model.allocate(HOST, made.stream.size)
    stream.data[:], entries.data[:] = np.asarray(made.stream), made.index
    given = {"row_bytes": words.nbytes, "with_index": True, "word_bytes": config.word_bytes}
    out = {"device": tensor.address, "host": host.address, "index": index.address}
    back = {"device": target.address, "host": stream.address, "index": entries.address}
    model.submit(OFFLOAD, Descriptor(Op.OFFLOAD, limit=host.data.size, **out, **given))
    model.submit(PREFETCH, Descriptor(Op.PREFETCH, limit=made.stream.size, **back, **given))
    return [tensor, host, index, entries, target, stream]
