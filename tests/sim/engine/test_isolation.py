"""One ring does not hold up the other, whatever its descriptors are and whenever it is started."""

import pytest

from cdma.engine_codes import Op
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.model import OFFLOAD, PREFETCH

#: Jobs of a ring that overlap.
OVERLAP = 16
#: A descriptor that waits for nothing is completed within so many cycles.
SOON = 3000


def copies(model, size):
    """Jobs of ring 1, as many as overlap."""
    source = model.allocate(HOST, size, writable=False)
    lap = model.config.stripe_bytes * model.config.channels
    target = model.allocate(DEVICE, size, align=lap)
    fields = {"device": target.address, "host": source.address, "row_bytes": size, "limit": size}
    return [Descriptor(Op.COPY_IN, **fields)] * OVERLAP


@pytest.mark.parametrize(
    "behind",
    [Descriptor(Op.NOP), Descriptor(Op.PREFETCH), Descriptor(9)],
    ids=["good", "bad", "no-operation"],
)
def test_a_descriptor_without_room_lets_the_other_ring_pass(model_with, small_zvc, behind):
    """Also one that will be refused: ``PREFETCH`` without an index."""
    model = model_with(small_zvc)
    model.submit(PREFETCH, *copies(model, 1 << 18), behind)
    model.engine.run(SOON)
    model.submit(OFFLOAD, Descriptor(Op.NOP))
    model.wait(OFFLOAD, SOON)
    assert model.peek(PREFETCH) is None, "the copies take longer"


def test_a_ring_that_waits_for_a_channel_lets_the_other_one_pass(model_with, small_zvc):
    """Copies of ring 1 wait for a channel that is not enabled, with a descriptor behind them that
    will be refused. The other channel works for ring 0."""
    model = model_with(small_zvc)
    model.write("CHANNEL", "ENABLE", 0, 1)
    model.submit(PREFETCH, *copies(model, 4096), Descriptor(Op.PREFETCH))
    model.engine.run(SOON)
    data, out = model.allocate(DEVICE, 1024, align=2048), model.allocate(HOST, 1024)
    fields = {"device": data.address, "host": out.address, "row_bytes": 1024, "limit": 1024}
    model.submit(OFFLOAD, Descriptor(Op.COPY_OUT, **fields))
    model.wait(OFFLOAD, SOON)
    assert model.peek(PREFETCH) is None


@pytest.mark.parametrize("gap", [0, 7, 40])
def test_a_ring_that_is_started_again_and_again(model_with, small_zvc, gap):
    """A descriptor of many rows, whose check takes long, is checked meanwhile, and refused."""
    model = model_with(small_zvc)
    data = model.allocate(DEVICE, 1024, align=2048)
    fields = {"row_bytes": 1024, "rows": 1 << 31, "pitch": -1024}
    model.submit(OFFLOAD, Descriptor(Op.MEASURE, device=data.address, **fields))
    end = model.engine.cycle + SOON
    while model.peek(OFFLOAD) is None:
        for run in (0, 1):
            model.write("RING", "CTRL", run, PREFETCH)
        if gap:
            model.engine.run(gap)
        assert model.engine.cycle < end
