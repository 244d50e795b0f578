"""A model with memory at every address."""

import numpy as np
import pytest

from cdma import designs
from cdma.engine_codes import Op, State
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.cocotb.ports import Violation
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import OFFLOAD
from cdma.verify.mutation.engine.campaign import small_engine
from cdma.verify.mutation.engine.land import OpenModel

CONFIG = small_engine()
#: A tensor across the highest bit of addresses.
DEVICE_AT, HOST_AT = (1 << 32) - CONFIG.stripe_bytes, 0x1234_5640


@pytest.fixture
def model():
    memory = Memory(latency=3)
    options = {"rings": 1 << 31, "verilog": designs.engine(CONFIG)}
    return OpenModel(CONFIG, memory, memory, 1, **options)


def job(model):
    data = np.arange(2 * CONFIG.stripe_bytes, dtype=np.uint32).view(np.uint8)[: 2 * 1024]
    model.at(DEVICE, DEVICE_AT, data.size)[:] = data
    limit = CONFIG.bound(data.size)
    return data, Descriptor(
        Op.COPY_OUT, device=DEVICE_AT, host=HOST_AT, row_bytes=data.size, limit=limit
    )


@pytest.mark.slow
def test_jobs_lie_anywhere(model):
    data, descriptor = job(model)
    assert model.run(OFFLOAD, descriptor).completion.status == 0
    assert (model.at(HOST, HOST_AT, data.size) == data).all()


@pytest.mark.slow
def test_the_logs_have_addresses_and_the_attributes_of_ring_and_channel(model):
    _, descriptor = job(model)
    for port in range(CONFIG.channels + 1):
        model.engine.start_log(port)
    before = model.moves()
    model.run(OFFLOAD, descriptor)
    assert model.moves() != before
    first, second, link = (model.engine.log(port) for port in range(CONFIG.channels + 1))
    assert {*first["address"], *second["address"]} >= {DEVICE_AT, 1 << 32}
    assert set(first["qos"]) == {5}
    assert set(second["qos"]) == {10}
    for log in (first, second, link):
        assert {(each["user"], each["prot"], each["cache"]) for each in log} == {(0xA5, 6, 3)}


@pytest.mark.slow
def test_a_hang_is_found_early(model):
    with pytest.raises(Violation, match="hangs"):
        model.wait(OFFLOAD, 1 << 40)
    assert model.engine.cycle < 50_000
    with pytest.raises(Violation, match="hangs"):
        model.until_state(OFFLOAD, State.HALTED)
