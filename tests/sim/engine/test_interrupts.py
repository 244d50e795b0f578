"""Interrupts: level, coalescing, and events in the cycle of their clearing."""

import pytest

from cdma.engine_codes import Op
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import OFFLOAD, PREFETCH


def nops(number, **fields):
    return [Descriptor(Op.NOP, cookie=k, **fields) for k in range(number)]


def test_interrupts(model_of):
    model = model_of()
    model.write("ENGINE", "IRQ_ENABLE", 0b1111)
    model.submit(OFFLOAD, *nops(2))
    model.collect(OFFLOAD, 2)
    assert not model.engine.irq, "no descriptor asked for an interrupt"
    model.submit(OFFLOAD, *nops(1, interrupt=True))
    assert model.engine.run(5000, irq=True)
    assert model.peek(OFFLOAD) is not None, "the interrupt comes after its completion"
    model.collect(OFFLOAD, 1)
    assert model.read("ENGINE", "IRQ_STATUS") == 1
    model.write("ENGINE", "IRQ_STATUS", 1)
    model.engine.run(4)
    assert not model.engine.irq
    model.submit(PREFETCH, Descriptor(15))
    assert model.engine.run(5000, irq=True)
    assert model.read("ENGINE", "IRQ_STATUS") == 2, "a bad descriptor needs no interrupt bit"


@pytest.mark.slow
def test_coalescing(model_of):
    model = model_of(host=Memory(latency=5))
    model.write("ENGINE", "IRQ_ENABLE", 1)
    model.write("ENGINE", "IRQ_COALESCE", 4 | 30_000 << 8)
    model.submit(OFFLOAD, *nops(4, interrupt=True))
    assert model.engine.run(5000, irq=True)
    assert len([model.wait(OFFLOAD) for _ in range(4)]) == 4
    model.acknowledge(OFFLOAD)
    model.write("ENGINE", "IRQ_STATUS", 1)
    model.submit(OFFLOAD, *nops(3, interrupt=True))
    assert not model.engine.run(20_000, irq=True), "three of four, and time is not up"
    assert model.engine.run(20_000, irq=True), "time is up"
    model.write("ENGINE", "IRQ_STATUS", 1)
    # Software reads one of three: the timer starts again.
    model.wait(OFFLOAD)
    model.acknowledge(OFFLOAD)
    assert not model.engine.run(25_000, irq=True)
    assert model.engine.run(10_000, irq=True)


def test_an_event_in_the_cycle_of_its_clearing(model_of):
    """W1C in every cycle around an interrupt: the bit is cleared only behind its event.

    The event sets the bit at the end of its cycle, and the bit sets irq at the end of the next one.
    A write clears at the end of the cycle behind its handshake.
    """

    def began():
        model = model_of(host=Memory(latency=0))
        model.write("ENGINE", "IRQ_ENABLE", 1)
        model.submit(OFFLOAD, *nops(1, interrupt=True))
        return model

    model = began()
    start = model.engine.cycle
    assert model.engine.run(5000, irq=True)
    event = model.engine.cycle - 2
    seen = {}
    for wait in range(event - start + 10):
        model = began()
        if wait:
            model.engine.run(wait)
        address = model.map.block("ENGINE").address("IRQ_STATUS")
        clearing = model.engine.access(address, 1).taken + 1
        model.engine.run(100)
        assert model.peek(OFFLOAD) is not None
        seen[clearing - event] = model.read("ENGINE", "IRQ_STATUS") & 1
    assert set(seen) >= set(range(-5, 6))
    assert seen == {distance: distance <= 0 for distance in seen}


@pytest.mark.parametrize("ring", [OFFLOAD, PREFETCH])
def test_what_does_not_wait_for_others(model_of, ring):
    """A status other than OK fires at once, as does each completion with TIMER 0."""
    model = model_of(host=Memory(latency=5))
    model.write("ENGINE", "IRQ_ENABLE", 3)
    model.write("ENGINE", "IRQ_COALESCE", 200 | 100_000 << 8)
    model.submit(ring, *nops(2, interrupt=True))
    assert not model.engine.run(2000, irq=True)
    model.submit(ring, Descriptor(15))
    assert model.engine.run(500, irq=True)
    assert model.read("ENGINE", "IRQ_STATUS") == 1 << ring
    model.collect(ring, 3)
    model.write("ENGINE", "IRQ_STATUS", 3)
    assert not model.engine.run(150_000, irq=True), "what has fired is not counted any more"
    for coalesce in (200, 0, 1, 1 | 100_000 << 8, 100_000 << 8):
        model.write("ENGINE", "IRQ_COALESCE", coalesce)
        for _ in range(3):
            model.submit(ring, *nops(1, interrupt=True))
            assert model.engine.run(500, irq=True), hex(coalesce)
            model.collect(ring, 1)
            model.write("ENGINE", "IRQ_STATUS", 3)


@pytest.mark.slow
def test_rings_are_counted_apart(model_of):
    """Three of four in each ring: neither fires before its own fourth."""
    model = model_of(host=Memory(latency=5))
    model.write("ENGINE", "IRQ_ENABLE", 3)
    model.write("ENGINE", "IRQ_COALESCE", 4 | 1_000_000 << 8)
    for ring in (OFFLOAD, PREFETCH):
        model.submit(ring, *nops(3, interrupt=True))
        model.submit(ring, *nops(2))
    assert not model.engine.run(5000, irq=True)
    for ring in (OFFLOAD, PREFETCH):
        model.submit(ring, *nops(1, interrupt=True))
        assert model.engine.run(500, irq=True)
        assert model.read("ENGINE", "IRQ_STATUS") == 1 << ring
        model.write("ENGINE", "IRQ_STATUS", 3)
        model.collect(ring, 6)


@pytest.mark.slow
def test_a_write_of_coalescing_counts_anew(model_of):
    """What waits is counted by the new numbers, from the write on."""
    model = model_of(host=Memory(latency=5))
    model.write("ENGINE", "IRQ_ENABLE", 1)
    model.write("ENGINE", "IRQ_COALESCE", 4 | 20_000 << 8)
    model.submit(OFFLOAD, *nops(3, interrupt=True))
    assert not model.engine.run(15_000, irq=True)
    model.write("ENGINE", "IRQ_COALESCE", 4 | 20_001 << 8)
    assert not model.engine.run(19_900, irq=True)
    assert model.engine.run(200, irq=True)
