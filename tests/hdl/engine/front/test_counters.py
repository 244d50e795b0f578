"""The counters of the engine and of its channels, and their snapshot."""

import pytest

from cdma.engine_config import EngineConfig
from cdma.hdl.engine.front.counters import Counters
from cdma.hdl.engine.job import BEATS
from cdma.hdl.engine.registers import register_map

STALLS = ("credit", "rate", "address", "turn", "link")


async def word(ctx, dut, address):
    """A counter's 64 bits."""
    found = 0
    for half in range(2):
        ctx.set(dut.address, address + 4 * half)
        ctx.set(dut.read, 1)
        await ctx.tick()
        ctx.set(dut.read, 0)
        assert ctx.get(dut.done)
        found |= ctx.get(dut.data) << 32 * half
    return found


def expected(name, channel, history, first, last):
    """A counter's value of the cycles from ``first`` on and before ``last``."""
    if name == "ERRORS":
        return sum(error for error, _ in history[first:last])
    # Events of channels count a cycle later.
    seen = [events[channel] for _, events in history[max(first - 1, 0) : last - 1]]
    latencies = [each["latency"] for each in seen if each["latency_valid"]]
    if name == "LATENCY_SUM":
        return sum(latencies)
    if name == "LATENCY_MAX":
        return max(latencies, default=0)
    if name == "BURSTS":
        return len(latencies)
    return sum(each[name.removeprefix("STALL_").lower()] for each in seen)


@pytest.mark.parametrize("channels", [1, 2, 8])
def test_a_snapshot_is_the_state_of_one_cycle(simulate, rng, channels):
    map_ = register_map(EngineConfig(channels=channels))
    dut = Counters(map_)
    addresses = {
        (register.name.removesuffix("_LO"), instance): address
        for address, (block, instance, register) in map_.addresses().items()
        if block.name in ("COUNTERS", "CHANNEL_COUNTERS") and register.name.endswith("_LO")
    }

    async def bench(ctx):
        history, ports = [], [getattr(dut, f"events{c}") for c in range(channels)]

        async def cycle(quiet=False, rate=0.5):
            """One cycle with random events."""
            error, events = int(not quiet and rng.random() < 0.1), []
            for port in ports:
                found = {
                    name: int(not quiet and rng.random() < rate)
                    for name in (*STALLS, "latency_valid")
                }
                # Both directions of a channel can have a beat.
                for name in BEATS:
                    found[name] = sum(int(not quiet and rng.random() < rate) for _ in range(2))
                found["latency"] = int(rng.choice([0xFFFF, rng.integers(1 << 16), 3]))
                for name, value in found.items():
                    ctx.set(getattr(port, name), value)
                events.append(found)
            ctx.set(dut.error, error)
            history.append((error, events))
            await ctx.tick()

        base, ends = 0, set()
        for turn in range(12):
            for _ in range(int(rng.integers(3 * dut.frame))):
                await cycle(rate=float(rng.choice([1.0, 0.5, 0.02])))
            if turn in (4, 7):
                ctx.set(dut.clear, 1)
                await cycle(quiet=True)
                ctx.set(dut.clear, 0)
                base = len(history)
            ctx.set(dut.take, 1)
            taken = len(history)
            await cycle()
            ctx.set(dut.take, 0)
            assert ctx.get(dut.busy)
            while ctx.get(dut.busy):
                await cycle()
                assert len(history) < taken + 2 * dut.frame + 4
            await cycle(quiet=True)
            last = base + await word(ctx, dut, addresses["CYCLES", 0])
            assert taken <= last <= taken + dut.frame + 1
            ends.add(last - base)
            for (name, channel), address in addresses.items():
                if name != "CYCLES":
                    value = expected(name, channel, history, base, last)
                    assert await word(ctx, dut, address) == value, (turn, name, channel)
            # Nothing happens while words are read.
            idle = dict.fromkeys((*BEATS, *STALLS, "latency_valid"), 0)
            reads = 2 * len(addresses)
            history += [(0, [{**idle, "latency": 0}] * channels)] * reads
        assert len(ends) > 6

    simulate(dut, bench)
