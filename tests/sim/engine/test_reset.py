"""A reset in the middle of jobs: silence, registers as after power-up, the same jobs behind it."""

import re

import numpy as np
import pytest

from cdma import designs
from cdma.engine_codes import Op, Status
from cdma.errors import SimulationError
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Descriptor
from cdma.hdl.engine.registers import register_map
from cdma.sim.cocotb.ports import Violation
from cdma.sim.engine.engine import DEVICE, HOST, Engine
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import OFFLOAD, PREFETCH, EngineModel
from cdma.verify.mutation.engine import jobs
from cdma.verify.mutation.engine.campaign import small_engine

CONFIG = small_engine()
#: Cycles in which all jobs of :func:`begin` end, about.
BUSY = 1500


def started(verilog=None, power_up=1):
    """An engine behind its first reset."""
    memory = Memory(latency=4)
    return Engine(CONFIG, verilog or designs.engine(CONFIG), memory, memory, power_up=power_up)


def registers(engine):
    """Response and value of each register."""
    found = {}
    for block in register_map(CONFIG).blocks:
        for instance in range(block.count):
            for register in block.registers:
                access = engine.access(block.address(register.name, instance))
                found[block.name, register.name, instance] = access.response, access.data
    return found


def observed(engine):
    """What software sees of jobs of each kind, and then each burst of many jobs, with its cycle.

    Memories let software see what is written early or late, at random: when it goes on differs.
    """
    *seen, state = jobs.few_jobs(EngineModel(CONFIG, seed=3, log2=0, engine=engine))
    seen = [each for each in seen if not isinstance(each, int)]
    for counters in (each for each in seen if isinstance(each, dict)):
        counters.pop("cycles", None)
    state = [each for each in state if each[1] not in ("CYCLES_LO", "IRQ_STATUS")]
    reset(engine, 1)
    for port in engine.ports.values():
        engine.start_log(port)
    start = engine.cycle
    begin(engine, 99)
    engine.run(2 * BUSY)
    logs = [engine.log(port).copy() for port in engine.ports.values()]
    for log in logs:
        assert len(log) > 10
        log["cycle"] -= start
    return [*seen, state, *(log.tobytes() for log in logs)]


def begin(engine, seed):
    """Jobs of both rings at once, some of which meet an error, and a snapshot of the counters."""
    rng = np.random.default_rng(seed)
    model = EngineModel(CONFIG, seed=seed, log2=2, engine=engine)
    model.write("ENGINE", "IRQ_ENABLE", 0x3F)
    for number in range(3):
        count = int(rng.integers(1, 4 * CONFIG.stripe_words))
        words = (rng.integers(1, 9, count) * (rng.random(count) < 0.6)).astype(np.uint32)
        made = golden.offload(words, CONFIG, ("never", "auto", "always")[number])
        given = {"row_bytes": words.nbytes, "with_index": True, "interrupt": True}
        tensor = model.place_tensor(words)
        host, index = model.allocate(HOST, CONFIG.bound(words.nbytes)), made.index.size
        out = {"device": tensor.address, "host": host.address, "limit": host.data.size}
        out["index"] = model.allocate(HOST, index).address
        model.place(OFFLOAD, Descriptor(Op.OFFLOAD, **out, **given))
        target = model.allocate(DEVICE, words.nbytes, align=2 * CONFIG.stripe_bytes)
        stream, entries = model.allocate(HOST, made.stream.size), model.allocate(HOST, index)
        stream.data[:], entries.data[:] = made.stream, made.index
        back = {"device": target.address, "host": stream.address, "limit": made.stream.size}
        back["index"] = entries.address
        model.place(PREFETCH, Descriptor(Op.PREFETCH, **back, **given))
        if number == 1 and rng.random() < 0.5:
            place = (tensor, target, stream, host)[int(rng.integers(4))]
            engine.fault(place.space, place.address, 8, response=2)
    model.doorbell(OFFLOAD)
    model.doorbell(PREFETCH)
    if rng.random() < 0.3:
        model.write("ENGINE", "SNAPSHOT", 1)


def reset(engine, cycles):
    """A reset. Behind it, no port begins anything by itself."""
    for port in engine.ports.values():
        engine.start_log(port)
    engine.reset(cycles)
    for port in engine.ports.values():
        engine.log(port)
    assert engine.irq == 0
    engine.run(150)
    assert engine.irq == 0
    for name, port in engine.ports.items():
        assert len(engine.log(port)) == 0, f"{name} begins a burst without a job"
    forget(engine)


def forget(engine):
    """No buffers and no faults."""
    engine.clear_faults()
    for buffer in list(engine._buffers.values()):
        engine.remove(buffer)


def assert_resets(waits, verilog=None):
    """A reset so many cycles after the doorbells: all is as after power-up."""
    first = registers(started())
    engine = started()
    reset(engine, 1)
    expected = observed(engine)
    engine = started(verilog)
    for number, wait in enumerate(waits):
        begin(engine, number)
        engine.run(wait)
        reset(engine, 1 + number % 3)
        assert registers(engine) == first, f"reset after {wait} cycles"
        reset(engine, 1)
        assert observed(engine) == expected, f"reset after {wait} cycles"
        reset(engine, 1)


@pytest.mark.slow
def test_a_reset_in_the_middle_of_jobs_leaves_nothing_behind():
    rng = np.random.default_rng(6)
    assert_resets(int(wait) for wait in rng.integers(0, BUSY, 60))


@pytest.mark.slow
@pytest.mark.parametrize("module", ["front_rings_counts", "link_order", "data_prefetch_table"])
def test_registers_that_lost_their_reset_are_found(module):
    text = designs.engine(CONFIG)
    at = text.index(f"module cdma_engine_{module}(")
    end = text.index("endmodule", at)
    spoiled, count = re.subn(r"rst \? \d+'h0+ : ", "", text[at:end])
    assert count
    with pytest.raises((AssertionError, SimulationError, Violation)):
        assert_resets(range(20, BUSY, 90), text[:at] + spoiled + text[end:])


def reset_values(map_):
    """What the register table says that each register is after a reset."""
    return {
        (block.name, register.name, instance): (0, register.reset)
        for block, instance, register in map_.addresses().values()
    }


def test_registers_right_behind_a_reset_have_their_reset_values():
    """Also counters, in a memory that powers up at any value."""
    for seed in range(1, 4):
        engine = started(power_up=seed)
        assert registers(engine) == reset_values(register_map(CONFIG))
        begin(engine, seed)
        engine.run(BUSY)
        engine.reset(1)
        assert registers(engine) == reset_values(register_map(CONFIG))
        forget(engine)


def test_counters_right_behind_a_reset_by_software_are_zero():
    """One that comes at any time of a snapshot, after another one."""
    engine = started()
    for wait in range(0, 60, 7):
        model = EngineModel(CONFIG, engine=engine)
        model.offload(np.arange(1, 65, dtype=np.uint32))
        assert model.counters()["raw_beats[0]"] > 0
        model.write("ENGINE", "SNAPSHOT", 1)
        engine.run(wait)
        model.write("ENGINE", "CTRL", 1)
        for _ in range(100):
            if not model.read("ENGINE", "CTRL"):
                break
        found = registers(engine)
        assert found["ENGINE", "CTRL", 0] == (0, 0)
        counters = {name: value for name, value in found.items() if "COUNTERS" in name[0]}
        assert set(counters.values()) == {(0, 0)}
        assert found["ENGINE", "SNAPSHOT", 0] == (0, 0)
        forget(engine)


@pytest.mark.parametrize("cycles", [1, 2])
def test_a_timeout_from_before_a_reset_does_not_count(small_zvc, cycles):
    """The first address waits for longer than the TIMEOUT that software wrote before the reset."""
    memory = Memory(latency=4)
    engine = Engine(small_zvc, designs.engine(small_zvc), memory, memory)
    EngineModel(small_zvc, engine=engine).write("ENGINE", "TIMEOUT", 8)
    reset(engine, cycles)
    model = EngineModel(small_zvc, engine=engine)
    assert model.read("ENGINE", "TIMEOUT") == 1 << 20
    engine.hold(engine.link, "ar", 2000)
    assert model.offload(np.arange(1, 65, dtype=np.uint32)).status is Status.OK
