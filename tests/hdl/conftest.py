"""Benches on Amaranth's own simulator that the tests of the hardware's components share."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter

import numpy as np
import pytest
from amaranth.hdl import ClockDomain, Module, Shape, Signal
from amaranth.lib import data
from amaranth.sim import Simulator

from cdma.format import ErrorCode
from cdma.golden import compress
from cdma.hdl.zvc.compressor.assembly.place import rows_of_ring, rows_reached
from cdma.hdl.zvc.compressor.unit import Compressor
from cdma.sim.backpressure import parse


def pytest_configure(config):
    # A constructor that refuses leaves an object behind that nobody elaborates.
    config.addinivalue_line("filterwarnings", "ignore::amaranth.hdl.UnusedElaboratable")


def plain(value):
    """Ints, lists and dicts of what the simulator or a layout gives."""
    if not isinstance(value, data.Const):
        return int(value.value if isinstance(value, Enum) else value)
    layout = value.shape()
    if isinstance(layout, data.StructLayout):
        return {name: plain(value[name]) for name, _ in layout}
    if isinstance(layout.elem_shape, data.Layout):
        return [plain(value[index]) for index in range(layout.length)]
    bits, width = value.as_bits(), Shape.cast(layout.elem_shape).width
    return [bits >> width * index & (1 << width) - 1 for index in range(layout.length)]


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

        An input that a row does not name keeps its value. Names may have dots.
        """
        ports = [attrgetter(name)(dut) for name in outputs]

        async def bench(ctx):
            seen = []
            for row in rows:
                for name, value in row.items():
                    ctx.set(attrgetter(name)(dut), value)
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
        each: Callable = lambda ctx, passed: None,
    ) -> dict[str, Transfers]:
        """Transfers by port, sent and received.

        ``receives`` says how many each port owes; a port that gives more within ``idle`` cycles
        after the last fails, and so does one that gives fewer in ``cycles`` cycles or breaks the
        stall rule. ``stalls`` is a profile of ``cdma.sim.backpressure`` for all ports or by port.
        ``each(ctx, passed)`` is called in each cycle, to drive what is no stream.
        """
        names = [*sends, *receives]
        if isinstance(stalls, str):
            stalls = dict.fromkeys(names, stalls)
        willing = {
            name: parse(stalls.get(name, "never")).willing(100 * seed + index)
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
                each(ctx, passed)
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


@pytest.fixture(scope="session")
def check_fifo():
    """Function that holds a first-in first-out buffer of 8-bit items against a deque.

    Pushes and pops as ``rng`` says, until every level was met with every choice of both. One that
    is a ``pipe`` takes an item in when it is full, if one leaves.
    """

    def check(
        dut, depth: int, rng, also: Callable = lambda ctx, model: None, *, pipe: bool = False
    ) -> None:
        async def bench(ctx):
            model, met = deque(), set()
            for cycle in range(400 + 100 * depth):
                # Now and then mostly in, now and then mostly out, so that both ends are met.
                share = (0.8, 0.2)[cycle // (8 * depth) % 2]
                push, pop = bool(rng.random() < share), bool(rng.random() > share)
                ctx.set(dut.i.valid, push)
                ctx.set(dut.i.payload, cycle % 256)
                ctx.set(dut.o.ready, pop)
                ready = len(model) < depth or (pipe and pop)
                assert ctx.get(dut.i.ready) == ready
                assert ctx.get(dut.o.valid) == (len(model) > 0)
                if model:
                    assert ctx.get(dut.o.payload) == model[0]
                also(ctx, model)
                met.add((len(model), push, pop))
                pushes, pops = push and ready, pop and bool(model)
                if pops:
                    model.popleft()
                if pushes:
                    model.append(cycle % 256)
                await ctx.tick()
            return met

        assert len(_run(dut, bench)) == (depth + 1) * 4

    return check


@pytest.fixture(scope="session")
def place_of():
    """Function that gives the place of a beat from the words of its packet's stream."""

    def place(before: int, after: int, has_mask: bool, last: bool, config) -> dict:
        """``before`` and ``after`` are the words of the stream before the beat and with it."""
        lanes, full = config.lanes, before // config.lanes
        end, depth = after - full * lanes, rows_of_ring(config)
        rows = max(-(-after // lanes), full + 1) - full if last else after // lanes - full
        return {
            "lane": before % lanes,
            "has_mask": int(has_mask),
            "rows": rows,
            "reaches": sum(
                1 << k - 1 for k in range(1, rows_reached(config) + 1) if end > k * lanes
            ),
            "fits": sum(
                1 << complete - 1
                for complete in range(1, depth)
                if complete * lanes + end <= depth * lanes
            ),
            "last": int(last),
            "end": end,
            "is_full": int(end > 0 and end % lanes == 0),
        }

    return place


@dataclass(frozen=True)
class Case:
    """A packet through a unit.

    Members
    -------
    sent, given : bytes in and out
    status : what is reported of it
    command : words to give, of a decompressor
    """

    sent: bytes
    given: bytes
    status: dict
    command: int | None = None

    @classmethod
    def of(cls, unit, words: np.ndarray, config) -> "Case":
        """What golden makes of ``words``."""
        data_bytes, stream = words.tobytes(), compress(words, config.format).tobytes()
        if unit is Compressor:
            return cls(data_bytes, stream, {"words": words.size, "bytes": len(stream)})
        status = {"bytes": len(stream), "error": ErrorCode.NONE}
        return cls(stream, data_bytes, status, words.size)


@pytest.fixture(scope="session")
def case():
    """:class:`Case`."""
    return Case


@pytest.fixture(scope="session")
def beats_of():
    """Function that gives the beats of a packet of bytes, with rubbish behind its end."""

    def beats(content: bytes, config) -> list[dict]:
        found, size = [], config.beat_bytes
        for first in range(0, max(len(content), 1), size):
            part = content[first : first + size]
            words = np.frombuffer(part.ljust(size, b"\xff"), config.format.dtype).tolist()
            last = first + size >= len(content)
            found.append({"words": words, "keep": (1 << len(part)) - 1, "last": last})
        return found

    return beats


@pytest.fixture(scope="session")
def packets_of():
    """Function that gives the kept bytes of each packet; what is not kept must be zero."""

    def packets(beats: list[dict], config) -> list[bytes]:
        found, current = [], b""
        for beat in beats:
            kept = beat["keep"].bit_length()
            assert beat["keep"] == (1 << kept) - 1, "bytes are not contiguous from byte 0"
            content = np.array(beat["words"], config.format.dtype).tobytes()
            assert not any(content[kept:])
            assert beat["last"] or kept == len(content), "a partial beat inside a packet"
            current += content[:kept]
            if beat["last"]:
                found.append(current)
                current = b""
        assert current == b"", "a packet did not end"
        return found

    return packets


@pytest.fixture(scope="session")
def run_unit(exchange, beats_of, packets_of):
    """Function that sends cases through a unit, back to back, and compares what comes out."""

    def run(unit, cases: list[Case], config, **options) -> dict[str, Transfers]:
        sends = {"i": [beat for item in cases for beat in beats_of(item.sent, config)]}
        if unit is not Compressor:
            sends["i_command"] = [{"words": item.command} for item in cases]
        beats = sum(max(1, -(-len(item.given) // config.beat_bytes)) for item in cases)
        passed = exchange(unit(config), sends, {"o": beats, "o_status": len(cases)}, **options)
        assert packets_of(passed["o"].payloads, config) == [item.given for item in cases]
        assert passed["o_status"].payloads == [item.status for item in cases]
        return passed

    return run


@pytest.fixture
def rng():
    return np.random.default_rng(2018)
