"""Benches on Amaranth's own simulator that the tests of the hardware's components share."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pytest
from amaranth.hdl import ClockDomain, Module, Signal
from amaranth.lib import data
from amaranth.sim import Simulator

from cdma.sim.backpressure import parse


def pytest_configure(config):
    # A constructor that refuses leaves an object behind that nobody elaborates.
    config.addinivalue_line("filterwarnings", "ignore::amaranth.hdl.UnusedElaboratable")


def plain(value):
    """Ints, lists and dicts of what the simulator or a layout gives."""
    if not isinstance(value, data.Const):
        return int(value)
    layout = value.shape()
    if isinstance(layout, data.ArrayLayout):
        bits, width = value.as_bits(), layout.elem_shape
        return [bits >> width * index & (1 << width) - 1 for index in range(layout.length)]
    return {name: plain(value[name]) for name, _ in layout}


def _run(dut, bench: Callable, *, clocked: bool = True):
    m = Module()
    m.submodules.dut = dut
    if clocked:
        m.domains.sync = ClockDomain()  # also where the design itself has no register
    simulator = Simulator(m)
    if clocked:
        simulator.add_clock(1e-6)
    results = []

    async def body(ctx):
        results.append(await bench(ctx))

    simulator.add_testbench(body)
    simulator.run()
    return results[0]


@pytest.fixture(scope="session")
def simulate():
    """Function that runs one coroutine ``bench(ctx)`` on a clocked design and gives its result."""
    return _run


@pytest.fixture(scope="session")
def compute():
    """Function that evaluates ``function(m, signal)`` for each of ``values`` of ``width`` bits."""

    def run(function: Callable, width: int, values: Iterable[int]) -> list[int]:
        m, argument = Module(), Signal(width)
        expression = function(m, argument)
        result = Signal(expression.shape())
        m.d.comb += result.eq(expression)

        async def bench(ctx):
            results = []
            for value in values:
                ctx.set(argument, value)
                results.append(ctx.get(result))
            return results

        return _run(m, bench, clocked=False)

    return run


@pytest.fixture(scope="session")
def play():
    """Function that gives a component one row of inputs a cycle and returns its outputs."""

    def run(dut, rows: Iterable[Mapping], outputs: Iterable[str], *, clocked: bool = True) -> dict:
        """Values by output, one a cycle, seen before the clock's edge of that cycle.

        An input that a row does not name keeps its value.
        """
        ports = [getattr(dut, name) for name in outputs]

        async def bench(ctx):
            seen = []
            for row in rows:
                for name, value in row.items():
                    ctx.set(getattr(dut, name), value)
                if clocked:
                    sampled = (await ctx.tick().sample(*ports))[2:]
                else:
                    sampled = [ctx.get(port) for port in ports]
                seen.append([plain(value) for value in sampled])
            return seen

        columns = zip(*_run(dut, bench, clocked=clocked), strict=True)
        return dict(zip(outputs, map(list, columns), strict=True))

    return run


@dataclass
class Transfers:
    """What passed a stream.

    Members
    -------
    cycles : cycle of each transfer, counted from the first clock edge
    payloads : plain values
    """

    cycles: list[int]
    payloads: list


@pytest.fixture(scope="session")
def exchange():
    """Function that sends and receives on all streams of a component at once."""

    def run(
        dut,
        sends: Mapping[str, list],
        receives: Mapping[str, int],
        *,
        stalls: Mapping[str, str] | str = "never",
        seed: int = 0,
        cycles: int = 5000,
        idle: int = 30,
    ) -> dict[str, Transfers]:
        """Transfers by port, sent and received.

        ``receives`` says how many each port owes; a port that gives more within ``idle`` cycles
        after the last fails, and so does one that gives fewer in ``cycles`` cycles or breaks the
        stall rule. ``stalls`` is a profile of ``cdma.sim.backpressure`` for all ports or by port.
        """
        names = [*sends, *receives]
        if isinstance(stalls, str):
            stalls = dict.fromkeys(names, stalls)
        willing = {
            name: parse(stalls.get(name, "never")).start(np.random.default_rng([seed, index]))
            for index, name in enumerate(names)
        }
        ports = {name: getattr(dut, name) for name in names}
        owed = {**{name: len(items) for name, items in sends.items()}, **receives}
        passed = defaultdict(lambda: Transfers([], []))

        def is_complete():
            return all(len(passed[name].cycles) >= count for name, count in owed.items())

        async def bench(ctx):
            signals = [
                signal
                for port in ports.values()
                for signal in (port.valid, port.ready, port.payload)
            ]
            offered, stalled = dict.fromkeys(sends, False), {}
            left = idle
            for cycle in range(cycles):
                for name, items in sends.items():
                    done = len(passed[name].cycles)
                    # An offer stands until it is taken.
                    offered[name] = done < len(items) and (next(willing[name]) or offered[name])
                    ctx.set(ports[name].valid, offered[name])
                    if offered[name]:
                        ctx.set(ports[name].payload, items[done])
                for name in receives:
                    ctx.set(ports[name].ready, next(willing[name]))
                sampled = (await ctx.tick().sample(*signals))[2:]
                for index, name in enumerate(names):
                    valid, ready, payload = sampled[3 * index : 3 * index + 3]
                    if name in receives:
                        bits = payload.as_bits() if isinstance(payload, data.Const) else payload
                        if name in stalled:
                            assert valid, f"{name}: valid fell at {cycle} before it was taken"
                            assert bits == stalled[name], f"{name}: payload changed at {cycle}"
                        stalled.pop(name, None)
                        if valid and not ready:
                            stalled[name] = bits
                    if valid and ready:
                        passed[name].cycles.append(cycle)
                        passed[name].payloads.append(plain(payload))
                        if name in sends:
                            offered[name] = False
                if is_complete():
                    left -= 1
                    if left < 0:
                        return
            missing = {
                name: f"{len(passed[name].cycles)} of {count}" for name, count in owed.items()
            }
            raise AssertionError(f"not complete after {cycles} cycles: {missing}")

        _run(dut, bench)
        for name, count in owed.items():
            assert len(passed[name].cycles) == count, f"{name} gave more than {count}"
        return dict(passed)

    return run


@pytest.fixture(scope="session")
def cut():
    """Function that checks that no path runs from some signals to others within a cycle."""

    def check(ctx, inputs: Iterable, outputs: Iterable) -> None:
        def state():
            return [plain(ctx.get(output)) for output in outputs]

        before = state()
        for signal in inputs:
            kept = ctx.get(signal)
            width = len(signal.as_value() if hasattr(signal, "as_value") else signal)
            bits = kept.as_bits() if isinstance(kept, data.Const) else kept
            flipped = ~bits & (1 << width) - 1
            ctx.set(signal, signal.shape().from_bits(flipped) if bits is not kept else flipped)
            assert state() == before
            ctx.set(signal, kept)

    return check


@pytest.fixture
def rng():
    return np.random.default_rng(2018)
