"""Who frees which buffer: after errors, timeouts, recovery, and jobs in software."""

import numpy as np
import pytest

from cdma.driver import (
    Driver,
    DriverError,
    EngineError,
    EngineStoppedError,
    EngineTimeoutError,
    Memory,
    RegisterError,
    SoftwareDevice,
)
from cdma.driver import driver as module
from cdma.engine_codes import Op, Status
from cdma.engine_config import EngineConfig
from cdma.golden.engine.descriptor import Completion, Descriptor


def free(driver):
    return driver.host.free_bytes, driver.device.free_bytes


class Refusing:
    """Refuse writes to one register."""

    def __init__(self, engine, name, instance=0):
        self.engine, self.refuses = engine, True
        self.host, self.memory, self.read = engine.host, engine.memory, engine.read
        addresses = engine.map.addresses()
        (self.address,) = (
            address
            for address, (_, number, register) in addresses.items()
            if (register.name, number) == (name, instance)
        )

    def write(self, address, value):
        if self.refuses and address == self.address:
            raise RegisterError(f"{address:#x}")
        self.engine.write(address, value)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda driver, array: driver.offload(0x10_0000, 4096, raw="foo"), ValueError),
        (lambda driver, array: driver.offload(array, raw="foo"), ValueError),
        (lambda driver, array: driver.offload(1 << 70, 4096), ValueError),
        (lambda driver, array: driver.offload(-4096, 4096), ValueError),
        (lambda driver, array: driver.offload(0x10_0000, 4096, rows=1, limit=-4), ValueError),
        (lambda driver, array: driver.offload(array, limit=1 << 70), DriverError),
        (lambda driver, array: driver.copy_out(1 << 70, 4096), ValueError),
        (lambda driver, array: driver.offload(0x10_0000, 4096, rows=0), ValueError),
        (lambda driver, array: driver.offload(0x10_0000, 4096, rows=-1), ValueError),
        (lambda driver, array: driver.copy_out(0x10_0000, 4096, rows=0), ValueError),
        (lambda driver, array: driver.measure(0x10_0000, 4096, rows=0), ValueError),
        (lambda driver, array: driver.offload(0x10_0000, 100, rows=2), EngineError),
    ],
)
def test_refused_arguments_cost_no_memory(build, tensor, call, error):
    _, driver = build()
    before = free(driver)
    with pytest.raises(error):
        call(driver, tensor)
    assert free(driver) == before
    assert driver.rings[0].waiting == []
    assert np.array_equal(driver.prefetch(driver.offload(tensor)), tensor)


def test_without_memory_for_the_index_the_stream_is_freed(build):
    _, driver = build()
    left = driver.host.free_bytes
    taken = driver.host.allocate(left - 6400)
    before = free(driver)
    with pytest.raises(DriverError, match="no 8000 bytes left"):
        driver.offload(driver.device.base, 0x1000, rows=1000, limit=6000)
    assert free(driver) == before
    driver.release(taken)


def test_a_refused_doorbell_submits_nothing(build, tensor):
    device, driver = build(device=lambda engine: Refusing(engine, "SQ_TAIL"))
    before = free(driver)
    with pytest.raises(DriverError):
        driver.offload(tensor)
    assert free(driver) == before
    ring = driver.rings[0]
    assert (ring.waiting, ring.tail, ring.room) == ([], 0, 64)
    device.refuses = False
    assert np.array_equal(driver.prefetch(driver.offload(tensor)), tensor)


def test_all_descriptors_are_submitted_or_none(build):
    _, driver = build()
    with pytest.raises(ValueError, match="field of a descriptor does not fit"):
        driver.submit(0, Descriptor(Op.NOP), Descriptor(Op.NOP, device=1 << 70))
    ring = driver.rings[0]
    assert (ring.tail, ring.room, ring.waiting) == (0, 64, [])
    (ticket,) = driver.submit(0, Descriptor(Op.NOP))
    assert driver.wait(ticket).head == 1


@pytest.mark.parametrize("is_array", [False, True])
def test_buffers_of_a_late_job_are_freed_with_its_completion(build, tensor, is_array):
    device, driver = build(timeout=0.05)
    before = free(driver)
    place = driver.device.allocate(4096, 4096)
    device.automatic = False
    with pytest.raises(EngineTimeoutError):
        driver.offload(*((tensor,) if is_array else (place.address, 4096)))
    used = free(driver)
    assert used != before
    driver.poll()
    assert free(driver) == used  # the engine still owns them
    device.work()
    (ticket,) = driver.poll()
    assert ticket.is_abandoned
    assert ticket.completion.is_ok
    driver.device.release(place)
    assert free(driver) == before
    assert driver.recover(0) == []
    assert free(driver) == before


def test_buffers_of_a_late_job_are_held_after_its_timeout(build, tensor):
    device, driver = build(timeout=0.05)
    before = free(driver)
    device.automatic = False
    with pytest.raises(EngineTimeoutError):
        driver.offload(tensor)
    used = free(driver)
    device.memory.fail(device.memory.base, 4096, "HANG")
    device.work()
    (ticket,) = driver.poll()
    assert ticket.completion.status == Status.TIMEOUT
    assert free(driver) == used
    device.memory.heal()
    assert driver.clear_quarantine(ticket.completion.channel)
    assert free(driver) == before


def test_an_interrupted_wait_leaves_the_buffers_to_the_engine(build, tensor):
    device, driver = build()
    device.automatic = False
    before = free(driver)

    def interrupt(seconds):
        raise KeyboardInterrupt

    driver._wait = interrupt
    with pytest.raises(KeyboardInterrupt):
        driver.offload(tensor)
    assert free(driver) != before
    device.work()
    driver.poll()
    assert free(driver) == before


def test_recovery_frees_only_what_it_returns(build):
    device, driver = build()
    device.automatic = False
    before = free(driver)
    buffers = [driver.host.allocate(4096) for _ in range(2)]
    tickets = []
    for buffer in buffers:
        copy = Descriptor(
            Op.COPY_OUT, driver.device.base, buffer.address, row_bytes=4096, limit=4096
        )
        tickets += driver.submit(0, copy, buffers=[buffer])
    device.start(0)
    assert driver.recover(0) == tickets[1:]
    assert tickets[0].completion.status == Status.ABORTED
    driver.release(buffers[0])  # the caller's
    assert free(driver) == before
    with pytest.raises(DriverError, match="released before"):
        driver.release(buffers[1])


def test_buffers_of_several_descriptors_are_freed_once(build):
    device, driver = build()
    device.automatic = False
    before = free(driver)
    buffer = driver.host.allocate(4096)
    tickets = driver.submit(0, Descriptor(Op.NOP), Descriptor(Op.NOP), buffers=[buffer])
    assert driver.recover(0) == tickets
    assert free(driver) == before


@pytest.mark.parametrize("stop", ["reset", "close"])
def test_a_reset_frees_what_it_returns(build, stop):
    device, driver = build()
    device.automatic = False
    buffer = driver.host.allocate(4096)
    used = free(driver)
    (ticket,) = driver.submit(0, Descriptor(Op.NOP), buffers=[buffer])
    assert getattr(driver, stop)() == [ticket]
    if stop == "reset":
        assert free(driver)[0] == used[0] + 4096
    else:
        assert free(driver)[0] == len(driver.host.data)


def test_a_wrong_completion_is_refused_until_recovery(build, tensor):
    device, driver = build()
    device.automatic = False
    first, second = driver.submit(0, Descriptor(Op.NOP), Descriptor(Op.NOP))
    device.work()
    entry = driver.rings[0]._cq.data[32:64]
    entry[:] = Completion(Status.OK, cookie=99, head=2).pack(1)
    assert driver.poll() == [first]
    for _ in range(2):
        with pytest.raises(DriverError, match="completion has cookie 99, expected 2"):
            driver.poll()
    assert driver.recover(0) == []
    assert second.completion.status == Status.ABORTED
    device.automatic = True
    assert np.array_equal(driver.prefetch(driver.offload(tensor)), tensor)


@pytest.fixture
def sane(monkeypatch):
    """Software reaches the device memory, though the engine gets no answer."""
    execution = module.Execution

    def execute(config, host, memory, *rest):
        return execution(config, host, Memory(memory.data, memory.base), *rest)

    monkeypatch.setattr(module, "Execution", execute)


def test_the_fallback_keeps_memory_that_the_engine_still_owns(build, tensor, sane):
    device, driver = build(fallback=True)
    sent = driver.offload(tensor)
    before = free(driver)
    device.memory.fail(device.memory.base, 4, "HANG")
    assert np.array_equal(driver.prefetch(sent), tensor)  # its channel 0 goes into quarantine
    (channel,) = driver.quarantined
    assert driver.registers.field("CHANNEL", "OUTSTANDING", "NOW", channel) == 1
    used = free(driver)
    assert used[0] == before[0]
    assert used[1] <= before[1] - tensor.nbytes
    # Jobs after that leave nothing outstanding: a channel in quarantine issues nothing.
    for _ in range(3):
        again = driver.offload(tensor)
        assert np.array_equal(driver.prefetch(again), tensor)
        driver.release(again)
        assert free(driver) == used
    device.memory.heal()
    assert driver.clear_quarantine(channel)
    assert free(driver) == before


def test_an_offload_of_the_fallback_is_the_callers(build, tensor, sane):
    device, driver = build(fallback=True)
    before = free(driver)
    device.memory.fail(device.memory.base, 4, "HANG")
    sent = driver.offload(tensor)
    assert free(driver)[1] < before[1]
    device.memory.heal()
    assert driver.clear_quarantine(driver.quarantined[0])
    assert free(driver)[1] == before[1]
    assert np.array_equal(driver.prefetch(sent), tensor)
    driver.release(sent)
    assert free(driver) == before


def test_close_gives_held_memory_back(build, tensor):
    device, driver = build()
    device.memory.fail(device.memory.base, 4, "HANG")
    with pytest.raises(EngineError, match="TIMEOUT"):
        driver.offload(tensor)
    assert driver.device.free_bytes < len(driver.device.data)
    driver.close()
    assert free(driver) == (len(driver.host.data), len(driver.device.data))


def test_buffers_are_held_while_the_link_is_dead(build, tensor):
    device, driver = build()
    place = driver.host.allocate(64)
    driver.release(place)
    device.host.fail(place.address, 1, "HANG")
    with pytest.raises(EngineStoppedError, match="the link has failed"):
        driver.offload(tensor)
    used = free(driver)
    driver.poll()
    assert free(driver) == used


def test_a_driver_that_does_not_fit_leaves_nothing():
    ring = (64 + 32) << 6
    for size in (ring - 64, ring + 64, 2 * ring - 64):
        host = Memory(size, 0x8000_0000)
        device = SoftwareDevice(EngineConfig(channels=1), host)
        with pytest.raises(DriverError, match="bytes left"):
            Driver(device, host)
        assert host.free_bytes == size
        states = [device.rings[number].state.name for number in range(2)]
        assert states == ["STOPPED", "STOPPED"]


def test_a_driver_whose_ring_is_refused_leaves_nothing():
    engine = SoftwareDevice(EngineConfig(channels=1))
    refusing = Refusing(engine, "CQ_SIZE", 1)
    with pytest.raises(RegisterError):
        Driver(refusing, engine.host)
    assert engine.host.free_bytes == len(engine.host.data)
    assert engine.rings[0].state.name == "STOPPED"


@pytest.mark.parametrize("stop", ["recover", "reset"])
def test_an_aborted_job_keeps_its_buffers_while_a_channel_owes_responses(build, tensor, stop):
    """ABORTED does not say that nothing is outstanding: the channel went into quarantine."""
    device, driver = build(timeout=0.05)
    before = free(driver)
    device.automatic = False
    with pytest.raises(EngineTimeoutError):
        driver.offload(tensor)
    used = free(driver)
    device.start(0)
    device.memory.fail(device.memory.base, 4, "HANG")
    device._quarantined.add(0)
    if stop == "recover":
        assert driver.recover(0) == []
    else:
        (ticket,) = driver.reset()
        assert ticket.is_abandoned
    assert driver.quarantined == [0]
    assert not driver.is_quiet
    driver.poll()
    assert free(driver) == used
    device.memory.heal()
    assert driver.is_quiet
    assert driver.clear_quarantine(0)
    assert free(driver) == before


def test_another_error_keeps_the_buffers_while_a_channel_owes_responses(build, tensor):
    """The CRC of a lower stripe is wrong, so the completion does not say TIMEOUT."""
    device, driver = build()
    sent = driver.offload(tensor, crc=True)
    sent.stream[0] ^= 1
    before = free(driver)
    place = driver.device.allocate(4096, 4096)
    driver.device.release(place)
    device.memory.fail(place.address + 3 * 4096, 4, "HANG")
    with pytest.raises(EngineError, match="CRC at stripe 0"):
        driver.prefetch(sent)
    assert driver.quarantined == [3]
    assert free(driver) != before
    device.memory.heal()
    assert driver.clear_quarantine(3)
    assert free(driver) == before
