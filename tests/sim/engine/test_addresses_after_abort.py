"""Addresses that a ring issues after ABORT, from the logs of the ports."""

import numpy as np
import pytest

from cdma.engine_codes import Op, State
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine import pins
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import OFFLOAD, PREFETCH

READ, WRITE = (pins.CHANNELS.index(name) for name in ("ar", "aw"))
#: AXI ID of descriptors and completions.
RINGS = 2
JOBS, BYTES = 6, 6000
#: Most cycles from the handshake of the write of ABORT to a new address of data, over aborts in 500
#: consecutive cycles of either ring: registers of the port, of the ring and of the data path.
LAST = 7


def busy(model, small, tensor, offload):
    """Both rings with some jobs each, more than are in work at a time."""
    job = offload(model, tensor(small, BYTES))
    stream = model.allocate(HOST, job.stream.size)
    index = model.allocate(HOST, job.index.size)
    stream.data[:], index.data[:] = job.stream, job.index
    fields = {"row_bytes": BYTES, "with_index": True}
    source = model.place_tensor(tensor(small, BYTES))
    target = model.allocate(DEVICE, BYTES, align=2048)
    room, entries = model.allocate(HOST, small.bound(BYTES) + 64), model.allocate(HOST, 64)
    out = Descriptor(
        Op.OFFLOAD,
        device=source.address,
        host=room.address,
        index=entries.address,
        limit=small.padded(small.bound(BYTES)),
        **fields,
    )
    back = Descriptor(
        Op.PREFETCH,
        device=target.address,
        host=stream.address,
        index=index.address,
        limit=job.stream.size,
        **fields,
    )
    for port in range(small.channels + 1):
        model.engine.start_log(port)
    for ring, descriptor in ((OFFLOAD, out), (PREFETCH, back)):
        model.submit(ring, *(JOBS * [descriptor]))


def addresses(model, ring):
    """Cycles of the new addresses of a ring since the last call: of data and index, of its own."""
    memory = model.rings[ring]
    data, own = [], []
    for port in range(model.config.channels + 1):
        log = model.engine.log(port)
        log = log[np.isin(log["channel"], (READ, WRITE))]
        if port != model.engine.link:
            data += log["cycle"][log["channel"] == (READ if ring == OFFLOAD else WRITE)].tolist()
            continue
        is_own = log["id"] == RINGS
        is_data = ~is_own & (log["channel"] == (WRITE if ring == OFFLOAD else READ))
        data += log["cycle"][is_data].tolist()
        for buffer in (memory.descriptors, memory.completions):
            is_here = (buffer.address <= log["address"]) & (log["address"] < buffer.end)
            own += log["cycle"][is_own & is_here].tolist()
    return data, own


@pytest.mark.parametrize("ring", [OFFLOAD, PREFETCH])
def test_no_address_after_an_abort(model_of, small, tensor, offload, ring):
    """Soon after ABORT a ring issues no address of data, and after its end no address at all.

    The other ring goes on.
    """
    left = 0
    for wait in range(30, 700, 37):
        model = model_of(device=Memory(latency=30), host=Memory(latency=50))
        busy(model, small, tensor, offload)
        model.engine.run(wait)
        address = model.map.block("RING").address("CTRL", ring)
        written = model.engine.access(address, 2).taken
        model.until_state(ring, State.STOPPED)
        data, _ = addresses(model, ring)
        assert max(data, default=0) <= written + LAST
        model.collect(1 - ring, JOBS)
        model.engine.run(500)
        assert addresses(model, ring) == ([], [])
        left += model.resync(ring)
    assert left, "no abort has left a descriptor in the ring"
