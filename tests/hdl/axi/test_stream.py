"""The AXI4-Stream tops: their ports are those of the tables in ``docs/interfaces.md``."""

import re
from pathlib import Path

import pytest
from amaranth.hdl import Fragment
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from cdma.format import Format
from cdma.hdl.axi.stream import COMPONENTS, UNITS, AxiTop, top
from cdma.hdl.zvc.compressor.unit import Compressor
from cdma.hdl.zvc.config import Config
from cdma.hdl.zvc.decompressor.unit import Decompressor

DOCUMENT = (Path(__file__).parents[3] / "docs" / "interfaces.md").read_text()
SIZES = [Config.of(8, 32), Config.of(2, 8, 32), Config.of(16, 16), Config.of(4, 64)]
OTHER = {"in": "out", "out": "in"}


def tables():
    """Ports by unit: name to direction and bits (as written)."""
    found, stream = {}, {}  # `stream`: of a packet's stream, whether it flows forward, and bits
    title = r"^## \w+\n\nModule `cdma_(\w+)`\.\n(.*?)(?=^## |\Z)"
    for unit, body in re.findall(title, DOCUMENT, re.MULTILINE | re.DOTALL):
        ports = found[unit] = {}
        for line in re.findall(r"^\| (`\w+_axis_.*) \|$", body, re.MULTILINE):
            cells = line.split(" | ")
            if len(cells) != 4:  # what differs with a tail of ones
                continue
            names, direction, bits, _ = cells
            names = re.findall(r"`(\w+)(?:\.\.\.)?`", names)
            prefix = names[0].rpartition("_")[0]
            signals = stream
            if bits != "as above":
                signals = {}
                for name, cell in zip(names, bits.split(", "), strict=True):
                    other, width = re.fullmatch(r"(?:\((in|out)\) )?`?([^`]+)`?", cell).groups()
                    assert other in (None, OTHER[direction])
                    signals[name.removeprefix(f"{prefix}_")] = (other is None, width)
            stream = signals if len(signals) == 5 else stream
            for suffix, (is_forward, width) in signals.items():
                way = direction if is_forward else OTHER[direction]
                ports[f"{prefix}_{suffix}"] = (way, width)
    return found


def width_of(text, config):
    """Bits of a cell such as ``L*W/8``."""
    sizes = {"L*W": config.beat_bits, "L*W/8": config.beat_bytes}
    return sizes[text] if text in sizes else int(text)


def test_the_document_has_a_table_for_each_unit():
    assert {unit: len(ports) for unit, ports in tables().items()} == {
        "compressor": 13,
        "decompressor": 16,
    }
    assert set(UNITS) == set(tables())


@pytest.mark.parametrize("config", SIZES, ids=[config.name for config in SIZES])
@pytest.mark.parametrize("unit", UNITS)
def test_ports_are_those_of_the_document(unit, config):
    expected = {name: (way, width_of(bits, config)) for name, (way, bits) in tables()[unit].items()}
    expected |= {"aclk": ("in", 1), "aresetn": ("in", 1)}
    axi = top(unit, config)
    ports = {
        name: ({In: "in", Out: "out"}[member.flow], len(getattr(axi, name)))
        for name, member in axi.signature.members.items()
    }
    assert ports == expected


@pytest.mark.parametrize("unit", UNITS)
def test_clock_and_reset_are_as_the_document_says(unit):
    axi = top(unit, Config.of(2, 8, 32))
    assert "synchronous active-low reset `aresetn`" in DOCUMENT
    assert "rising edge of `aclk`" in DOCUMENT
    (domain,) = Fragment.get(axi, None).domains.values()
    assert domain.clk is axi.aclk
    assert (domain.clk_edge, domain.async_reset) == ("pos", False)


@pytest.mark.parametrize("unit", UNITS)
def test_word_i_of_a_beat_is_where_the_document_says(unit):
    assert "word `i` of a beat is `tdata[W*i+W-1 : W*i]`" in " ".join(DOCUMENT.split())
    config = Config.of(4, 16)
    axi = top(unit, config)
    beat = axi.unit.i.payload

    async def bench(ctx):
        ctx.set(axi.s_axis_tdata, 0x4444_3333_2222_1111)
        ctx.set(axi.s_axis_tkeep, 0x0F)
        ctx.set(axi.s_axis_tlast, 1)
        ctx.set(axi.s_axis_tvalid, 1)
        assert [ctx.get(word) for word in beat.words] == [0x1111, 0x2222, 0x3333, 0x4444]
        assert (ctx.get(beat.keep), ctx.get(beat.last), ctx.get(axi.unit.i.valid)) == (0x0F, 1, 1)

    simulator = Simulator(axi)
    simulator.add_testbench(bench)
    simulator.run()


def test_an_empty_packet_through_the_ports():
    """Reset, clock and both directions of each stream, cycle by cycle."""
    config = Config.of(2, 8, 32)
    axi = top("compressor", config)

    async def bench(ctx):
        async def tick():
            ctx.set(axi.aclk, 0)
            await ctx.delay(1e-9)
            ctx.set(axi.aclk, 1)
            await ctx.delay(1e-9)

        for _ in range(3):
            assert ctx.get(axi.m_axis_tvalid) == 0  # `aresetn` is low
            await tick()
        ctx.set(axi.aresetn, 1)
        await tick()
        assert ctx.get(axi.s_axis_tready) == 1
        ctx.set(axi.s_axis_tvalid, 1)
        ctx.set(axi.s_axis_tlast, 1)
        await tick()
        ctx.set(axi.s_axis_tvalid, 0)
        for _ in range(Compressor.latency(config)):
            if ctx.get(axi.m_axis_tvalid):
                break
            assert ctx.get(axi.m_axis_sts_tvalid) == 0
            await tick()
        assert (ctx.get(axi.m_axis_tvalid), ctx.get(axi.m_axis_tlast)) == (1, 1)
        assert (ctx.get(axi.m_axis_tkeep), ctx.get(axi.m_axis_tdata)) == (0, 0)
        ctx.set(axi.m_axis_tready, 1)
        await tick()
        assert (ctx.get(axi.m_axis_tvalid), ctx.get(axi.m_axis_sts_tvalid)) == (0, 0)
        await tick()
        assert ctx.get(axi.m_axis_sts_tvalid) == 1
        assert ctx.get(axi.m_axis_sts_tdata) == 0
        ctx.set(axi.m_axis_sts_tready, 1)
        await tick()
        assert ctx.get(axi.m_axis_sts_tvalid) == 0

    simulator = Simulator(axi)
    simulator.add_testbench(bench)
    simulator.run()


def test_units_by_name():
    assert COMPONENTS["zvc"] == {"compressor": Compressor, "decompressor": Decompressor}
    assert tuple(COMPONENTS["zvc"]) == UNITS
    config = Config(4, Format(16, 48))
    for name, unit in COMPONENTS["zvc"].items():
        axi = top(name, config)
        assert isinstance(axi, AxiTop)
        assert type(axi.unit) is unit
        assert axi.unit.config == config


@pytest.mark.parametrize("unit", ["engine", "Compressor", "", None])
def test_unknown_unit(unit):
    message = rf"^Unit must be one of compressor, decompressor, not {re.escape(repr(unit))}$"
    with pytest.raises(ValueError, match=message):
        top(unit, Config())
