"""States of a ring as software sees them: errors, HALT, RUN, LOCK, FENCE beside a failed ring."""

import numpy as np
import pytest

from cdma.engine_codes import Op, State, Status
from cdma.engine_config import EngineConfig
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.engine import DEVICE, HOST, Buffer
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import OFFLOAD, PREFETCH

RUN, ABORT, HALT, LOCK = 1, 2, 4, 8
RINGS = (OFFLOAD, PREFETCH)


def error_address(model, ring):
    return model.read("RING", "ERROR_LO", ring) | model.read("RING", "ERROR_HI", ring) << 32


def fail_completions(model, ring, responses):
    """Entries of the completion ring that cannot be written, with these responses, from the first;
    gives their addresses."""
    first = model.rings[ring].completions.address
    for entry, response in enumerate(responses):
        model.engine.fault(HOST, first + 32 * entry, 32, response=response, on="write", count=1)
    return [first + 32 * entry for entry in range(len(responses))]


@pytest.mark.parametrize("cause", ["completion", "count"])
def test_a_fence_waits_for_the_jobs_of_a_ring_in_error(model_of, cause):
    """A copy out is under way when its ring enters ERROR; the copy in reads what it writes."""
    model = model_of(device=Memory(latency=200), host=Memory(latency=200))
    size = 16 * 1024
    words = np.arange(1, size // 4 + 1, dtype=np.uint32)
    source, host = model.place_tensor(words), model.allocate(HOST, size, fill=0xEE)
    target = model.allocate(DEVICE, size, align=2048)
    fields = {"host": host.address, "row_bytes": size, "limit": size}
    copy = Descriptor(Op.COPY_OUT, device=source.address, cookie=2, **fields)
    if cause == "completion":
        fail_completions(model, OFFLOAD, [2])
        model.submit(OFFLOAD, Descriptor(Op.NOP, cookie=1), copy)
        model.until_state(OFFLOAD, State.ERROR)
    else:
        model.submit(OFFLOAD, copy)
        model.engine.run(300)
        model.write("RING", "CQ_HEAD", 99, OFFLOAD)
        assert model.state(OFFLOAD)[0] is State.ERROR
    assert model.read("RING", "STATE", OFFLOAD) >> 8 & 1, "the copy out has not ended"
    back = Descriptor(Op.COPY_IN, device=target.address, cookie=3, fence=True, **fields)
    model.submit(PREFETCH, back)
    assert model.wait(PREFETCH).status == Status.OK
    assert (host.data.view("u4") == words).all()
    assert (target.data.view("u4") == words).all()


@pytest.mark.parametrize("wait", range(0, 240, 20))
def test_a_job_that_fails_before_a_ring_runs_again_halts_it(model_of, wait):
    """RUN is written after HALTED, while another job that is to fail is under way."""
    model = model_of(host=Memory(latency=150), log2=5)
    model.write("RING", "CTRL", RUN | HALT, OFFLOAD)
    source = model.place_tensor(np.arange(1, 65, dtype=np.uint32))
    host = model.allocate(HOST, 256)
    fields = {"device": source.address, "host": host.address, "row_bytes": 256}
    good = Descriptor(Op.COPY_OUT, cookie=5, limit=256, **fields)
    bad = Descriptor(Op.OFFLOAD, cookie=9, limit=64, **fields)
    model.submit(OFFLOAD, Descriptor(15, cookie=1), good, good, bad, *[good] * 12)
    model.until_state(OFFLOAD, State.HALTED)
    if wait:
        model.engine.run(wait)
    model.write("ENGINE", "IRQ_STATUS", 0x3F)
    model.write("RING", "CTRL", RUN | HALT, OFFLOAD)
    assert model.read("RING", "SQ_HEAD", OFFLOAD) < 4, "the job has failed before RUN was written"
    model.engine.run(6000)
    found = model.collect(OFFLOAD, model.read("RING", "SQ_HEAD", OFFLOAD))
    assert found[3].status == Status.OVERFLOW
    assert model.state(OFFLOAD) == (State.HALTED, Status.OVERFLOW)
    assert model.read("ENGINE", "IRQ_STATUS") >> 2 & 1


@pytest.mark.parametrize("ring", RINGS)
def test_run_reads_one_as_soon_as_it_is_written(model_of, ring):
    """So HALT and LOCK can be set by a write of what was read."""
    model = model_of()
    model.write("RING", "CTRL", 0, ring)
    model.until_state(ring, State.STOPPED)
    model.write("RING", "CTRL", RUN, ring)
    found = model.read("RING", "CTRL", ring)
    assert found == RUN
    model.write("RING", "CTRL", found | HALT, ring)
    model.until_state(ring, State.RUNNING)
    assert model.read("RING", "CTRL", ring) == RUN | HALT


@pytest.mark.parametrize("ring", RINGS)
def test_the_first_error_of_a_ring_stays(model_of, ring):
    model = model_of(host=Memory(latency=100))
    first, _ = fail_completions(model, ring, [3, 2])
    model.submit(ring, *(Descriptor(Op.NOP, cookie=k) for k in range(4)))
    model.engine.run(2000)
    assert model.read("RING", "SQ_HEAD", ring) == 4
    for _ in range(2):
        assert model.state(ring) == (State.ERROR, Status.HOST_DECERR)
        assert error_address(model, ring) == first
        model.write("RING", "CQ_HEAD", 99, ring)  # an error, too


def test_registers_after_a_reset_by_software(model_of):
    """All have the values of the table, those that errors have changed too."""
    model = model_of()
    for ring in RINGS:
        fail_completions(model, ring, [2])
        model.submit(ring, Descriptor(Op.NOP))
        model.until_state(ring, State.ERROR)
        assert error_address(model, ring)
        model.write("RING", "CTRL", ABORT, ring)
        model.until_state(ring, State.STOPPED)
        for name in ("ARENA_BASE_LO", "ARENA_LIMIT_LO", "ARENA_POINTER_LO"):
            model.write("RING", name, 0x40, ring)
        model.write("RING", "ATTR", 0x7FF, ring)
    for channel in range(model.config.channels):
        for name, value in (("RATE", 77), ("QOS", 3), ("ENABLE", 0)):
            model.write("CHANNEL", name, value, channel)
    for name, value in (("IRQ_ENABLE", 0x3F), ("IRQ_COALESCE", 0x505), ("TIMEOUT", 12345)):
        model.write("ENGINE", name, value)
    model.clear()
    for block, instance, register in model.map.addresses().values():
        found = model.read(block.name, register.name, instance)
        assert found == register.reset, (block.name, register.name, instance)


def test_locked_attributes_stay(model_of):
    """Who may not open the windows may not choose other attributes of AXI either."""
    model = model_of()
    model.write("RING", "CTRL", 0, OFFLOAD)
    model.until_state(OFFLOAD, State.STOPPED)
    model.write("RING", "ATTR", 0x3105, OFFLOAD)
    model.write("RING", "CTRL", LOCK, OFFLOAD)
    address = model.map.block("RING").address("ATTR", OFFLOAD)
    assert model.engine.access(address, 0).response == 2
    model.clear()
    assert model.read("RING", "ATTR", OFFLOAD) == 0x3105
    assert model.read("RING", "ATTR", PREFETCH) == 0x2000


def test_no_ring_starts_during_a_reset(model_of):
    """A slow read keeps the reset from ending; the other ring is idle and does not run either."""
    model = model_of(device=Memory(latency=3000))
    source, host = model.place_tensor(np.ones(256, dtype="u4")), model.allocate(HOST, 1024)
    fields = {"device": source.address, "host": host.address, "row_bytes": 1024, "limit": 1024}
    model.submit(OFFLOAD, Descriptor(Op.COPY_OUT, **fields))
    model.engine.run(500)
    model.write("ENGINE", "CTRL", 1)
    model.engine.run(100)
    for ring in RINGS:
        model.write("RING", "CTRL", RUN, ring)
    model.engine.run(100)
    assert model.state(PREFETCH)[0] is State.STOPPED
    assert model.read("ENGINE", "CTRL") == 1
    model.engine.run(5000)
    assert model.read("ENGINE", "CTRL") == 0
    assert model.state(OFFLOAD)[0] is model.state(PREFETCH)[0] is State.STOPPED


@pytest.mark.parametrize("name", ["SQ_TAIL", "CQ_HEAD"])
def test_a_wrong_count_during_a_reset_does_not_hold_it_up(model_of, name):
    """One ring has stopped, the other has a job that ends late."""
    model = model_of(device=Memory(latency=900))
    source, host = model.place_tensor(np.ones(256, np.uint32)), model.allocate(HOST, 1024)
    fields = {"device": source.address, "host": host.address, "row_bytes": 1024, "limit": 1024}
    model.submit(OFFLOAD, Descriptor(Op.COPY_OUT, **fields))
    model.engine.run(200)
    model.write("ENGINE", "CTRL", 1)
    model.engine.run(20)
    assert model.state(OFFLOAD)[0] is State.ABORTING
    model.write("RING", name, 99, PREFETCH)
    assert model.state(PREFETCH)[0] is State.STOPPED
    model.engine.run(10_000)
    assert model.read("ENGINE", "CTRL") == 0
    assert [model.state(ring) for ring in RINGS] == 2 * [(State.STOPPED, Status.OK)]
    assert model.read("RING", name, PREFETCH) == 0


@pytest.mark.parametrize("cause", ["phase", "read"])
@pytest.mark.parametrize("ring", RINGS)
def test_a_descriptor_that_cannot_be_trusted_halts_a_ring_that_was_started_again(
    model_of, ring, cause
):
    """RUN is cleared and set between its start and its end, which waits for a job before it."""
    model = model_of(device=Memory(latency=900), log2=4)
    words = model.place_tensor(np.ones(256, np.uint32))
    host = model.allocate(HOST, 1024)
    fields = {"device": words.address, "host": host.address, "row_bytes": 1024, "limit": 1024}
    at = model.rings[ring].descriptors.address + 64
    model.place(ring, Descriptor((Op.COPY_OUT, Op.COPY_IN)[ring], cookie=1, **fields))
    model.place(ring, Descriptor(Op.NOP, cookie=2), flip=cause == "phase")
    if cause == "read":
        model.engine.fault(HOST, at, 64, response=3, on="read", count=1)
    model.place(ring, Descriptor(Op.NOP, cookie=3))
    model.doorbell(ring)
    model.engine.run(300)
    assert model.read("RING", "SQ_HEAD", ring) == 0
    model.write("RING", "CTRL", 0, ring)
    model.write("RING", "CTRL", RUN, ring)
    model.engine.run(4000)
    status = Status.BAD_DESCRIPTOR if cause == "phase" else Status.HOST_DECERR
    assert model.state(ring) == (State.HALTED, status)
    assert model.read("ENGINE", "IRQ_STATUS") >> 2 + ring & 1
    found = model.collect(ring, model.read("RING", "SQ_HEAD", ring))
    assert [(each.cookie, each.status) for each in found] == [(1, Status.OK), (0, status)]
    # What follows runs when software asks for it, and only then.
    model.engine.run(1000)
    assert model.read("RING", "SQ_HEAD", ring) == 2
    model.write("RING", "CTRL", RUN, ring)
    assert model.wait(ring).cookie == 3
    assert model.state(ring)[0] is State.RUNNING


@pytest.mark.parametrize("power", [38, 62])
def test_software_writes_the_arena_pointer_behind_the_last_carry(model_with, power):
    """The stream crosses a power of two, and the pointer is written as soon as it may be."""
    config = EngineConfig(
        channels=1,
        lanes=2,
        address_bits=64,
        stripe_bytes=1024,
        link_bytes=64,
        latency=20,
        link_fifo_bytes=2048,
    )
    model = model_with(config, Memory(latency=150), Memory(latency=0))
    first = (1 << power) - 64
    source = model.place_tensor(np.ones(32, config.format.dtype))
    model.engine.add(Buffer(HOST, first, np.zeros(4096, np.uint8)))
    arena = {"ARENA_BASE": first, "ARENA_LIMIT": first + 4096, "ARENA_POINTER": first}
    append = Descriptor(
        Op.OFFLOAD, device=source.address, row_bytes=128, limit=4096, append=True, word_bytes=4
    )
    for wait in range(26):
        model.write("RING", "CTRL", 0)
        model.until_state(OFFLOAD, State.STOPPED)
        model.program(OFFLOAD, **arena)
        model.write("RING", "CTRL", RUN)
        model.until_state(OFFLOAD, State.RUNNING)
        model.submit(OFFLOAD, append)
        model.engine.run(60)
        model.write("RING", "CTRL", 0)
        model.engine.run(wait)
        # Refused while the ring is active.
        assert any(model.write("RING", "ARENA_POINTER_HI", 0x1000) == 0 for _ in range(500))
        assert model.read("RING", "STATE") >> 8 & 1 == 0
        model.engine.run(40)
        assert model.read("RING", "ARENA_POINTER_HI") == 0x1000
        assert model.collect(OFFLOAD, 1)[0].status == Status.OK
