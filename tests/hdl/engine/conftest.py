"""A bench for the data path on Amaranth's own simulator: memories behind the clients' ports."""

from collections import deque
from dataclasses import dataclass, field

import numpy as np
import pytest
from amaranth.hdl import ClockDomain, Module
from amaranth.sim import Simulator

from cdma.engine_config import EngineConfig


class Memory:
    """Bytes by address, and which of them may be touched."""

    def __init__(self):
        self.regions = []  # (first address, bytes, may be written)
        self.errors = {}  # address of a beat: response
        self.reads, self.writes = [], []  # bursts (address, beats)

    def add(self, address: int, content, *, writable: bool = False) -> np.ndarray:
        """Place bytes at an address; gives the array that holds them."""
        array = np.array(np.frombuffer(bytes(content), np.uint8))
        self.regions.append((address, array, writable))
        return array

    def find(self, address: int, size: int, *, write: bool):
        """Array and offset of the bytes at ``address``."""
        for first, array, writable in self.regions:
            inside = first <= address and address + size <= first + len(array)
            if inside and (writable or not write):
                return array, address - first
        raise AssertionError(f"{'write' if write else 'read'} of {size} at {address:#x}")

    def read_beat(self, address: int, size: int) -> int:
        """A beat; at least one of its bytes must be in a region."""
        value, touched = 0, False
        for first, array, _ in self.regions:
            low, high = max(first, address), min(first + len(array), address + size)
            if low < high:
                touched = True
                part = array[low - first : high - first].tobytes()
                value |= int.from_bytes(part, "little") << 8 * (low - address)
        assert touched, f"read of a beat at {address:#x}"
        return value

    def write_beat(self, address: int, data: int, strobe: int, size: int) -> None:
        content = data.to_bytes(size, "little")
        assert strobe, f"write of no byte at {address:#x}"
        for k in range(size):
            if strobe >> k & 1:
                array, offset = self.find(address + k, 1, write=True)
                array[offset] = content[k]


@dataclass
class Timing:
    """How a memory answers: latency in cycles, and how often each channel is willing."""

    latency: int = 4
    willing: float = 1.0
    stuck: set = field(default_factory=set)  # channels that never answer


class ReadServer:
    """Serve a ReadClient: bursts in order."""

    def __init__(self, port, memory, size, timing, rng):
        self.port, self.memory, self.size, self.timing, self.rng = port, memory, size, timing, rng
        self.queue, self.burst = deque(), None
        self.offered = None
        self.signals = [port.ar.valid, port.ar.ready, port.ar.payload, port.r.valid, port.r.ready]

    def drive(self, ctx, cycle):
        timing = self.timing
        ctx.set(self.port.ar.ready, bool(self.rng.random() < timing.willing))
        if self.offered is None and self.queue and self.queue[0][0] <= cycle:
            if self.rng.random() < timing.willing and "r" not in timing.stuck:
                self.offered = self.queue.popleft()
                _, address, last = self.offered
                ctx.set(
                    self.port.r.payload,
                    {
                        "data": self.memory.read_beat(address, self.size),
                        "resp": self.memory.errors.get(address, 0),
                        "last": last,
                    },
                )
        ctx.set(self.port.r.valid, self.offered is not None)

    def observe(self, cycle, ar_valid, ar_ready, ar, r_valid, r_ready):
        if r_valid and r_ready:
            self.offered = None
        if ar_valid and ar_ready:
            check_burst(ar, self.size)
            self.memory.reads.append((ar.address, ar.beats))
            for k in range(ar.beats):
                address = ar.address + k * self.size
                self.queue.append((cycle + self.timing.latency, address, k == ar.beats - 1))


class WriteServer:
    """Serve a WriteClient: the response follows the last beat by the latency."""

    def __init__(self, port, memory, size, timing, rng):
        self.port, self.memory, self.size, self.timing, self.rng = port, memory, size, timing, rng
        self.bursts, self.responses = deque(), deque()
        self.offered = None
        self.signals = [
            *(port.aw.valid, port.aw.ready, port.aw.payload),
            *(port.w.valid, port.w.ready, port.w.payload),
            *(port.b.valid, port.b.ready),
        ]
        self.beats = deque()

    def drive(self, ctx, cycle):
        timing = self.timing
        ctx.set(
            self.port.aw.ready,
            bool(self.rng.random() < timing.willing) and "aw" not in timing.stuck,
        )
        ctx.set(self.port.w.ready, bool(self.rng.random() < timing.willing))
        if self.offered is None and self.responses and self.responses[0][0] <= cycle:
            if "b" not in timing.stuck:
                self.offered = self.responses.popleft()
                ctx.set(self.port.b.payload, self.offered[1])
        ctx.set(self.port.b.valid, self.offered is not None)

    def observe(self, cycle, aw_valid, aw_ready, aw, w_valid, w_ready, w, b_valid, b_ready):
        if b_valid:
            assert b_ready
            self.offered = None
        if aw_valid and aw_ready:
            check_burst(aw, self.size)
            self.memory.writes.append((aw.address, aw.beats))
            self.bursts.append([aw.address, aw.beats, 0])
        if w_valid and w_ready:
            self.beats.append((w.data, w.strobe, w.last))
        while self.bursts and self.beats:
            burst = self.bursts[0]
            address, beats, resp = burst
            data, strobe, last = self.beats.popleft()
            assert last == (beats == 1), f"last in burst at {address:#x}"
            self.memory.write_beat(address, data, strobe, self.size)
            burst[0], burst[1] = address + self.size, beats - 1
            burst[2] = max(resp, self.memory.errors.get(address, 0))
            if beats == 1:
                self.bursts.popleft()
                self.responses.append((cycle + self.timing.latency, burst[2]))


def check_burst(request, size):
    """The rules of AXI and of the engine for a burst."""
    assert request.address % size == 0
    assert 1 <= request.beats <= 256
    assert request.beats * size <= 512
    assert request.address // 4096 == (request.address + request.beats * size - 1) // 4096


class Bench:
    """Run a unit of the data path between memories until a condition holds."""

    def __init__(self, dut, servers):
        self.dut, self.servers = dut, servers

    def run(self, jobs, *, cycles=20000, each=lambda ctx, cycle: None):
        """Issue the jobs one after the other; gives what is done of each."""
        port = self.dut.port
        m = Module()
        m.domains.sync = ClockDomain()
        m.submodules.dut = self.dut
        simulator = Simulator(m)
        simulator.add_clock(1e-6)
        results = []
        signals = [s for server in self.servers for s in server.signals]
        own = [port.job.ready, port.done.valid, port.done.payload, port.busy]

        async def body(ctx):
            sent, start = 0, 0
            ctx.set(port.done.ready, 1)
            for cycle in range(cycles):
                for server in self.servers:
                    server.drive(ctx, cycle)
                ctx.set(port.job.valid, sent < len(jobs))
                if sent < len(jobs):
                    ctx.set(port.job.payload, jobs[sent])
                each(ctx, cycle)
                sampled = (await ctx.tick().sample(*own, *signals))[2:]
                ready, valid, done, busy = sampled[: len(own)]
                at = len(own)
                for server in self.servers:
                    server.observe(cycle, *sampled[at : at + len(server.signals)])
                    at += len(server.signals)
                if sent < len(jobs) and ready:
                    sent += 1
                if valid:
                    results.append({name: getattr(done, name) for name, _ in done.shape()})
                if len(results) == len(jobs):
                    return
            raise AssertionError(f"{len(results)} of {len(jobs)} jobs after {cycles} cycles")

        simulator.add_testbench(body)
        simulator.run()
        return results


@pytest.fixture(scope="session")
def memory():
    """:class:`Memory`."""
    return Memory


@pytest.fixture(scope="session")
def small():
    """Function that gives a small engine's configuration."""

    def make(**options) -> EngineConfig:
        sizes = {"channels": 1, "lanes": 2, "stripe_bytes": 1024, "stage_bytes": 2048}
        return EngineConfig(**{**sizes, "latency": 16, "link_fifo_bytes": 2048, **options})

    return make


@pytest.fixture(scope="session")
def bench():
    """Function that puts a unit between memories."""

    def make(dut, device, host, *, seed=0, timing=None) -> Bench:
        timing = timing or Timing()
        rng = np.random.default_rng(seed)
        config = dut.config
        servers = []
        for port, is_device in _clients(dut):
            memory = device if is_device else host
            size = config.beat_bytes if is_device else config.link_bytes
            kind = ReadServer if hasattr(port, "ar") else WriteServer
            servers.append(kind(port, memory, size, timing, rng))
        return Bench(dut, servers)

    return make


def _clients(dut):
    for port in dut.device:
        yield port, True
    yield dut.data, False
    yield dut.index, False


@pytest.fixture(scope="session")
def timing():
    """:class:`Timing`."""
    return Timing


@pytest.fixture(scope="session")
def job_of():
    """Function that gives a job's fields with defaults."""

    def make(op, **fields) -> dict:
        base = {
            "op": int(op),
            "index": 1,
            "crc": 0,
            "raw": 0,
            "rows": 1,
            "device": 0,
            "host": 0,
            "index_address": 0,
            "row_bytes": 0,
            "limit": 0,
            "pitch": 0,
            "attr": {"user": 0, "prot": 0, "cache": 2},
        }
        return {**base, **fields}

    return make
