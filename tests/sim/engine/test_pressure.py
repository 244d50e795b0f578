"""Back-pressure: long stalls, answers out of order, a slow channel, a stopped link."""

import pytest

from cdma.engine_codes import Op, Status
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine import pins
from cdma.sim.engine.memory import Memory

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("channel", pins.CHANNELS)
@pytest.mark.parametrize("port", [0, 1, 2])
def test_a_channel_that_stalls_for_long(model_of, small, tensor, offload, prefetch, port, channel):
    """Nothing moves for 10,000 cycles, in the middle of an offload and of a prefetch."""
    if port > small.channels:
        pytest.skip("the engine has no such port")
    words = tensor(small, 30_000)
    stalls = {channel: "paused:10000,300"}
    memory = Memory(latency=30, stalls=stalls)
    model = model_of(
        device=memory if port < small.channels else Memory(latency=30),
        host=memory if port == small.channels else Memory(latency=30),
    )
    job = offload(model, words)
    model.engine.hold(port, channel, 10_000)
    prefetch(model, job)
    model.engine.hold(port, channel, 10_000)
    prefetch(model, offload(model, words))


@pytest.mark.parametrize("seed", range(3))
def test_answers_out_of_order(model_of, small, tensor, offload, prefetch, seed):
    memory = Memory(latency=20, jitter=400, tail=0.05, tail_latency=1000, reorder=1.0)
    model = model_of(device=memory, host=memory, seed=seed)
    job = offload(model, tensor(small, 20_000), "auto", crc=True)
    prefetch(model, job, crc=True)


def test_one_slow_channel(model_of, small, tensor, offload, prefetch):
    """One channel gives a beat in a hundred cycles: the result is the same."""
    slow = Memory(latency=30, bandwidth=small.beat_bytes / 100)
    for channel in range(small.channels):
        device = [Memory(latency=30) for _ in range(small.channels)]
        device[channel] = slow
        model, words = model_of(device=device), tensor(small, 8 * 1024)
        prefetch(model, offload(model, words))


@pytest.mark.parametrize("density", [0, 1])
def test_link_stopped(model_of, small, tensor, offload, prefetch, density):
    """All-dense and all-zero data pile up while the link stands still."""
    model, words = model_of(), tensor(small, 60_000, density)
    model.engine.hold(model.engine.link, "w", 9000)
    job = offload(model, words)
    model.engine.hold(model.engine.link, "r", 9000)
    prefetch(model, job)


@pytest.mark.parametrize("order", ["address-first", "data-first"])
@pytest.mark.parametrize("outstanding", [1, 2])
def test_memories_that_take_few_bursts(
    model_of, small, tensor, offload, prefetch, order, outstanding
):
    memory = Memory(latency=10, outstanding=outstanding, order=order)
    model = model_of(device=memory, host=memory)
    prefetch(model, offload(model, tensor(small, 9000)))


def bounds_the_rate(model, nbytes, play):
    """RATE bounds the bytes of a channel; 0 does not. ``play`` gives a job of ``nbytes``."""
    free = play().cycles
    for channel in range(model.config.channels):
        model.write("CHANNEL", "RATE", 1024, channel)  # a byte a cycle
    slow = play().cycles
    assert slow >= nbytes // model.config.channels * 0.9 > 2 * free
    for channel in range(model.config.channels):
        model.write("CHANNEL", "RATE", 0, channel)
    assert play().cycles < 1.2 * free


def test_rate(model_of, small, tensor, offload):
    model, words = model_of(), tensor(small, 64 * 1024, 0.1)
    bounds_the_rate(model, words.nbytes, lambda: offload(model, words))


def test_rate_of_a_prefetch(model_of, small, tensor, offload, prefetch):
    model, words = model_of(), tensor(small, 32 * 1024, 0.1)
    job = offload(model, words)
    bounds_the_rate(model, words.nbytes, lambda: prefetch(model, job))


def test_a_disabled_channel_waits(model_of, small, tensor, offload):
    model, words = model_of(), tensor(small, 8 * 1024)
    last = small.channels - 1
    model.write("CHANNEL", "ENABLE", 0, last)
    tensor_buffer = model.place_tensor(words)
    host = model.allocate(1, small.bound(words.nbytes))
    fields = {"device": tensor_buffer.address, "host": host.address, "limit": host.data.size}
    model.submit(0, Descriptor(Op.OFFLOAD, row_bytes=words.nbytes, **fields))
    model.engine.run(5000)
    assert model.peek(0) is None
    assert model.engine.counts(last)["reads"] == 0
    model.write("CHANNEL", "ENABLE", 1, last)
    assert model.collect(0, 1)[0].status == Status.OK


def test_counters(model_of, small, tensor):
    """Counters after a job say what went through."""
    model, words = model_of(), tensor(small, 16 * 1024, 0.3)
    job = model.offload(words)
    beats, channels = words.nbytes // small.beat_bytes, range(small.channels)
    assert sum(job.counters[f"raw_beats[{c}]"] for c in channels) == beats
    bursts = sum(job.counters[f"bursts[{c}]"] for c in channels)
    assert 0 < bursts <= words.nbytes // small.burst_bytes
    latency = sum(job.counters[f"latency_sum[{c}]"] for c in channels)
    assert latency >= 30 * bursts
    assert job.counters["errors"] == 0
    assert job.counters["cycles"] >= job.cycles


def test_counters_say_what_waits(model_of, small, tensor, offload):
    """Each STALL counter grows with its cause, and stays with that of another one."""
    words = tensor(small, 16 * 1024, 0.1)

    def stalls(**causes):
        stalls = {"ar": "bernoulli:0.9"} if "address" in causes else {}
        device = Memory(latency=causes.get("credit", 5), stalls=stalls)
        model = model_of(device=device, host=Memory(bandwidth=causes.get("link", 0)))
        for channel in range(small.channels):
            model.write("CHANNEL", "RATE", causes.get("rate", 0), channel)
        counters = model.offload(words).counters
        names = ("credit", "rate", "address", "link")
        channels = range(small.channels)
        return {name: sum(counters[f"stall_{name}[{c}]"] for c in channels) for name in names}

    free = stalls()
    assert free["rate"] == 0
    for name, value in (("rate", 1024), ("address", 1), ("credit", 2000), ("link", 0.5)):
        found = stalls(**{name: value})
        assert found[name] > free[name] + 200, (name, found, free)
        others = {other for other in free if found[other] > free[other] + 1000} - {name}
        assert others == set(), (name, found, free)
