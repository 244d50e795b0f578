"""Both drivers on the generated Verilog, compiled: what they do with the engine in software."""

from itertools import cycle

import numpy as np
import pytest

from cdma.driver import Driver, EngineError, EngineStoppedError, EngineTimeoutError
from cdma.engine_codes import Op, Raw, State, Status
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.engine import DEVICE, HOST


@pytest.fixture(scope="module")
def hardware(verilog_engine):
    return verilog_engine


@pytest.fixture
def driver(hardware):
    """A driver that waits for the interrupt."""
    made = Driver(hardware, hardware.host, hardware.memory, wait=hardware.wait, timeout=60)
    yield made
    hardware.engine.clear_faults()
    made.close()
    assert hardware.host.free_bytes == len(hardware.host.data)
    assert hardware.memory.free_bytes == len(hardware.memory.data)


def relu(count, seed):
    array = np.random.default_rng(seed).standard_normal(count).astype("f4")
    array[array < 0] = 0
    return array


@pytest.mark.parametrize("log2_ring", [0, 2])
def test_the_python_driver(hardware, log2_ring):
    driver = Driver(
        hardware, hardware.host, hardware.memory, wait=hardware.wait, log2_ring=log2_ring
    )
    for name in ("channels", "lanes", "word_bits", "stripe_bytes", "link_bytes", "stage_bytes"):
        assert getattr(driver.config, name) == getattr(hardware.config, name)
    for number, raw in zip(range(9), cycle(["never", "auto", "always"]), strict=False):
        array = relu(700 + 301 * number, number)
        sent = driver.offload(array, raw=raw, crc=number % 2 == 0)
        wanted = golden.offload(array, hardware.config, raw=raw, crc=number % 2 == 0)
        assert np.array_equal(sent.stream, wanted.stream)
        assert np.array_equal(sent.index, wanted.index)
        assert driver.verify(sent).is_ok
        assert np.array_equal(driver.prefetch(sent), array)
        driver.release(sent)
    driver.close()
    assert hardware.host.free_bytes == len(hardware.host.data)


def test_descriptors_in_flight(driver):
    tickets = driver.submit(0, *[Descriptor(Op.NOP) for _ in range(20)])
    assert [driver.wait(ticket).status for ticket in tickets] == [0] * 20
    counters = driver.registers.counters()
    assert counters["CYCLES"] > 0
    assert counters["ERRORS"] == 0


def test_rows_measure_and_copies(driver, hardware):
    place = driver.device.allocate(16 * 1024, 2048)
    place.data[:] = relu(4096, 1).view(np.uint8)
    rows = place.data.reshape(4, 4096)[:, :2048].reshape(-1).view("<u4")
    sent = driver.offload(place.address, 2048, rows=4, pitch=4096, raw="never")
    wanted = golden.offload(rows, hardware.config, raw="never")
    assert np.array_equal(sent.stream, wanted.stream)
    measured = driver.measure(place.address, 2048, rows=4, pitch=4096, raw="never")
    assert measured.stream_bytes == wanted.bytes
    copied = driver.copy_out(place.address, 2048, rows=4, pitch=4096)
    assert np.array_equal(copied.data, rows.view(np.uint8))
    place.data[:] = 0
    driver.copy_in(copied, place.address, 2048, rows=4, pitch=4096)
    assert np.array_equal(place.data.reshape(4, 4096)[:, :2048].reshape(-1).view("<u4"), rows)
    driver.release(sent, copied)
    driver.device.release(place)


def test_damage_and_overflow(driver, hardware):
    array = relu(3000, 2)
    sent = driver.offload(array, crc=True, raw="never")
    sent.stream[700] ^= 4
    with pytest.raises(EngineError, match="CRC at stripe") as caught:
        driver.prefetch(sent)
    wanted = golden.salvage_stripes(sent.stream, sent.index, 3000, hardware.config)
    assert (caught.value.completion.stripe, caught.value.completion.where) == (
        wanted.stripe,
        wanted.where,
    )
    needed = sent.completion.stream_bytes
    driver.release(sent)
    with pytest.raises(EngineError, match="OVERFLOW at stripe") as caught:
        driver.offload(array, limit=1024, raw="never")
    assert caught.value.completion.stream_bytes == needed


def test_a_bus_error_and_the_next_job(driver, hardware):
    place = driver.device.allocate(8192, 2048)
    place.data[:] = relu(2048, 3).view(np.uint8)
    hardware.engine.fault(DEVICE, place.address + 5000, response=2, on="read")
    with pytest.raises(EngineError) as caught:
        driver.offload(place.address, 8192)
    completion = caught.value.completion
    assert (completion.status, completion.stripe) == (Status.DEVICE_SLVERR, 4)
    hardware.engine.clear_faults()
    sent = driver.offload(place.address, 8192)
    assert np.array_equal(
        sent.stream, golden.offload(place.data.view("<u4"), hardware.config).stream
    )
    driver.release(sent)
    driver.device.release(place)


def test_a_stalled_ring_is_recovered(driver, hardware):
    driver.registers.write("CHANNEL", "ENABLE", 0, 0)
    driver.timeout = 0.2
    array = relu(3000, 4)
    with pytest.raises(EngineTimeoutError):
        driver.offload(array)
    (waiting,) = driver.rings[0].waiting
    assert driver.recover(0) == []
    assert waiting.completion.status == Status.ABORTED
    driver.registers.write("CHANNEL", "ENABLE", 1, 0)
    driver.timeout = 60
    sent = driver.offload(array)
    assert np.array_equal(driver.prefetch(sent), array)
    driver.release(sent)


def test_an_impossible_count_is_recovered(driver):
    driver.registers.write("RING", "SQ_TAIL", 9999, 1)
    assert driver.rings[1].state is State.ERROR
    driver.recover(1)
    (ticket,) = driver.submit(1, Descriptor(Op.NOP))
    assert driver.wait(ticket).is_ok


@pytest.mark.parametrize("ring", [0, 1])
def test_a_halted_ring_is_told_at_once(driver, hardware, ring):
    """The descriptor cannot be fetched. The timeout of 60 s has no part in it."""
    place = driver.registers.read_pair("RING", "SQ_BASE", ring)
    hardware.engine.fault(HOST, place, response=2, on="read")
    (ticket,) = driver.submit(ring, Descriptor(Op.NOP))
    assert driver.wait(ticket).status == Status.HOST_SLVERR
    hardware.engine.clear_faults()
    (late,) = driver.submit(ring, Descriptor(Op.NOP))
    with pytest.raises(EngineStoppedError, match=f"ring {ring} is HALTED after HOST_SLVERR"):
        driver.wait(late)
    assert driver.recover(ring) == [late]
    assert driver.wait(driver.submit(ring, Descriptor(Op.NOP))[0]).is_ok


def test_a_ring_that_is_about_to_run_is_waited_for(driver, hardware):
    """RUN waits for the check of a descriptor of many rows on the other ring."""
    place = hardware.memory.base
    options = {"row_bytes": 2048, "rows": 1 << 30, "pitch": 0, "with_index": True}
    rows = Descriptor(Op.VERIFY, device=place, host=hardware.host.base, index=place, **options)
    for cycles in range(0, 90, 13):
        checked = driver.submit(1, *[rows] * 8)
        hardware.engine.run(100 + cycles)
        assert driver.recover(0) == []
        (ticket,) = driver.submit(0, Descriptor(Op.NOP, interrupt=True))
        assert driver.wait(ticket).is_ok
        assert {driver.wait(each).status for each in checked} == {Status.BAD_DESCRIPTOR}


def test_the_fallback_waits_for_late_responses(hardware):
    """A write to device memory is not answered: its memory is not given away before."""
    driver = Driver(
        hardware, hardware.host, hardware.memory, wait=hardware.wait, timeout=60, fallback=True
    )
    array = relu(2048, 5)
    sent = driver.offload(array)
    free = driver.device.free_bytes
    place = driver.device.allocate(array.nbytes, hardware.config.stripe_bytes)
    driver.device.release(place)
    driver.registers.write("ENGINE", "TIMEOUT", 1000)
    hardware.engine.fault(DEVICE, place.address, delay=60_000, count=1, on="write")
    assert np.array_equal(driver.prefetch(sent), array)
    (channel,) = driver.quarantined
    assert not driver.clear_quarantine(channel)
    assert driver.device.free_bytes == free - array.nbytes
    other = driver.offload(relu(2048, 6))
    assert np.array_equal(driver.prefetch(other), relu(2048, 6))
    assert driver.device.free_bytes == free - array.nbytes
    hardware.engine.run(70_000)
    assert driver.clear_quarantine(channel)
    assert driver.device.free_bytes == free
    assert np.array_equal(driver.prefetch(sent), array)
    hardware.engine.clear_faults()
    driver.release(sent, other)
    driver.close()
    assert hardware.host.free_bytes == len(hardware.host.data)


@pytest.fixture
def late(hardware):
    """A driver whose engine gives up after 3,000 cycles, and an offloaded tensor of 8 stripes."""
    driver = Driver(hardware, hardware.host, hardware.memory, wait=hardware.wait, timeout=60)
    sent = driver.offload(relu(2048, 5), crc=True)
    driver.registers.write("ENGINE", "TIMEOUT", 3000)
    yield driver, sent
    for channel in driver.quarantined:
        assert driver.clear_quarantine(channel)
    assert np.array_equal(driver.prefetch(driver.offload(relu(2048, 6))), relu(2048, 6))
    driver.close()


def assert_late_writes_hit_no_other_buffer(driver, hardware, free):
    """The address of a write has waited all the time, and is taken now."""
    assert driver.quarantined
    assert not driver.is_quiet
    driver.poll()
    assert driver.device.free_bytes < free
    other = driver.device.allocate(8192, 2048)
    other.data[:] = 0x55
    hardware.engine.run(70_000)
    assert (other.data == 0x55).all()
    driver.device.release(other)
    assert driver.is_quiet
    driver.poll()
    assert driver.device.free_bytes == free


@pytest.mark.parametrize("stop", ["recover", "reset"])
def test_an_aborted_job_keeps_its_memory_until_late_writes_have_come(late, hardware, stop):
    driver, sent = late
    free = driver.device.free_bytes
    hardware.engine.hold(0, "aw", 60_000)
    driver.timeout = 0
    with pytest.raises(EngineTimeoutError):
        driver.prefetch(sent)
    driver.timeout = 60
    hardware.engine.run(2000)
    (ticket,) = driver.rings[1].waiting
    assert driver.recover(1) == [] if stop == "recover" else driver.reset() == [ticket]
    if stop == "recover":
        assert ticket.completion.status == Status.ABORTED
    assert_late_writes_hit_no_other_buffer(driver, hardware, free)


def test_a_job_with_a_wrong_crc_keeps_its_memory_until_late_writes_have_come(late, hardware):
    driver, sent = late
    free = driver.device.free_bytes
    sent.stream[3] ^= 1
    hardware.engine.hold(1, "aw", 60_000)
    with pytest.raises(EngineError, match="CRC at stripe 0"):
        driver.prefetch(sent)
    assert_late_writes_hit_no_other_buffer(driver, hardware, free)


@pytest.mark.parametrize("log2", [0, 2])
def test_the_c_driver(hardware, library, c_bench, log2):
    bench = c_bench.Bench(library, log2=log2, device=hardware)
    bench.patience = 100_000
    bench.open()
    for number in range(6):
        array = relu(500 + 411 * number, number)
        status, done, stream, index, place = bench.offload(array, raw=Raw.AUTO)
        wanted = golden.offload(array, hardware.config, crc=True)
        assert (status, done.stream_bytes) == (0, wanted.bytes)
        assert np.array_equal(stream.data[: wanted.bytes], wanted.stream)
        place.data[:] = 0
        assert bench.prefetch(place, stream, wanted.bytes, index)[0] == 0
        assert place.data.tobytes() == array.tobytes()
        stream.data[40] ^= 1
        assert bench.prefetch(place, stream, wanted.bytes, index)[0] == Status.CRC
        for buffer in (stream, index, place):
            buffer.memory.release(buffer)
    assert bench.call("reset") == 0
    for buffer in bench.buffers:
        buffer.memory.release(buffer)
