"""Order between memory and registers: the driver calls its barrier at the right places."""

import platform
import re

import numpy as np
import pytest

from cdma.driver import Driver, DriverError, SoftwareDevice, UioDevice
from cdma.driver.barrier import choose
from cdma.engine_codes import Op
from cdma.golden.engine.descriptor import Completion, Descriptor, phase


class Recorder:
    """An engine in software that records its register writes."""

    def __init__(self, events):
        self.engine, self.events = SoftwareDevice(automatic=False), events
        self.names = {
            address: (register.name, number)
            for address, (_, number, register) in self.engine.map.addresses().items()
        }
        self.read = self.engine.read

    def write(self, address, value):
        self.events.append(self.names[address])
        self.engine.write(address, value)


@pytest.fixture
def recorded():
    """A driver whose register writes and barriers are recorded, and its engine."""
    events = []
    device = Recorder(events)
    driver = Driver(device, device.engine.host, barrier=lambda: events.append("barrier"))
    return events, driver, device.engine


def test_a_barrier_is_between_descriptors_and_doorbell(recorded):
    events, driver, engine = recorded
    entries = []

    def barrier():
        entries.append(engine.host.read(driver.rings[0]._sq.address, 128).reshape(2, 64))
        events.append("barrier")

    driver.rings[0]._barrier = barrier
    events.clear()
    tickets = driver.submit(0, Descriptor(Op.NOP), Descriptor(Op.NOP))
    assert events == ["barrier", ("SQ_TAIL", 0)]
    packed = [ticket.descriptor.pack(1) for ticket in tickets]
    assert np.array_equal(entries[0], packed)


def test_a_barrier_is_between_an_empty_ring_and_run(recorded):
    events, driver, _ = recorded
    for number in range(2):
        assert events[events.index(("CTRL", number), 1) - 1] == "barrier"
    events.clear()
    driver.recover(1)
    assert events[-2:] == ["barrier", ("CTRL", 1)]


def test_a_completion_is_read_after_its_phase():
    """The phase of a completion arrives, and before the barrier ends, the rest."""
    engine = SoftwareDevice(automatic=False)
    late, calls = [], []

    def barrier():
        calls.append(len(late))
        for target, data in late:
            target[:] = data

    driver = Driver(engine, engine.host, barrier=barrier)
    ring = driver.rings[0]
    first = ring._cq.data[:32]
    (ticket,) = driver.submit(0, Descriptor(Op.NOP))
    calls.clear()
    assert driver.poll() == []
    assert calls == []  # nothing to order: polling an empty ring costs nothing

    whole = Completion(0, cookie=ticket.descriptor.cookie, stream_bytes=77, head=1)
    bit = phase(0, ring.log2_size)
    first[:] = 0xFF
    first[-1] = whole.pack(bit)[-1]
    late.append((first, whole.pack(bit)))
    assert driver.poll() == [ticket]
    assert ticket.completion == whole
    assert calls == [1]


def test_a_barrier_is_between_entries_that_were_read_and_their_return(recorded):
    events, driver, engine = recorded
    driver.submit(0, *[Descriptor(Op.NOP) for _ in range(32)])
    engine.work()
    events.clear()
    assert len(driver.poll()) == 32
    assert events[-2:] == ["barrier", ("CQ_HEAD", 0)]


def test_a_barrier_is_between_the_state_and_the_last_look_at_memory():
    """The ring is seen HALTED before its last completion is seen in memory."""
    engine = SoftwareDevice(automatic=False)
    driver = Driver(engine, engine.host, timeout=5)
    (ticket,) = driver.submit(0, Descriptor(Op.NOP))
    engine.rings[0].halts_on_error = True
    engine.host.fail(driver.rings[0]._sq.address, 64)
    late = []
    write = engine.host.write
    engine.host.write = lambda address, data: late.append((address, data))
    engine.work()
    assert driver.rings[0].standstill.startswith("ring 0 is HALTED after HOST_SLVERR")
    driver._barrier = lambda: [write(*each) for each in late]
    assert driver.wait(ticket).status == 34


@pytest.mark.parametrize("machine", ["aarch64", "riscv64", "ppc64le", ""])
def test_mapped_registers_need_a_barrier_where_the_processor_reorders(
    tmp_path, monkeypatch, machine
):
    file = tmp_path / "uio0"
    file.write_bytes(bytes(4096))
    registers = UioDevice(str(file))
    monkeypatch.setattr(platform, "machine", lambda: machine)
    message = rf"this processor \({machine or 'unknown'}\) may reorder .* give the driver a barrier"
    host = SoftwareDevice().host
    with pytest.raises(DriverError, match=message):
        Driver(registers, host)
    with pytest.raises(DriverError, match="it is no cdma engine"):
        Driver(registers, host, barrier=dict)
    assert choose(None, SoftwareDevice())() is None  # no hardware
    registers.close()


@pytest.mark.parametrize("machine", ["x86_64", "AMD64", "i686"])
def test_x86_needs_no_barrier(tmp_path, monkeypatch, machine):
    file = tmp_path / "uio0"
    file.write_bytes(bytes(4096))
    registers = UioDevice(str(file))
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert choose(None, registers)() is None
    with pytest.raises(DriverError, match=re.escape("it is no cdma engine")):
        Driver(registers, SoftwareDevice().host)
    registers.close()
