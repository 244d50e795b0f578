"""Memory that driver and engine share."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.driver import BusError, DriverError, Memory
from cdma.engine_codes import Status


def test_bytes_lie_at_their_addresses():
    memory = Memory(256, base=0x1000)
    memory.write(0x1010, np.arange(8, dtype=np.uint8))
    assert memory.read(0x1012, 3).tolist() == [2, 3, 4]
    assert memory.data[0x12] == 2
    assert len(memory.read(0x1100, 0)) == 0


@pytest.mark.parametrize(
    ("address", "size", "where"), [(0xFFF, 2, 0xFFF), (0x10FF, 2, 0x1100), (0x2000, 1, 0x2000)]
)
def test_outside_is_a_decode_error(address, size, where):
    with pytest.raises(BusError) as caught:
        Memory(256, base=0x1000).read(address, size)
    assert (caught.value.address, caught.value.kind) == (where, "DECERR")
    assert caught.value.status(is_host=True) is Status.HOST_DECERR
    assert str(caught.value) == f"DECERR at {where:#x}"


def test_faults():
    memory = Memory(256)
    memory.fail(16, 4)
    memory.fail(8, 1, "HANG")
    assert memory.fault(0, 8) is None
    assert memory.fault(0, 17).kind == "HANG"
    assert memory.fault(9, 10).address == 16
    assert memory.fault(18, 5).address == 18
    with pytest.raises(BusError, match="SLVERR at 0x10"):
        memory.write(12, np.ones(8, np.uint8))
    assert not memory.data.any()
    assert memory.fault(10, 8).status(is_host=False) is Status.DEVICE_SLVERR
    assert memory.fault(8, 1).status(is_host=False) is Status.TIMEOUT
    assert memory.hangs
    memory.heal()
    assert memory.fault(0, 256) is None
    assert not memory.hangs


def test_allocation_is_aligned_and_finite():
    memory = Memory(1000, base=0x1008)
    first = memory.allocate(10)
    second = memory.allocate(10)
    assert (first.address, second.address) == (0x1040, 0x1080)
    assert memory.allocate(8, 8).address == 0x1008
    with pytest.raises(DriverError, match="no 900 bytes left of 1000 bytes of memory"):
        memory.allocate(900)
    memory.release(second)
    with pytest.raises(DriverError, match="released before"):
        memory.release(second)
    assert len(first.data) == 10


@given(st.lists(st.integers(1, 300), max_size=30), st.randoms())
def test_all_memory_comes_back(sizes, random):
    memory = Memory(4096)
    buffers = []
    for size in sizes:
        try:
            buffers.append(memory.allocate(size, random.choice([1, 8, 64])))
        except DriverError:
            break
        if random.random() < 0.3:
            memory.release(buffers.pop(random.randrange(len(buffers))))
    taken = sorted((each.address, each.address + each.size) for each in buffers)
    assert all(end <= start for (_, end), (start, _) in pairwise(taken))
    random.shuffle(buffers)
    for buffer in buffers:
        memory.release(buffer)
    assert memory.free_bytes == 4096
    assert memory.allocate(4096, 1).address == 0


def test_views_stay_inside():
    with pytest.raises(DriverError, match=r"no memory at 0xf0\.\.0x110"):
        Memory(256).view(0xF0, 0x20)
