"""The driver with an engine in software, end to end."""

import numpy as np
import pytest

from cdma.driver import (
    Driver,
    DriverError,
    EngineError,
    EngineStoppedError,
    EngineTimeoutError,
    Memory,
    SoftwareDevice,
)
from cdma.driver import ring as ring_module
from cdma.engine_codes import Op, State, Status
from cdma.engine_config import EngineConfig
from cdma.golden import engine
from cdma.golden.engine.descriptor import Descriptor


@pytest.mark.parametrize("channels", [1, 2, 4, 8])
@pytest.mark.parametrize("raw", ["never", "auto", "always"])
def test_an_array_goes_out_and_comes_back(build, tensor, channels, raw):
    device, driver = build(channels)
    free = driver.host.free_bytes, driver.device.free_bytes
    sent = driver.offload(tensor, raw=raw, crc=True)
    wanted = engine.offload(tensor, device.config, raw=raw, crc=True)
    assert np.array_equal(sent.stream, wanted.stream)
    assert np.array_equal(sent.index, wanted.index)
    assert sent.completion.raw_stripes == wanted.raw_stripes
    back = driver.prefetch(sent)
    assert back.dtype == tensor.dtype
    assert np.array_equal(back, tensor)
    assert driver.verify(sent).is_ok
    driver.release(sent)
    assert (driver.host.free_bytes, driver.device.free_bytes) == free


@pytest.mark.parametrize(
    "config",
    [
        EngineConfig(channels=2, lanes=16, word_bits=16, stripe_bytes=1024),
        EngineConfig(channels=8, lanes=2, word_bits=64, address_bits=40),
        EngineConfig(channels=1, lanes=32, word_bits=8, address_bits=32, link_bytes=64),
    ],
    ids=lambda config: config.name,
)
def test_the_driver_reads_the_size_of_the_engine(config):
    device = SoftwareDevice(config)
    driver = Driver(device, device.host, device.memory)
    found = driver.config
    for name in ("channels", "lanes", "word_bits", "stripe_bytes", "link_bytes", "block_words"):
        assert getattr(found, name) == getattr(config, name)
    assert (found.address_bits, found.stage_bytes) == (config.address_bits, config.stage_bytes)
    array = np.arange(9999, dtype=config.format.dtype)
    assert np.array_equal(driver.prefetch(driver.offload(array)), array)


@pytest.mark.parametrize("raw", ["auto", "never", "always"])
@pytest.mark.parametrize(("type_", "dtype"), [("fp32", "f4"), ("fp16", "f2"), ("int8", "i1")])
def test_arrays_of_an_engine_with_zvcplus(build, tensor, type_, dtype, raw):
    device, driver = build(config=EngineConfig(1, codec="zvcplus", type=type_))
    array = (8 * tensor).astype(dtype)
    sent = driver.offload(array, raw=raw)
    golden = engine.offload(array, device.config, raw=raw)
    assert np.array_equal(sent.stream, golden.stream)
    found = driver.prefetch(sent)
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)
    with pytest.raises(ValueError, match=rf"to be a word of {type_}, not 8 \('float64'\)"):
        driver.offload(tensor.astype("f8"))


def test_rows_with_a_pitch(build):
    device, driver = build()
    rows, row, pitch = 5, 8192, 3 * 8192
    place = driver.device.allocate(rows * pitch, 4096)
    place.data[:] = np.random.default_rng(0).integers(0, 3, rows * pitch)
    tensor = place.data.reshape(rows, pitch)[:, :row].copy()
    sent = driver.offload(place.address, row, rows=rows, pitch=pitch)
    assert np.array_equal(sent.stream, engine.offload(tensor.view("<u4"), device.config).stream)
    upside_down = place.address + (rows - 1) * pitch
    place.data[:] = 0xEE
    driver.prefetch(sent, upside_down, pitch=-pitch)
    found = place.data.reshape(rows, pitch)
    assert np.array_equal(found[::-1, :row], tensor)
    assert (found[:, row:] == 0xEE).all()


def test_rows_without_a_pitch_lie_one_behind_the_other(build):
    _, driver = build()
    place, target = (driver.device.allocate(4 * 4096, 4096) for _ in range(2))
    place.data[:] = np.repeat([1, 2, 3, 4], 4096)
    sent = driver.offload(place.address, 4096, rows=4)
    assert driver.measure(place.address, 4096, rows=4).stream_bytes == len(sent.stream)
    driver.prefetch(sent, target.address)
    assert np.array_equal(target.data, place.data)
    copied = driver.copy_out(place.address, 4096, rows=4)
    assert np.array_equal(copied.data, place.data)
    target.data[:] = 0
    driver.copy_in(copied, target.address, 4096, rows=4)
    assert np.array_equal(target.data, place.data)
    with pytest.raises(ValueError, match="buffer must have 20480 bytes, not 16384"):
        driver.copy_in(copied, target.address, 4096, rows=5)


def test_copies_and_measure(build, tensor):
    device, driver = build()
    data = tensor.reshape(-1).view(np.uint8)
    place = driver.device.allocate(len(data), 4096)
    place.data[:] = data
    copied = driver.copy_out(place.address, len(data))
    assert np.array_equal(copied.data, data)
    place.data[:] = 0
    assert driver.copy_in(copied, place.address, len(data)).is_ok
    assert np.array_equal(place.data, data)
    measured = driver.measure(place.address, len(data), raw="never")
    assert measured.stream_bytes == engine.offload(tensor, device.config, raw="never").bytes


def test_nothing_moves_for_no_bytes(build):
    _, driver = build()
    sent = driver.offload(np.zeros((0, 4), np.float32))
    assert (sent.completion.stream_bytes, sent.completion.stripe) == (0, 0)
    assert driver.prefetch(sent).shape == (0, 4)


def test_an_overflow_names_what_was_needed(build, tensor):
    device, driver = build()
    free = driver.host.free_bytes
    with pytest.raises(EngineError, match="OVERFLOW at stripe") as caught:
        driver.offload(tensor, limit=4096)
    needed = engine.offload(tensor, device.config).bytes
    assert caught.value.completion.stream_bytes == needed
    assert driver.host.free_bytes == free
    assert np.array_equal(driver.prefetch(driver.offload(tensor, limit=needed)), tensor)


def test_damage_is_found(build, tensor):
    _, driver = build()
    sent = driver.offload(tensor, crc=True)
    sent.stream[5000] ^= 1
    with pytest.raises(EngineError) as caught:
        driver.prefetch(sent)
    assert caught.value.completion.status == Status.CRC
    with pytest.raises(EngineError, match="CRC at stripe"):
        driver.verify(sent)
    sent.stream[5000] ^= 1
    assert np.array_equal(driver.prefetch(sent), tensor)


@pytest.mark.parametrize("log2_ring", [0, 1, 3])
@pytest.mark.parametrize("interrupts", [False, True])
@pytest.mark.parametrize("lag", [0, 3])
def test_rings_wrap_many_times(build, log2_ring, interrupts, lag):
    device, driver = build(log2_ring=log2_ring)
    device.lag = lag
    if interrupts:
        driver = Driver(device, device.host, device.memory, wait=device.wait, log2_ring=log2_ring)
    for number in range(40):
        array = np.full(100 + number, number, np.float32)
        sent = driver.offload(array)
        assert np.array_equal(driver.prefetch(sent), array)
        driver.release(sent)
    assert [ring.tail for ring in driver.rings] == [40, 40]


def test_a_completion_is_taken_though_it_is_not_counted(build):
    device, driver = build(log2_ring=1)
    device.lag = 1 << 40  # the engine does not count while the driver polls
    tickets = driver.submit(0, Descriptor(Op.NOP), Descriptor(Op.NOP))
    assert driver.poll() == tickets
    assert [ticket.completion.head for ticket in tickets] == [1, 2]
    assert device.rings[0].cq_head == 0
    device.rings[0]._uncounted.clear()
    driver.poll()
    assert device.rings[0].cq_head == 2
    device.lag = 0
    assert driver.wait(driver.submit(0, Descriptor(Op.NOP))[0]).head == 3


def test_counts_wrap_at_65536(build, tensor):
    device, driver = build(log2_ring=3)
    for ring, seen in zip(device.rings, driver.rings, strict=True):
        ring.head = ring.tail = ring.cq_head = seen.head = seen.tail = 65520  # phase 1 comes next
    for number in range(20):
        sent = driver.offload(tensor)
        assert sent.completion.head == (65521 + number) % 65536
        assert np.array_equal(driver.prefetch(sent), tensor)
        driver.release(sent)
    assert driver.registers.read("RING", "SQ_HEAD", 0) == 4


def test_many_descriptors_with_one_doorbell(build):
    _, driver = build(log2_ring=4)
    tickets = driver.submit(0, *[Descriptor(Op.NOP) for _ in range(16)])
    assert [driver.wait(ticket).status for ticket in tickets] == [0] * 16
    with pytest.raises(DriverError, match="ring 0 has room for 16 descriptors, not 17"):
        driver.submit(0, *[Descriptor(Op.NOP) for _ in range(17)])


def test_a_bad_descriptor_ends_alone(build):
    _, driver = build()
    bad, good = driver.submit(0, Descriptor(Op.PREFETCH), Descriptor(Op.NOP))
    assert driver.wait(bad).status == Status.BAD_DESCRIPTOR
    assert driver.wait(good).is_ok


def test_a_job_that_hangs_times_out_and_is_withdrawn(build, tensor):
    device, driver = build(timeout=0.05)
    free = driver.host.free_bytes, driver.device.free_bytes
    device.automatic = False
    with pytest.raises(EngineTimeoutError, match=r"^no completion in 0.05 s, ring 0 is RUNNING$"):
        driver.offload(tensor)
    (ticket,) = driver.recover(0)
    assert ticket.completion is None
    with pytest.raises(EngineStoppedError, match=r"^no completion follows, .* was withdrawn$"):
        driver.wait(ticket, timeout=3600)
    device.automatic = True
    assert (driver.host.free_bytes, driver.device.free_bytes) == free
    assert np.array_equal(driver.prefetch(driver.offload(tensor)), tensor)


def test_a_started_job_is_aborted(build, tensor):
    device, driver = build(timeout=0.05)
    free = driver.host.free_bytes, driver.device.free_bytes
    device.automatic = False
    with pytest.raises(EngineTimeoutError):
        driver.offload(tensor)
    device.start(0)
    waiting = driver.rings[0].waiting
    assert driver.recover(0) == []
    assert waiting[0].completion.status == Status.ABORTED
    assert (driver.host.free_bytes, driver.device.free_bytes) == free
    device.automatic = True
    assert np.array_equal(driver.prefetch(driver.offload(tensor)), tensor)


def test_reset_starts_over(build, tensor):
    device, driver = build(timeout=0.05)
    free = driver.host.free_bytes
    sent = driver.offload(tensor)
    device.automatic = False
    (ticket,) = driver.submit(1, Descriptor(Op.NOP))
    with pytest.raises(EngineTimeoutError):
        driver.prefetch(sent)
    driver.reset()
    with pytest.raises(EngineStoppedError, match="withdrawn"):
        driver.wait(ticket, timeout=3600)
    device.automatic = True
    assert np.array_equal(driver.prefetch(sent), tensor)
    driver.release(sent)
    assert driver.host.free_bytes == free


def test_close_gives_all_memory_back(build, tensor):
    device, driver = build(timeout=0.05)
    device.automatic = False
    with pytest.raises(EngineTimeoutError):
        driver.offload(tensor)
    driver.close()
    assert driver.host.free_bytes == len(driver.host.data)
    assert driver.device.free_bytes == len(driver.device.data)


def test_a_closed_driver_takes_nothing(build, tensor):
    """Its rings' memory may belong to others."""
    _, driver = build()
    (ticket,) = driver.submit(0, Descriptor(Op.NOP))
    assert driver.close() == [ticket]
    other = driver.host.allocate(len(driver.host.data))
    other.data[:] = 0x55
    assert driver.close() == []
    calls = (
        lambda: driver.submit(0, Descriptor(Op.NOP)),
        lambda: driver.wait(ticket),
        lambda: driver.recover(0),
        driver.reset,
        lambda: driver.copy_out(driver.device.base, 4096),
    )
    for call in calls:
        with pytest.raises(DriverError, match=r"the driver is closed|no \d+ bytes left"):
            call()
    assert (other.data == 0x55).all()
    assert driver.poll() == []


def test_a_lost_completion_is_recovered(build, tensor):
    device, driver = build(log2_ring=1)
    driver.wait(driver.submit(0, Descriptor(Op.NOP))[0])
    slot = driver.registers.read_pair("RING", "CQ_BASE", 0) + 32
    device.host.fail(slot, 32)
    (ticket,) = driver.submit(0, Descriptor(Op.NOP))
    with pytest.raises(EngineTimeoutError, match="ring 0 is ERROR"):
        driver.wait(ticket, timeout=0.05)
    assert driver.registers.read_pair("RING", "ERROR", 0) == slot
    device.host.heal()
    assert driver.recover(0) == []
    assert ticket.completion.status == Status.ABORTED
    assert driver.rings[0].state is State.RUNNING
    for _ in range(5):
        assert np.array_equal(driver.prefetch(driver.offload(tensor)), tensor)


def no_interrupt(seconds):
    raise AssertionError("nothing will wake the driver")


@pytest.mark.parametrize("wait", [None, no_interrupt])
def test_a_halted_ring_is_told_at_once(build, tensor, wait):
    device, driver = build(timeout=3600, wait=wait)
    free = driver.host.free_bytes, driver.device.free_bytes
    device.host.fail(driver.registers.read_pair("RING", "SQ_BASE", 0), 64)
    with pytest.raises(EngineError, match="HOST_SLVERR"):
        driver.offload(tensor)
    device.host.heal()
    message = r"ring 0 is HALTED after HOST_SLVERR: recover\(0\) restarts it"
    with pytest.raises(EngineStoppedError, match=message):
        driver.offload(tensor)
    assert len(driver.recover(0)) == 1
    assert (driver.host.free_bytes, driver.device.free_bytes) == free
    assert np.array_equal(driver.prefetch(driver.offload(tensor)), tensor)


def test_a_ring_with_work_left_is_waited_for(build):
    device, driver = build(timeout=0.05)
    device.automatic = False
    tickets = driver.submit(0, Descriptor(Op.NOP), Descriptor(Op.NOP))
    assert device.start(0)
    device.rings[0].state = State.HALTED
    with pytest.raises(EngineTimeoutError, match=r"^no completion in 0.05 s, ring 0 is HALTED$"):
        driver.wait(tickets[0])
    assert device.finish(0)
    assert driver.wait(tickets[0]).is_ok
    with pytest.raises(EngineStoppedError, match="ring 0 is HALTED: recover"):
        driver.wait(tickets[1])


def test_bus_errors_leave_the_next_job_right(build, tensor):
    device, driver = build()
    place = driver.device.allocate(tensor.nbytes, 4096)
    place.data[:] = tensor.reshape(-1).view(np.uint8)
    device.memory.fail(place.address + 5 * 4096 + 100, 4, "DECERR")
    with pytest.raises(EngineError) as caught:
        driver.offload(place.address, tensor.nbytes)
    completion = caught.value.completion
    assert (completion.status, completion.stripe) == (Status.DEVICE_DECERR, 5)
    assert completion.where == place.address + 5 * 4096 + 100
    assert completion.channel == device.config.channel(completion.where)
    device.memory.heal()
    sent = driver.offload(place.address, tensor.nbytes)
    assert np.array_equal(sent.stream, engine.offload(tensor, device.config).stream)


@pytest.mark.parametrize("fallback", [False, True])
def test_a_channel_that_does_not_answer_is_quarantined(build, tensor, fallback):
    device, driver = build(fallback=fallback)
    free = driver.host.free_bytes
    sent = driver.offload(tensor)
    place = driver.device.allocate(tensor.nbytes, 4096)
    device.memory.fail(place.address, 4, "HANG")
    channel = device.config.channel(place.address)
    if fallback:
        device.memory.heal()
        device._quarantined.add(channel)
        assert driver.prefetch(sent, place.address).is_ok
        assert np.array_equal(place.data, tensor.reshape(-1).view(np.uint8))
        return
    with pytest.raises(EngineError, match="TIMEOUT at stripe 0"):
        driver.prefetch(sent, place.address)
    assert driver.quarantined == [channel]
    with pytest.raises(EngineError, match="TIMEOUT"):
        driver.offload(tensor)
    assert driver.verify(sent).is_ok  # accesses no channel
    with pytest.raises(EngineError, match="TIMEOUT at stripe 2,") as caught:
        driver.prefetch(sent, place.address + 2 * 4096)  # channels 2, 3, 0
    last = caught.value.completion
    assert (last.channel, last.where) == (channel, place.address + 4 * 4096)
    assert not driver.clear_quarantine(channel)
    held = driver.host.free_bytes
    device.memory.heal()
    assert driver.clear_quarantine(channel)
    assert driver.host.free_bytes > held
    assert driver.quarantined == []
    assert np.array_equal(driver.prefetch(driver.offload(tensor)), tensor)
    assert free > driver.host.free_bytes


def test_verify_needs_no_channel(build, tensor):
    _, driver = build()
    sent = driver.offload(tensor)
    for channel in range(driver.config.channels):
        driver.registers.write("CHANNEL", "ENABLE", 0, channel)
    assert driver.verify(sent).is_ok


def test_a_failed_link_is_told_of_a_ring_that_aborts(build, monkeypatch):
    device, driver = build()
    device.automatic = False
    (ticket,) = driver.submit(0, Descriptor(Op.NOP))
    device.rings[0].state = State.ABORTING
    monkeypatch.setattr(type(driver.registers), "has_failed_link", True)
    with pytest.raises(EngineStoppedError, match="the link has failed"):
        driver.wait(ticket, timeout=3600)
    monkeypatch.setattr(device.rings[0], "abort", lambda: None)
    with pytest.raises(DriverError, match="the link has failed"):
        driver.recover(0)


def test_a_failed_link_needs_the_hardware(build, tensor):
    device, driver = build()
    sent = driver.offload(tensor)
    device.host.fail(sent.stream_buffer.address, 1, "HANG")
    message = "no completion follows, the link has failed: only a reset of the hardware recovers"
    with pytest.raises(EngineStoppedError, match=message):
        driver.prefetch(sent)
    assert [ring.state for ring in driver.rings] == [State.ERROR, State.ERROR]
    (ticket,) = driver.submit(0, Descriptor(Op.NOP))
    with pytest.raises(EngineStoppedError, match=message):
        driver.wait(ticket, timeout=3600)
    with pytest.raises(DriverError, match="the link has failed"):
        driver.recover(0)
    for call in (driver.reset, driver.close):
        with pytest.raises(DriverError, match="the link has failed"):
            call()
    with pytest.raises(DriverError, match="the link has failed"):
        Driver(device, driver.host, timeout=3600)
    device.host.heal()
    with pytest.raises(DriverError, match="the link has failed"):
        driver.reset()


def test_a_link_that_fails_during_an_abort(build, monkeypatch):
    device, driver = build()
    monkeypatch.setattr(ring_module, "_PATIENCE", 100)
    write = device.write

    def fails(address, value):
        write(address, value)
        for ring in device.rings:
            ring.link_failed, ring.state = True, State.ERROR

    device.write = fails
    with pytest.raises(DriverError, match="the link has failed"):
        driver.recover(0)


def test_attributes_of_bursts_stay_after_a_reset(build):
    _, driver = build(attributes=(0xF2A5, 0x2000))
    for _ in range(2):
        found = [driver.registers.read("RING", "ATTR", ring) for ring in range(2)]
        assert found == [0xF2A5, 0x2000]
        driver.reset()
    _, driver = build()
    assert driver.registers.read("RING", "ATTR", 0) == 0x2000
    with pytest.raises(ValueError, match=r"^attributes must be bits of ATTR, 0xf7ff, not 0x800$"):
        build(attributes=(0x2000, 0x800))


@pytest.mark.parametrize("halt", [0, 4])
def test_recovery_leaves_halt_as_it_is(build, halt):
    _, driver = build()
    driver.registers.write("RING", "CTRL", 1 | halt, 0)
    assert driver.recover(0) == []
    driver.rings[0].set_arena(0x8000_0000, 0x8000_1000)
    assert driver.registers.read("RING", "CTRL", 0) == 1 | halt


def test_locked_windows_stay(build, tensor):
    """The trusted part of the software has set and locked them."""
    device, driver = build()
    for ring in range(2):
        driver.registers.write("RING", "CTRL", 9, ring)
    driver.reset()
    assert np.array_equal(driver.prefetch(driver.offload(tensor)), tensor)
    driver.close()
    other = Driver(device, driver.host, device_window=(0, 4096))
    limit = other.registers.read_pair("RING", "DEV_LIMIT", 0)
    assert limit == driver.device.limit


def test_a_descriptor_without_an_interrupt_is_not_slept_for(build):
    sleeps = []

    def wait(seconds):
        sleeps.append(seconds)
        device.work()

    device, driver = build(wait=wait)
    device.automatic = False
    for interrupt in (False, True):
        (ticket,) = driver.submit(0, Descriptor(Op.NOP, interrupt=interrupt))
        assert driver.wait(ticket).is_ok
    assert sleeps[0] <= 1e-3
    assert 9 < sleeps[1] <= 10


def test_an_arena_that_cannot_be_set_changes_nothing(build):
    device, driver = build()
    ring = driver.rings[0]
    ring.set_arena(0x8000_0000, 0x8000_1000)
    for wrong in ((0x8000_0020, 0x8000_1000), (0x8000_0000, 0x8000_1004), (0x80, 0x40), (-64, 0)):
        with pytest.raises(ValueError, match=r"^arena from .*: expected multiples of 64"):
            ring.set_arena(*wrong)
    for wrong in ((0x7FFF_FFC0, 0x8000_1000), (0x8000_0000, 0x8080_0040), (1 << 50, 1 << 50)):
        message = r"^arena from .*: expected host memory, 0x80000000 to 0x80800000$"
        with pytest.raises(ValueError, match=message):
            ring.set_arena(*wrong)
    device.automatic = False
    (ticket,) = driver.submit(0, Descriptor(Op.NOP))
    with pytest.raises(DriverError, match=r"^ring 0 has jobs: set the arena when they have ended$"):
        ring.set_arena(0x8000_1000, 0x8000_2000)
    assert driver.registers.read_pair("RING", "ARENA_BASE", 0) == 0x8000_0000
    device.work()
    assert driver.wait(ticket).is_ok
    ring.set_arena(0x8000_1000, 0x8000_2000)
    assert driver.registers.read_pair("RING", "ARENA_POINTER", 0) == 0x8000_1000


def test_an_arena_leaves_a_stopped_ring_stopped(build):
    _, driver = build()
    driver.registers.write("RING", "CTRL", 4, 0)
    driver.rings[0].set_arena(0x8000_0000, 0x8000_1000)
    assert driver.registers.read("RING", "CTRL", 0) == 4
    assert driver.registers.read_pair("RING", "ARENA_POINTER", 0) == 0x8000_0000


def test_a_ring_that_was_stopped_is_not_waited_for(build):
    _, driver = build()
    driver.registers.write("RING", "CTRL", 0, 0)
    (ticket,) = driver.submit(0, Descriptor(Op.NOP))
    with pytest.raises(EngineStoppedError, match=r"ring 0 is STOPPED: recover\(0\) restarts it"):
        driver.wait(ticket)


def test_append_uses_the_arena(build, tensor):
    device, driver = build()
    arena = driver.host.allocate(1 << 18)
    driver.rings[0].set_arena(arena.address, arena.address + arena.size)
    place = driver.device.allocate(tensor.nbytes, 4096)
    place.data[:] = tensor.reshape(-1).view(np.uint8)
    index = driver.host.allocate(8 * 64)
    job = Descriptor(
        Op.OFFLOAD,
        device=place.address,
        row_bytes=tensor.nbytes,
        limit=1 << 40,
        append=True,
        with_index=True,
        index=index.address,
    )
    tickets = driver.submit(0, job, job, job)
    wanted = engine.offload(tensor, device.config, raw="never").stream
    step = -(-len(wanted) // 64) * 64
    for number, ticket in enumerate(tickets[:2]):
        completion = driver.wait(ticket)
        assert completion.where == arena.address + number * step
        assert np.array_equal(device.host.read(completion.where, len(wanted)), wanted)
    assert driver.wait(tickets[2]).status == Status.OVERFLOW
    assert driver.registers.read_pair("RING", "ARENA_POINTER", 0) == arena.address + 2 * step
    driver.reset()
    (ticket,) = driver.submit(0, job)
    assert not driver.wait(ticket).is_ok  # it would overwrite the first stream


def test_what_is_no_engine_is_refused():
    class Nothing:
        def read(self, address):
            return 0xFFFFFFFF

        def write(self, address, value):
            raise AssertionError

    with pytest.raises(DriverError, match="device has ID 0xffffffff, not 0x43444d41"):
        Driver(Nothing(), Memory(4096))


def test_another_major_version_is_refused(build):
    class Newer:
        def __init__(self, inner):
            self.read = lambda address: 2 << 16 if address == 4 else inner.read(address)
            self.write = inner.write

    device, _ = build()
    with pytest.raises(DriverError, match="register map has version 2, this driver knows 1"):
        Driver(Newer(device), device.host)


def test_mistakes_of_the_caller(build, tensor):
    device, driver = build()
    with pytest.raises(ValueError, match="fallback needs device memory"):
        Driver(device, device.host, fallback=True)
    without = Driver(device, device.host)
    with pytest.raises(DriverError, match="arrays need device memory"):
        without.offload(tensor)
    driver = Driver(device, device.host, device.memory)
    with pytest.raises(ValueError, match="Element size must be 4 bytes"):
        driver.offload(np.zeros(10, np.int16))
    sent = driver.offload(driver.device.base, 4096)
    with pytest.raises(ValueError, match="prefetch needs an address"):
        driver.prefetch(sent)
    with pytest.raises(DriverError, match=r"no \d+ bytes left"):
        driver.offload(tensor, limit=1 << 30)
    for coalesce, message in (
        ((300, 0), r"coalesce count must be in 0\.\.255, not 300"),
        ((1, 1 << 24), r"coalesce cycles must be in 0\.\.16777215, not 16777216"),
        ((-1, 0), r"coalesce count must be in 0\.\.255, not -1"),
    ):
        with pytest.raises(ValueError, match=message):
            Driver(device, device.host, coalesce=coalesce)
    Driver(device, Memory(1 << 16, 0x8000_0000), coalesce=(255, (1 << 24) - 1))
    assert driver.registers.read("ENGINE", "IRQ_COALESCE") == 0xFFFFFFFF
    for window in ((0, (1 << 48) + 1), (-1, 4096), (4096, 0)):
        with pytest.raises(ValueError, match="device window must be inside"):
            Driver(device, device.host, device_window=window)
    message = r"host memory must be inside the engine's addresses 0x0\.\.0x1000000000000, not 0x1"
    with pytest.raises(ValueError, match=message):
        Driver(device, Memory(1 << 16, 1 << 48))
    with pytest.raises(ValueError, match=r"log2 of the ring's size must be in 0\.\.15, not 16"):
        Driver(device, device.host, log2_ring=16)


def test_the_first_free_addresses_are_windowed(build):
    device, driver = build()
    outside = Descriptor(Op.MEASURE, device=device.memory.limit, row_bytes=4096)
    (ticket,) = driver.submit(0, outside)
    assert driver.wait(ticket).status == Status.BAD_DESCRIPTOR
