"""The generated Verilog and the engine in software end random batches of descriptors alike.

Both get the same memories and descriptors, several on both rings at once: completions and every
byte of both memories must be the same. Each job has a slot of its own in both memories.
"""

import numpy as np
import pytest

from cdma.driver import Driver, Memory, SoftwareDevice
from cdma.engine_codes import Op, Raw, Status
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.engine import DEVICE

JOBS, SLOT = 6, 1 << 14  # jobs of a ring at once; bytes of a job's part of device memory
HOST_SLOT = 2 * SLOT  # half for the stream, half for the index


class Pair:
    """An engine in Verilog and one in software, each with a driver."""

    def __init__(self, hardware):
        self.hardware, self.config = hardware, hardware.config
        copies = [Memory(len(m.data), m.base) for m in (hardware.host, hardware.memory)]
        self.software = SoftwareDevice(self.config, *copies)
        self.engines = (hardware, self.software)
        self.drivers = [
            Driver(each, each.host, each.memory, wait=each.wait, timeout=60, log2_ring=3)
            for each in self.engines
        ]
        # Slots that lie at the same address in both, behind the rings.
        self.host_slots = self._slots("host", HOST_SLOT)
        self.device_slots = self._slots("memory", SLOT)

    def _slots(self, name, size):
        pairs = [
            [getattr(each, name).allocate(size, 4096) for each in self.engines]
            for _ in range(2 * JOBS)
        ]
        assert all(first.address == second.address for first, second in pairs)
        return pairs

    def same_memory(self):
        """Copy the slots of the engine in software to the other one."""
        for target, source in [*self.host_slots, *self.device_slots]:
            target.data[:] = source.data

    def differences(self):
        """Names of slots that differ."""
        named = [("host", self.host_slots), ("device", self.device_slots)]
        return [
            f"{name} slot {number}"
            for name, slots in named
            for number, (first, second) in enumerate(slots)
            if not np.array_equal(first.data, second.data)
        ]

    def close(self):
        for driver in self.drivers:
            driver.close()
        for slots in (self.host_slots, self.device_slots):
            for target, _ in slots:
                target.memory.release(target)


@pytest.fixture
def pair(verilog_engine):
    found = Pair(verilog_engine)
    yield found
    verilog_engine.engine.clear_faults()
    found.close()


def words(rng, count, config):
    found = rng.integers(1, 1 << 32, count, dtype=np.uint32)
    density = rng.choice([0, 0.03, 0.5, 0.95, 1])
    found[rng.random(count) >= density] = 0
    return found.astype(config.format.dtype)


def outgoing(pair, rng, number):
    """A descriptor of ring 0, its tensor in device memory."""
    config = pair.config
    count = int(rng.choice([1, 5, 255, 256, 257, 300, 1000, rng.integers(1, 2000)]))
    rows, pitch, row_bytes = 1, 0, 4 * count
    if rng.random() < 0.2:
        rows, row_bytes = int(rng.integers(2, 4)), 1024
        pitch = int(rng.choice([1024, 2048, -1024, 0]))
    _, device = pair.device_slots[number]
    _, host = pair.host_slots[number]
    device.data[:] = words(rng, SLOT // 4, config).view(np.uint8)
    host.data[:] = rng.integers(0, 256, HOST_SLOT)
    bound = config.bound(rows * row_bytes)
    limit = int(rng.choice([bound, bound, bound, rows * row_bytes, 4 * rng.integers(bound // 4)]))
    op = Op(rng.choice([Op.OFFLOAD, Op.OFFLOAD, Op.OFFLOAD, Op.COPY_OUT, Op.MEASURE, Op.NOP]))
    is_coded = op in (Op.OFFLOAD, Op.MEASURE)
    return Descriptor(
        op,
        device=device.address + (rows - 1) * max(0, -pitch),
        host=host.address + 64 * int(rng.integers(0, 8)),
        index=host.address + SLOT + 8 * int(rng.integers(0, 8)),
        row_bytes=row_bytes,
        rows=rows,
        pitch=pitch,
        limit=limit,
        raw=Raw(rng.integers(0, 3)) if is_coded else Raw.NEVER,
        with_index=is_coded,
        crc=is_coded and bool(rng.random() < 0.5),
        fence=bool(rng.random() < 0.2),
        interrupt=True,
    )


def incoming(pair, rng, number):
    """A descriptor of ring 1, with its stream and index, perhaps damaged."""
    config = pair.config
    count = int(rng.choice([1, 255, 256, 257, 1000, rng.integers(1, 2000)]))
    _, device = pair.device_slots[number]
    _, host = pair.host_slots[number]
    device.data[:] = rng.integers(0, 256, SLOT)
    raw = str(rng.choice(["never", "always"]))
    sent = golden.offload(words(rng, count, config), config, raw=raw, crc=rng.random() < 0.5)
    start = 4 * int(rng.integers(0, 30))
    host.data[:] = rng.integers(0, 256, HOST_SLOT)
    host.data[start : start + sent.bytes] = sent.stream
    host.data[SLOT : SLOT + len(sent.index)] = sent.index
    for _ in range(rng.choice([0, 0, 1, 2])):
        place = start + rng.integers(sent.bytes), SLOT + rng.integers(len(sent.index))
        host.data[rng.choice(place)] ^= 1 << rng.integers(8)
    limit = sent.bytes if rng.random() < 0.8 else 4 * int(rng.integers(sent.bytes // 4 + 2))
    return Descriptor(
        Op(rng.choice([Op.PREFETCH, Op.PREFETCH, Op.VERIFY])),
        device=device.address,
        host=host.address + start,
        index=host.address + SLOT,
        row_bytes=4 * count,
        limit=limit,
        with_index=True,
        crc=bool(rng.random() < 0.5),
        fence=bool(rng.random() < 0.2),
        interrupt=True,
    )


def play(pair, batch):
    """Submit a batch of both rings to both engines; gives the statuses."""
    pair.same_memory()
    ended = []
    for driver in pair.drivers:
        tickets = []
        for ring, descriptors in enumerate(batch):
            tickets += driver.submit(ring, *descriptors)
        ended.append([driver.wait(ticket) for ticket in tickets])
    for descriptor, hardware, software in zip([*batch[0], *batch[1]], *ended, strict=True):
        assert seen(hardware) == seen(software), descriptor
    assert pair.differences() == []
    return [completion.status for completion in ended[1]]


def seen(completion):
    """What must be the same: all but the cycles."""
    where = completion.raw_stripes if completion.is_ok else completion.where
    numbers = completion.cookie, completion.stream_bytes, completion.stripe, completion.head
    return Status(completion.status), where, completion.channel, numbers


def batches(pair, rng):
    """Some descriptors for each ring."""
    first = [outgoing(pair, rng, number) for number in range(rng.integers(1, JOBS + 1))]
    second = [incoming(pair, rng, JOBS + number) for number in range(rng.integers(1, JOBS + 1))]
    return first, second


def test_batches_on_both_rings(pair):
    rng = np.random.default_rng(11)
    statuses = []
    for _ in range(25):
        statuses += play(pair, batches(pair, rng))
    assert {Status.OK, Status.OVERFLOW, Status.INDEX} <= set(statuses)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_batches_on_both_rings(pair, seed):
    rng = np.random.default_rng(100 + seed)
    statuses = []
    for _ in range(300):
        statuses += play(pair, batches(pair, rng))
    expected = {Status.OK, Status.OVERFLOW, Status.INDEX, Status.CRC, Status.TRUNCATED}
    assert expected | {Status.MASK_PAST_END} <= set(statuses)


def test_a_bus_error_of_device_memory(pair):
    """One job at a time, a beat of its tensor fails; bytes from its stripe on may differ."""
    rng = np.random.default_rng(12)
    beat = pair.config.beat_bytes
    for number in range(30):
        ring = number % 2
        make = (outgoing, incoming)[ring]
        descriptor = make(pair, rng, 0)
        row = descriptor.row_bytes // 4 * 4
        place = descriptor.device + int(rng.integers(row)) // beat * beat
        pair.same_memory()
        pair.hardware.engine.fault(DEVICE, place, beat, response=2 + number // 2 % 2)
        pair.software.memory.fail(place, beat, ("SLVERR", "DECERR")[number // 2 % 2])
        ended = [
            driver.wait(driver.submit(ring, descriptor)[0], timeout=60) for driver in pair.drivers
        ]
        pair.hardware.engine.clear_faults()
        pair.software.memory.heal()
        first, second = ended
        assert first.status == second.status, descriptor
        assert (first.stripe, first.stream_bytes) == (second.stripe, second.stream_bytes)
        assert first.channel == second.channel
