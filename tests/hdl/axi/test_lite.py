"""The AXI4-Lite subordinate: handshakes, answers, and what reaches the register bus."""

import numpy as np
import pytest

from cdma.hdl.axi.full import Response
from cdma.hdl.axi.lite import LiteSubordinate

OKAY, SLVERR = Response.OKAY.value, Response.SLVERR.value
#: The bus of this test answers up to here.
END = 0x80


class Manager:
    """Plays accesses with random stalls against a memory of registers behind the bus."""

    def __init__(self, dut, rng, stall, delay):
        self.axi, self.bus, self.rng = dut.axi, dut.bus, rng
        self.stall, self.delay = stall, delay
        self.words, self.writes, self.reads = {}, [], 0
        self.left = None

    async def cycle(self, ctx):
        """Answer the bus, then pass one clock edge."""
        bus = self.bus
        if ctx.get(bus.write):
            address = ctx.get(bus.write_address)
            ctx.set(bus.write_refused, address >= END)
            self.writes.append(address)
            if address < END:
                self.words[address] = ctx.get(bus.write_data)
        if ctx.get(bus.read):
            self.reads += 1
            self.left = int(self.rng.integers(self.delay + 1))
        done = self.left == 0
        address = ctx.get(bus.read_address)
        ctx.set(bus.read_done, done)
        ctx.set(bus.read_data, self.words.get(address, 0xDEAD) if done else 0x5555)
        ctx.set(bus.read_refused, done and address >= END)
        if self.left is not None:
            self.left = None if done else self.left - 1
        await ctx.tick()

    async def _pass(self, ctx, valid, ready, answer):
        """Raise ``valid`` until ``ready``; give how many cycles that took."""
        while self.rng.random() < self.stall:
            await self.cycle(ctx)
        ctx.set(valid, 1)
        for _ in range(50):
            taken = ctx.get(ready)
            await self.cycle(ctx)
            if taken:
                ctx.set(valid, 0)
                return
        raise AssertionError(answer)

    async def _answer(self, ctx, valid, ready, payload):
        while self.rng.random() < self.stall:
            await self.cycle(ctx)
        ctx.set(ready, 1)
        for _ in range(50):
            got = [ctx.get(signal) for signal in payload] if ctx.get(valid) else None
            await self.cycle(ctx)
            if got is not None:
                ctx.set(ready, 0)
                return got
        raise AssertionError("no answer")

    async def write(self, ctx, address, data, strobes=15, *, data_first=False):
        axi = self.axi
        ctx.set(axi.awaddr, address)
        ctx.set(axi.wdata, data)
        ctx.set(axi.wstrb, strobes)
        steps = [(axi.awvalid, axi.awready, "no awready"), (axi.wvalid, axi.wready, "no wready")]
        for step in steps[::-1] if data_first else steps:
            await self._pass(ctx, *step)
        return (await self._answer(ctx, axi.bvalid, axi.bready, [axi.bresp]))[0]

    async def read(self, ctx, address):
        ctx.set(self.axi.araddr, address)
        await self._pass(ctx, self.axi.arvalid, self.axi.arready, "no arready")
        return await self._answer(
            ctx, self.axi.rvalid, self.axi.rready, [self.axi.rresp, self.axi.rdata]
        )


@pytest.mark.parametrize("stall", [0.0, 0.4])
@pytest.mark.parametrize("delay", [0, 3])
def test_random_accesses(simulate, stall, delay):
    rng = np.random.default_rng([7, delay, int(10 * stall)])
    dut = LiteSubordinate(8)

    async def bench(ctx):
        manager, model = Manager(dut, rng, stall, delay), {}
        for _ in range(150):
            address = int(rng.integers(0, 0xA0 // 4)) * 4
            if rng.random() < 0.15:
                address += int(rng.integers(1, 4))
            is_right = address % 4 == 0 and address < END
            if rng.random() < 0.5:
                data = int(rng.integers(1 << 32))
                strobes = 15 if rng.random() < 0.9 else int(rng.integers(15))
                before = len(manager.writes)
                first = bool(rng.random() < 0.5)
                got = await manager.write(ctx, address, data, strobes, data_first=first)
                reaches = address % 4 == 0 and strobes == 15
                assert manager.writes[before:] == [address] * reaches
                assert got == (OKAY if is_right and strobes == 15 else SLVERR)
                if got == OKAY:
                    model[address] = data
            else:
                before = manager.reads
                resp, data = await manager.read(ctx, address)
                assert manager.reads - before == (address % 4 == 0)
                want = (OKAY, model.get(address, 0xDEAD)) if is_right else (SLVERR, 0)
                assert (resp, data) == want
        assert manager.words == model

    simulate(dut, bench)


def test_a_write_reaches_the_bus_one_cycle_after_its_handshake(simulate):
    dut = LiteSubordinate(8)

    async def bench(ctx):
        for signal in (dut.axi.awvalid, dut.axi.wvalid, dut.axi.bready):
            ctx.set(signal, 1)
        ctx.set(dut.axi.wstrb, 15)
        assert ctx.get(dut.axi.awready) == ctx.get(dut.axi.wready) == 1
        assert not ctx.get(dut.bus.write)
        await ctx.tick()
        assert ctx.get(dut.bus.write)
        await ctx.tick()
        assert ctx.get(dut.axi.bvalid)

    simulate(dut, bench)


def test_an_answer_is_held_until_it_is_taken(simulate):
    dut = LiteSubordinate(8)

    async def bench(ctx):
        ctx.set(dut.bus.read_done, 1)
        ctx.set(dut.bus.read_data, 0x1234)
        ctx.set(dut.axi.arvalid, 1)
        await ctx.tick().repeat(2)
        ctx.set(dut.bus.read_data, 0x9999)
        for _ in range(20):
            assert ctx.get(dut.axi.rvalid)
            assert ctx.get(dut.axi.rdata) == 0x1234
            assert not ctx.get(dut.axi.arready), "a second read while an answer waits"
            await ctx.tick()

    simulate(dut, bench)


def test_too_few_address_bits():
    with pytest.raises(ValueError, match=r"^Number of address bits must be at least 3, not 2$"):
        LiteSubordinate(2)
