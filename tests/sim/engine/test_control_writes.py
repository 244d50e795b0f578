"""Writes of CTRL in any order and at any time: an abort ends each, and the next jobs are right."""

import numpy as np
import pytest

from cdma.engine_codes import Op, State, Status
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import OFFLOAD, PREFETCH

RINGS = (OFFLOAD, PREFETCH)
SIZE = 2400
#: What a job may end with: those with a wrong phase or operation are among them.
STATUSES = {Status.OK, Status.ABORTED, Status.BAD_DESCRIPTOR}


class Rounds:
    """One engine with an offload and a prefetch that are played again and again."""

    def __init__(self, model_of, small, tensor, seed):
        self.rng = rng = np.random.default_rng(seed)
        device, host = (Memory(latency=int(rng.integers(100)), jitter=20) for _ in RINGS)
        self.model = model = model_of(device=device, host=host, seed=seed, log2=4)
        self.words = tensor(small, SIZE)
        self.golden = golden.offload(self.words, small, "never")
        stream, entries = self.golden.stream, self.golden.index
        self.source = model.place_tensor(self.words)
        self.target = model.allocate(DEVICE, SIZE, align=2048)
        self.host = model.allocate(HOST, small.padded(small.bound(SIZE)))
        self.index = model.allocate(HOST, entries.size)
        given, given_index = model.allocate(HOST, stream.size), model.allocate(HOST, entries.size)
        given.data[:], given_index.data[:] = stream, entries
        fields = {"row_bytes": SIZE, "with_index": True}
        out = {"device": self.source.address, "host": self.host.address}
        out |= {"index": self.index.address, "limit": self.host.data.size}
        back = {"device": self.target.address, "host": given.address}
        back |= {"index": given_index.address, "limit": stream.size}
        self.fields = ({"op": Op.OFFLOAD, **out, **fields}, {"op": Op.PREFETCH, **back, **fields})
        self.statuses = set()

    def submit(self):
        """Up to seven jobs in each ring: some are refused, and some have a wrong phase."""
        for ring in RINGS:
            for _ in range(int(self.rng.integers(8))):
                kind, fence = self.rng.random(), bool(self.rng.random() < 0.2)
                job = Descriptor(**self.fields[ring], fence=fence)
                if kind < 0.3:
                    job = Descriptor(15 if kind < 0.1 else Op.NOP, fence=fence)
                self.model.place(ring, job, flip=int(self.rng.random() < 0.03))
            self.model.doorbell(ring)

    def disturb(self):
        """Writes with gaps between them: RUN, ABORT and HALT of either ring in any combination."""
        model, rng = self.model, self.rng
        for _ in range(int(rng.integers(7))):
            model.engine.run(int(rng.integers(1, 1 + rng.choice([3, 40, 300]))))
            kind = rng.random()
            if kind < 0.1:
                model.write("ENGINE", "SNAPSHOT", 1)
            elif kind < 0.2:
                model.write("ENGINE", "TIMEOUT", int(rng.choice([0, 5000, 1 << 20])))
            else:
                model.write("RING", "CTRL", int(rng.integers(8)), int(rng.integers(2)))
            for ring in RINGS:
                self.read(ring)
                if rng.random() < 0.5:
                    model.acknowledge(ring)
        if rng.random() < 0.1:
            self.reset()

    def read(self, ring):
        while self.model.peek(ring) is not None:
            self.statuses.add(self.model.wait(ring).status)

    def reset(self):
        self.model.clear()
        self.model.open_rings()

    def settle(self):
        """Abort both rings: each started job has one completion, and nothing is left."""
        model = self.model
        for ring in RINGS:
            model.abort(ring)
            self.read(ring)
            assert model.read("RING", "SQ_HEAD", ring) == model.rings[ring].head
            model.resync(ring)
            model.write("RING", "CTRL", 1, ring)
            model.until_state(ring, State.RUNNING)
        assert model.read("ENGINE", "STATUS") == 0
        for buffer in (self.host, self.index, self.target):
            buffer.data[:] = 0
        for ring in RINGS:
            assert model.run(ring, Descriptor(**self.fields[ring])).status is Status.OK
        size = self.golden.stream.size
        assert (self.host.data[:size] == self.golden.stream).all()
        assert not self.host.data[size:].any()
        assert (self.index.data == self.golden.index).all()
        assert (self.target.data == self.source.data).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_writes_of_ctrl_at_any_time(model_of, small, tensor, seed):
    rounds = Rounds(model_of, small, tensor, seed)
    for _ in range(150):
        rounds.submit()
        rounds.disturb()
        rounds.settle()
    assert rounds.statuses == STATUSES
