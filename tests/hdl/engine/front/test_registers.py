"""The register block against its table: reset values, access, guards, and what it refuses."""

import numpy as np
import pytest

from cdma.engine_config import EngineConfig
from cdma.hdl.engine.front.fields import KEPT_OUTSIDE
from cdma.hdl.engine.front.registers import IN_MEMORY, RegisterBlock
from cdma.hdl.engine.registers import Access, Guard, register_map

CONFIG = EngineConfig(channels=2)
MAP = register_map(CONFIG)


async def write(ctx, dut, address, value):
    """Write; give whether that was accepted."""
    ctx.set(dut.bus.write, 1)
    ctx.set(dut.bus.write_address, address)
    ctx.set(dut.bus.write_data, value)
    refused = ctx.get(dut.bus.write_refused)
    await ctx.tick()
    ctx.set(dut.bus.write, 0)
    await ctx.tick()  # the fields have the new value
    return not refused


async def read(ctx, dut, address):
    """Read; give the word, or None where it is refused."""
    ctx.set(dut.bus.read, 1)
    ctx.set(dut.bus.read_address, address)
    for _ in range(8):
        if ctx.get(dut.bus.read_done):
            refused, word = ctx.get(dut.bus.read_refused), ctx.get(dut.bus.read_data)
            await ctx.tick()
            return None if refused else word
        await ctx.tick()
        ctx.set(dut.bus.read, 0)
    raise AssertionError(f"no answer from {address:#x}")


def kept_mask(block, register):
    """Bits that the register block itself keeps when they are written."""
    outside = (block.name, register.name) in KEPT_OUTSIDE
    return sum(
        field.mask
        for field in register.fields
        if field.access is Access.W1S or (field.access is Access.RW and not outside)
    )


def const_bits(register):
    return sum(
        field.reset << field.low for field in register.fields if field.access is Access.CONST
    )


def test_every_register(simulate, rng):
    async def bench(ctx):
        dut = the_dut
        for address, (block, _, register) in MAP.addresses().items():
            if block.name in IN_MEMORY:
                continue
            mask = kept_mask(block, register)
            expected = const_bits(register) | sum(
                field.reset << field.low for field in register.fields if field.mask & mask
            )
            assert await read(ctx, dut, address) == expected, register.name
            for value in (0xFFFF_FFFF, int(rng.integers(1 << 32)), 0):
                if (block.name, register.name) == ("RING", "CTRL"):
                    value &= ~8  # LOCK, which would end the writing of windows
                assert await write(ctx, dut, address, value) == register.is_written
                if register.is_written:
                    expected = const_bits(register) | value & mask
                assert await read(ctx, dut, address) == expected, register.name

    the_dut = RegisterBlock(MAP)
    simulate(the_dut, bench)


def test_unmapped_addresses_are_refused(simulate):
    mapped = MAP.addresses()

    async def bench(ctx):
        for address in range(0, 1 << 12, 4):
            if address in mapped:
                continue
            ctx.set(dut.counter_done, 1)  # nobody must look
            assert await read(ctx, dut, address) is None, hex(address)
            assert not await write(ctx, dut, address, 1), hex(address)

    dut = RegisterBlock(MAP)
    simulate(dut, bench)


@pytest.mark.parametrize("ring", [0, 1])
def test_guards(simulate, ring):
    block = MAP.block("RING")

    async def bench(ctx):
        port = getattr(dut, f"ring{ring}")
        control = block.address("CTRL", ring)
        for is_active, is_locked in ((0, 0), (1, 0), (0, 1), (1, 1)):
            ctx.set(port.is_active, is_active)
            if is_locked:
                assert await write(ctx, dut, control, 8)
            for register in block.registers:
                accepted = register.is_written
                if register.guard is not Guard.NONE:
                    accepted &= not is_active
                if register.guard is Guard.WINDOW:
                    accepted &= not is_locked
                address = block.address(register.name, ring)
                assert await write(ctx, dut, address, 0) == accepted, register.name
        assert await read(ctx, dut, control) == 8, "LOCK does not fall"

    dut = RegisterBlock(MAP)
    simulate(dut, bench)


def test_clear_keeps_locked_windows(simulate):
    block = MAP.block("RING")

    async def bench(ctx):
        names = [each.name for each in block.registers if kept_mask(block, each)]
        for ring in (0, 1):
            for name in names:
                value = 0xFFFF_FFF7 if name == "CTRL" else 0xFFFF_FFFF
                assert await write(ctx, dut, block.address(name, ring), value)
        assert await write(ctx, dut, block.address("CTRL", 1), 8)
        before = {name: await read(ctx, dut, block.address(name, 1)) for name in names}
        ctx.set(dut.clear, 1)
        await ctx.tick()
        ctx.set(dut.clear, 0)
        await ctx.tick()
        for name in names:
            register = block.register(name)
            reset = sum(
                field.reset << field.low
                for field in register.fields
                if field.mask & kept_mask(block, register)
            )
            assert await read(ctx, dut, block.address(name, 0)) == reset, name
            stays = register.guard is Guard.WINDOW
            found = await read(ctx, dut, block.address(name, 1))
            assert found == (before[name] if stays else reset | 8 * (name == "CTRL")), name

    dut = RegisterBlock(MAP)
    simulate(dut, bench)


def test_pulses_and_inputs(simulate):
    async def bench(ctx):
        port = dut.ring0
        ctx.set(port.state_state, 3)
        ctx.set(port.state_busy, 1)
        assert await read(ctx, dut, MAP.block("RING").address("STATE")) == 0x103
        ctx.set(dut.bus.write, 1)
        ctx.set(dut.bus.write_address, MAP.block("RING").address("CTRL"))
        ctx.set(dut.bus.write_data, 2)
        assert ctx.get(port.ctrl_write)
        assert ctx.get(port.ctrl_abort_pulse)
        assert not ctx.get(dut.ring1.ctrl_abort_pulse)
        ctx.set(dut.bus.write_data, 1)
        assert not ctx.get(port.ctrl_abort_pulse)
        ctx.set(dut.bus.write_address, MAP.block("ENGINE").address("IRQ_STATUS"))
        assert ctx.get(dut.engine0.irq_status_cq0_pulse)
        assert not ctx.get(dut.engine0.irq_status_cq1_pulse)

    dut = RegisterBlock(MAP)
    simulate(dut, bench)


@pytest.mark.parametrize("delay", [0, 1, 5])
def test_counters_are_read_from_their_memory(simulate, delay):
    async def bench(ctx):
        ctx.set(dut.bus.read, 1)
        ctx.set(dut.bus.read_address, 0x484)
        assert ctx.get(dut.counter_read)
        assert ctx.get(dut.counter_address) == 0x484
        for _ in range(delay):
            assert not ctx.get(dut.bus.read_done)
            await ctx.tick()
            ctx.set(dut.bus.read, 0)
        ctx.set(dut.counter_done, 1)
        ctx.set(dut.counter_data, 77)
        assert ctx.get(dut.bus.read_done)
        assert ctx.get(dut.bus.read_data) == 77
        assert not ctx.get(dut.bus.read_refused)

    dut = RegisterBlock(MAP)
    simulate(dut, bench)


def test_of_a_config():
    block = RegisterBlock.of(EngineConfig(channels=8))
    assert {name for name in block.blocks if name.startswith("channel")} == {
        f"channel{number}" for number in range(8)
    }
    assert np.all([name in block.signature.members for name in block.blocks])
