"""A bench of the front end: software, host memory and a stand-in for the data path."""

from collections import deque

import numpy as np
from amaranth.hdl import Module
from amaranth.sim import Simulator

from cdma.engine_codes import Op, Status
from cdma.golden.engine.descriptor import Completion, Descriptor, phase
from cdma.hdl.engine.front.front import FrontEnd
from cdma.hdl.engine.registers import register_map

HOST, DEVICE = 0x10_0000, 0x4000_0000
HOST_BYTES, DEVICE_BYTES = 1 << 20, 1 << 24
SQ, CQ = (HOST, HOST + 0x10000), (HOST + 0x4000, HOST + 0x14000)
STREAMS = HOST + 0x20000


class FrontBench:
    """Runs coroutines of software against a front end.

    Parameters
    ----------
    config : EngineConfig
    latency : int
        Cycles of a read or of a B.
    work : int
        Cycles that the data path needs for a job.
    result : callable
        Gives fields of ``Done`` for a job, as a dict; by default all is well.
    faults : dict of int to int
        Response of reads and writes, by address of a beat's first byte.
    """

    def __init__(self, config, *, latency=10, work=20, result=None, faults=None):
        self.config, self.map = config, register_map(config)
        self.dut = FrontEnd(config)
        self.memory = np.zeros(HOST_BYTES, np.uint8)
        self.latency, self.work = latency, work
        self.result = result or (lambda ring, job: {})
        self.faults = faults or {}
        self.jobs = ([], [])  # what was taken, by ring
        self.running = (deque(), deque())
        self.log = []  # (cycle, what, address)
        self.cycle = 0
        self.holds_work = [False, False]
        self.tails, self.heads = [0, 0], [0, 0]
        self.sizes = [4, 4]

    def run(self, software, cycles=20_000):
        """Run ``software(self, ctx)`` to its end."""
        m = Module()
        m.submodules.dut = self.dut
        simulator = Simulator(m)
        simulator.add_clock(1e-6)
        finished = []

        async def main(ctx):
            await software(self, ctx)
            finished.append(True)

        async def clock(ctx):
            async for _ in ctx.tick():
                self.cycle += 1
                assert self.cycle < cycles, "too many cycles"

        simulator.add_testbench(main)
        for process in (clock, self._reads, self._writes, self._work0, self._work1):
            simulator.add_testbench(process, background=True)
        simulator.run()
        assert finished

    # Registers

    def address(self, block, name, instance=0):
        return self.map.block(block).address(name, instance)

    async def write(self, ctx, block, name, value, instance=0):
        """Write a register; give the response."""
        axi = self.dut.axi
        ctx.set(axi.awaddr, self.address(block, name, instance))
        ctx.set(axi.wdata, value)
        ctx.set(axi.wstrb, 15)
        ctx.set(axi.awvalid, 1)
        ctx.set(axi.wvalid, 1)
        ctx.set(axi.bready, 1)
        await ctx.tick()  # both are ready, as nothing is on its way
        ctx.set(axi.awvalid, 0)
        ctx.set(axi.wvalid, 0)
        while not ctx.get(axi.bvalid):
            await ctx.tick()
        response = ctx.get(axi.bresp)
        await ctx.tick()
        return response

    async def read(self, ctx, block, name, instance=0):
        """Read a register."""
        axi = self.dut.axi
        ctx.set(axi.araddr, self.address(block, name, instance))
        ctx.set(axi.arvalid, 1)
        ctx.set(axi.rready, 1)
        await ctx.tick()
        ctx.set(axi.arvalid, 0)
        while not ctx.get(axi.rvalid):
            await ctx.tick()
        assert ctx.get(axi.rresp) == 0
        data = ctx.get(axi.rdata)
        await ctx.tick()
        return data

    async def set_up(self, ctx, ring, log2=4, cq_log2=None, run=True, **registers):
        """Program a ring."""
        self.sizes[ring] = log2
        self.cq_log2 = log2 if cq_log2 is None else cq_log2
        values = {
            "SQ_BASE_LO": SQ[ring],
            "SQ_SIZE": log2,
            "CQ_BASE_LO": CQ[ring],
            "CQ_SIZE": self.cq_log2,
            "DEV_BASE_LO": DEVICE,
            "DEV_LIMIT_LO": DEVICE + DEVICE_BYTES,
            "HOST_BASE_LO": HOST,
            "HOST_LIMIT_LO": HOST + HOST_BYTES,
            **registers,
        }
        for name, value in values.items():
            assert await self.write(ctx, "RING", name, value, ring) == 0, name
        if run:
            await self.write(ctx, "RING", "CTRL", 1, ring)

    def place(self, ring, descriptor, *, wrong_phase=False):
        """Put a descriptor into the ring's memory."""
        log2, count = self.sizes[ring], self.tails[ring]
        at = SQ[ring] - HOST + 64 * (count % (1 << log2))
        packed = descriptor.pack(phase(count, log2) ^ wrong_phase)
        self.memory[at : at + 64] = packed
        self.tails[ring] = (count + 1) & 0xFFFF

    async def submit(self, ctx, ring, *descriptors, **options):
        """Put descriptors into the ring and ring its doorbell."""
        for descriptor in descriptors:
            self.place(ring, descriptor, **options)
        assert await self.write(ctx, "RING", "SQ_TAIL", self.tails[ring], ring) == 0

    def peek(self, ring):
        """The next completion, or None where the phase is not turned."""
        log2, count = self.cq_log2, self.heads[ring]
        at = CQ[ring] - HOST + 32 * (count % (1 << log2))
        completion, bit = Completion.unpack(self.memory[at : at + 32].tobytes())
        return completion if bit == phase(count, log2) else None

    async def collect(self, ctx, ring, number, *, patience=3000, acknowledge=True):
        """Wait for a number of completions."""
        found = []
        for _ in range(number):
            for _ in range(patience):
                completion = self.peek(ring)
                if completion is not None:
                    break
                await ctx.tick()
            else:
                raise AssertionError(f"{len(found)} of {number} completions")
            self.heads[ring] = (self.heads[ring] + 1) & 0xFFFF
            found.append(completion)
        if acknowledge:  # the count changes after B
            await ctx.tick().repeat(2 * self.latency + 10)
            await self.write(ctx, "RING", "CQ_HEAD", self.heads[ring], ring)
        return found

    # Host memory, as the clients of the link see it

    async def _reads(self, ctx):
        port, queue = self.dut.reads, deque()
        size = self.config.link_bytes
        ctx.set(port.ar.ready, 1)
        while True:
            if queue and queue[0][0] <= self.cycle:
                _, address, beats = queue[0]
                at = address - HOST
                assert 0 <= at <= HOST_BYTES - size, hex(address)
                data = int.from_bytes(self.memory[at : at + size].tobytes(), "little")
                resp = self.faults.get(address, 0)
                ctx.set(port.r.valid, 1)
                ctx.set(
                    port.r.payload,
                    {"data": 0 if resp else data, "resp": resp, "last": beats == 1},
                )
                queue[0] = (self.cycle, address + size, beats - 1)
                if beats == 1:
                    queue.popleft()
            else:
                ctx.set(port.r.valid, 0)
            _, _, valid, payload = await ctx.tick().sample(port.ar.valid, port.ar.payload)
            if valid:
                self.log.append((self.cycle, "ar", payload.address))
                assert payload.beats == 64 // size
                queue.append((self.cycle + self.latency, payload.address, payload.beats))

    async def _writes(self, ctx):
        port, size = self.dut.writes, self.config.link_bytes
        requests, answers, worst = deque(), deque(), 0
        ctx.set(port.aw.ready, 1)
        ctx.set(port.w.ready, 1)
        while True:
            answered = bool(answers) and answers[0][0] <= self.cycle
            ctx.set(port.b.valid, answered)
            if answered:
                ctx.set(port.b.payload, answers.popleft()[1])
            _, _, aw, request, w, beat = await ctx.tick().sample(
                port.aw.valid, port.aw.payload, port.w.valid, port.w.payload
            )
            if aw:
                self.log.append((self.cycle, "aw", request.address))
                requests.append([request.address, request.beats])
            if w:
                address, beats = requests[0]
                resp = self.faults.get(address, 0)
                worst = worst or resp
                if not resp:
                    self._store(address & ~(size - 1), beat)
                requests[0] = [address + size, beats - 1]
                assert beat.last == (beats == 1)
                if beats == 1:
                    requests.popleft()
                    answers.append((self.cycle + self.latency, worst))
                    worst = 0

    def _store(self, address, beat):
        data = int(beat.data).to_bytes(self.config.link_bytes, "little")
        for byte, value in enumerate(data):
            if beat.strobe >> byte & 1:
                self.memory[address - HOST + byte] = value

    # A stand-in for the data path: each job takes `work` cycles, one at a time a ring

    async def _work0(self, ctx):
        await self._work(ctx, 0)

    async def _work1(self, ctx):
        await self._work(ctx, 1)

    async def _work(self, ctx, ring):
        port, running = getattr(self.dut, f"port{ring}"), self.running[ring]
        answers = deque()
        while True:
            aborts = ctx.get(port.abort)
            ctx.set(port.job.ready, not aborts and len(running) < 4)
            ctx.set(port.busy, bool(running))
            ctx.set(port.done.valid, bool(answers))
            if answers:
                ctx.set(port.done.payload, answers[0])
            signals = (port.job.valid, port.job.ready, port.job.payload, port.done.ready)
            _, _, valid, ready, job, taken = await ctx.tick().sample(*signals)
            if answers and taken:
                answers.popleft()
            if valid and ready:
                self.jobs[ring].append(job)
                self.log.append((self.cycle, f"job{ring}", job.device))
                running.append([self.work, job])
            if running and not self.holds_work[ring]:
                running[0][0] -= 1
                if aborts or running[0][0] <= 0:
                    answers.append(self._done(ring, running.popleft()[1], aborts))

    def _done(self, ring, job, aborts):
        done = {
            "status": Status.ABORTED if aborts else Status.OK,
            "stream_bytes": job.row_bytes,
            "where": 0,
            "raw_stripes": 3,
            "cycles": self.work,
            "stripe": 5,
            "channel": 0x7F,
        }
        return done if aborts else {**done, **self.result(ring, job)}


def offload(number=0, **fields):
    """A good offload of one stripe."""
    base = {"op": Op.OFFLOAD, "device": DEVICE + 4096 * number, "host": STREAMS, "limit": 8192}
    return Descriptor(**{**base, "row_bytes": 4096, "cookie": 0x1234_0000 + number, **fields})


def prefetch(number=0, **fields):
    """A good prefetch of one stripe."""
    base = {"op": Op.PREFETCH, "device": DEVICE, "host": STREAMS, "limit": 4096}
    base |= {"with_index": True, "index": STREAMS + 0x8000}
    return Descriptor(**{**base, "row_bytes": 4096, "cookie": 0x5678_0000 + number, **fields})
