"""The AXI RAM of the LiteX system, between an AXI manager, a Wishbone master and NumPy."""

import sys
from pathlib import Path

import numpy as np
import pytest

migen = pytest.importorskip(
    "migen", reason="migen is not installed: pip install 'cdma-engine[soc]'"
)
pytest.importorskip("litex", reason="LiteX is not installed: pip install 'cdma-engine[soc]'")

ORIGIN, SIZE = 0x9000_0000, 1024


@pytest.fixture(scope="module")
def ram_class():
    """The class ``AxiRam``."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "integration" / "litex"))
    try:
        import ram
    finally:
        del sys.path[0]
    return ram.AxiRam


def read(axi, address, beats, random, rows):
    """Read a burst with R stalled at random; append (data, resp, last, id) of each beat."""
    yield axi.ar.addr.eq(address)
    yield axi.ar.len.eq(beats - 1)
    yield axi.ar.id.eq(2)
    yield axi.ar.valid.eq(1)
    yield
    while not (yield axi.ar.ready):
        yield
    yield axi.ar.valid.eq(0)
    done = False
    while not done:
        ready = int(random.random() < 0.6)
        yield axi.r.ready.eq(ready)
        yield
        if ready and (yield axi.r.valid):
            row = []
            for signal in (axi.r.data, axi.r.resp, axi.r.last, axi.r.id):
                row.append((yield signal))
            rows.append(tuple(row))
            done = row[2] == 1
    yield axi.r.ready.eq(0)


def write(axi, address, words, strobes, random, responses):
    """Write a burst with W paused at random; append (id, resp) of B."""
    yield axi.aw.addr.eq(address)
    yield axi.aw.len.eq(len(words) - 1)
    yield axi.aw.id.eq(1)
    yield axi.aw.valid.eq(1)
    yield
    while not (yield axi.aw.ready):
        yield
    yield axi.aw.valid.eq(0)
    for number, (word, strobe) in enumerate(zip(words, strobes, strict=True)):
        while random.random() < 0.3:
            yield
        yield axi.w.data.eq(int(word))
        yield axi.w.strb.eq(int(strobe))
        yield axi.w.last.eq(int(number == len(words) - 1))
        yield axi.w.valid.eq(1)
        yield
        while not (yield axi.w.ready):
            yield
        yield axi.w.valid.eq(0)
    yield axi.b.ready.eq(1)
    yield
    while not (yield axi.b.valid):
        yield
    responses.append(((yield axi.b.id), (yield axi.b.resp)))
    yield axi.b.ready.eq(0)


def access(bus, word, value=None):
    """Read, or write with all bytes, one word through Wishbone."""
    yield bus.adr.eq(word)
    yield bus.cyc.eq(1)
    yield bus.stb.eq(1)
    yield bus.we.eq(int(value is not None))
    yield bus.sel.eq(0xFF)
    if value is not None:
        yield bus.dat_w.eq(int(value))
    yield
    while not (yield bus.ack):
        yield
    found = yield bus.dat_r
    yield bus.cyc.eq(0)
    yield bus.stb.eq(0)
    yield
    return found


def test_bursts_and_accesses_of_the_processor(ram_class):
    random = np.random.default_rng(1)
    ram = ram_class(64, ORIGIN, SIZE, id_bits=2)
    model = np.zeros(SIZE // 8, "u8")
    bursts = 0

    def engine():
        nonlocal bursts
        for _ in range(24):
            beats = int(random.integers(1, 65))
            first = int(random.integers(0, 64 + 64 - beats))
            address = ORIGIN + 8 * first
            if random.random() < 0.5:
                words = random.integers(0, 1 << 63, beats, "u8")
                strobes = np.full(beats, 0xFF)
                strobes[0], strobes[-1] = 0xF0 if beats > 1 else 0xFF, 0x0F
                responses = []
                yield from write(ram.axi, address, words, strobes, random, responses)
                mask = np.array(
                    [sum(0xFF << 8 * k for k in range(8) if s >> k & 1) for s in strobes], "u8"
                )
                model[first : first + beats] = model[first : first + beats] & ~mask | words & mask
                assert responses == [(1, 0)]
            else:
                rows = []
                yield from read(ram.axi, address, beats, random, rows)
                assert [row[0] for row in rows] == model[first : first + beats].tolist()
                assert {row[1] for row in rows} == {0}
                assert [row[2] for row in rows] == [0] * (beats - 1) + [1]
                assert {row[3] for row in rows} == {2}
            bursts += 1

    def processor():
        """The last word of the memory belongs to the processor."""
        for number in range(40):
            for _ in range(int(random.integers(0, 30))):
                yield
            yield from access(ram.bus, SIZE // 8 - 1, 3 * number)
            assert (yield from access(ram.bus, SIZE // 8 - 1)) == 3 * number

    migen.run_simulation(ram, [engine(), processor()])
    assert bursts == 24
    assert model.any()


def test_an_address_outside_gets_slverr(ram_class):
    random = np.random.default_rng(2)
    ram = ram_class(64, ORIGIN, SIZE, id_bits=2)
    rows, responses = [], []

    def engine():
        yield from access(ram.bus, 0, 5)
        words, strobes = np.full(4, 7, "u8"), np.full(4, 0xFF)
        yield from write(ram.axi, ORIGIN + SIZE, words, strobes, random, responses)
        yield from read(ram.axi, ORIGIN + SIZE, 4, random, rows)
        assert (yield from access(ram.bus, 0)) == 5

    migen.run_simulation(ram, engine())
    assert responses == [(1, 2)]
    assert [row[1:] for row in rows] == [(2, 0, 2)] * 3 + [(2, 1, 2)]
