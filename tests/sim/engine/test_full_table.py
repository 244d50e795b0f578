"""More stripes in work than the table of a prefetch has slots: an error or an abort still ends."""

import numpy as np
import pytest

from cdma.engine_codes import Op, State, Status
from cdma.engine_config import EngineConfig
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import PREFETCH

CONFIG = EngineConfig(
    channels=1, lanes=4, link_bytes=64, stripe_bytes=1024, latency=20, link_fifo_bytes=2048
)
#: As many jobs as are in work at a time, each of two stripes of zeros.
JOBS, WORDS = 16, 512
#: The device writes so slowly that the table is full before the first stripe is answered.
SLOW = Memory(latency=4, outstanding=1, bandwidth=2)
FAR = Memory(latency=4, outstanding=1)


def submit(model):
    """Prefetches; gives their tensors in device memory."""
    out = golden.offload(np.zeros(WORDS, np.uint32), CONFIG, "never")
    tensors, jobs = [], []
    for _ in range(JOBS):
        tensors.append(model.allocate(DEVICE, 4 * WORDS, align=1024))
        host = model.allocate(HOST, out.stream.size, writable=False)
        index = model.allocate(HOST, out.index.size, writable=False)
        host.data[:], index.data[:] = out.stream, out.index
        fields = {"device": tensors[-1].address, "host": host.address, "index": index.address}
        fields |= {"row_bytes": 4 * WORDS, "limit": out.stream.size, "with_index": True}
        jobs.append(Descriptor(Op.PREFETCH, word_bytes=4, **fields))
    model.submit(PREFETCH, *jobs)
    return tensors


def test_an_error_ends_its_job_and_the_others_are_done(model_with):
    model = model_with(CONFIG, device=SLOW, host=FAR, log2=4)
    tensors = submit(model)
    model.engine.fault(DEVICE, tensors[0].address, response=3, on="write")
    first, *others = model.collect(PREFETCH, JOBS)
    assert (first.status, first.stripe) == (Status.DEVICE_DECERR, 0)
    assert {each.status for each in others} == {Status.OK}
    assert not any(tensor.data.any() for tensor in tensors[1:])


@pytest.mark.parametrize("cycles", [400, 800, 1600, 3200])
def test_an_abort_ends(model_with, cycles):
    model = model_with(CONFIG, device=SLOW, host=FAR, log2=4)
    submit(model)
    model.engine.run(cycles)
    model.abort(PREFETCH)
    assert model.state(PREFETCH)[0] is State.STOPPED
    assert model.collect(PREFETCH, JOBS)[-1].status == Status.ABORTED
