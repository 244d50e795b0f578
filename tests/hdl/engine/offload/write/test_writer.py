"""A stream of words written in bursts: every byte once, at its place, and no other."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from cdma.engine_codes import LINK, Status
from cdma.hdl.engine.offload.write.writer import StreamWriter


@dataclass
class Written:
    """What a run left behind."""

    memory: dict = field(default_factory=dict)
    bursts: list = field(default_factory=list)  # address and beats
    beats: list = field(default_factory=list)  # cycle of each beat
    errors: list = field(default_factory=list)
    empty: int = 0


async def _write(
    ctx, dut, streams, rng, *, pause=0.0, stall=0.0, delay=6, fault=None, quit_at=None
):
    """Write streams of (address, rows), and serve the port; ``fault`` is a burst that fails."""
    done, waiting, owed, answers, cycle = Written(), [], [], [], 0
    size, opened, tags = dut.link_bytes, [], 0
    client, error = dut.client, dut.o_error

    async def tick():
        nonlocal cycle, tags
        aw, w = client.aw, client.w
        ctx.set(aw.ready, rng.random() >= stall)
        ctx.set(w.ready, bool(waiting) and rng.random() >= stall)
        ctx.set(error.ready, rng.random() >= stall)
        is_due = bool(answers) and answers[0][0] <= cycle
        ctx.set(client.b.valid, is_due)
        ctx.set(client.b.payload, answers[0][1] if is_due else 0)
        # The tag of a burst, three cycles after it began.
        is_tag = bool(opened) and opened[0][0] + 3 <= cycle
        ctx.set(dut.tags, is_tag)
        if is_tag:
            number = opened.pop(0)[1]
            ctx.set(dut.tag, {"job": 2, "number": number, "offset": 4 * number})
        if ctx.get(dut.opens):
            opened.append((cycle, tags))
            tags += 1
        if ctx.get(w.valid) and ctx.get(w.ready):
            address, left = waiting[0]
            data, strobe = ctx.get(w.payload.data), ctx.get(w.payload.strobe)
            done.empty += not strobe
            for k in range(size):
                if strobe >> k & 1:
                    assert address + k not in done.memory
                    done.memory[address + k] = data >> 8 * k & 255
            assert ctx.get(w.payload.last) == (left == 1)
            done.beats.append(cycle)
            waiting[0] = (address + size, left - 1)
            if left == 1:
                waiting.pop(0)
                number = len(owed) + len(answers)
                owed.append(number)
                resp = 3 if len(done.bursts) - len(waiting) - 1 == fault else 0
                answers.append((cycle + delay, resp))
        if ctx.get(aw.valid) and ctx.get(aw.ready):
            burst = ctx.get(aw.payload.address), ctx.get(aw.payload.beats)
            done.bursts.append(burst)
            waiting.append(burst)
        if ctx.get(error.valid) and ctx.get(error.ready):
            report = error.payload
            names = ("status", "where", "channel", "halts")
            done.errors.append(
                (ctx.get(report.tag.number), *(ctx.get(report[name]) for name in names))
            )
        if is_due:
            answers.pop(0)
        await ctx.tick()
        cycle += 1
        ctx.set(dut.valid, 0)
        ctx.set(dut.start, 0)

    rows_sent, tight = 0, [0, 0]
    for address, rows in streams:
        ctx.set(dut.address, address)
        ctx.set(dut.start, 1)
        await tick()
        for row in rows:
            # A row that was sent off before `is_tight` was seen still comes.
            while tight[-2] or rng.random() < pause:
                tight.append(ctx.get(dut.is_tight))
                assert len(tight) < 20000
                await tick()
            if rows_sent == quit_at:
                ctx.set(dut.discard, 1)
                break
            ctx.set(dut.valid, 1)
            ctx.set(dut.i.count, len(row))
            for k in range(dut.row_words):
                ctx.set(dut.i.words[k], int(row[k]) if k < len(row) else 0xBAD)
            tight.append(ctx.get(dut.is_tight))
            rows_sent += 1
            await tick()
        ctx.set(dut.flush, 1)
        for _ in range(2000):
            if not ctx.get(dut.is_open):
                break
            await tick()
        ctx.set(dut.flush, 0)
    for _ in range(400):
        await tick()
    assert ctx.get(dut.idle)
    return done


def _rows(rng, lanes, bits, stripes):
    """Rows of stripes of so many words."""
    rows = []
    for count in stripes:
        words = rng.integers(0, 1 << min(bits, 63), count, dtype=np.uint64)
        rows += [words[k : k + lanes] for k in range(0, count, lanes)]
    return rows


def _bytes(address, rows, bits):
    data = b"".join(int(word).to_bytes(bits // 8, "little") for row in rows for word in row)
    return {address + k: byte for k, byte in enumerate(data)}


@pytest.mark.parametrize(
    ("link", "bits", "lanes"), [(16, 32, 8), (8, 8, 16), (64, 32, 4), (16, 64, 8), (16, 64, 1)]
)
@pytest.mark.parametrize(("pause", "stall"), [(0, 0), (0.3, 0.5)], ids=["flowing", "stalled"])
def test_every_byte_once(simulate, rng, link, bits, lanes, pause, stall):
    dut = StreamWriter(40, link, bits, lanes, 16)
    step = 64 if lanes > 1 else bits // 8
    sizes = [[5, 64, 1, 1, 2, 31, 300], [7], [], [200, 3], [1], [130]]
    streams, expected = [], {}
    for number, stripes in enumerate(sizes):
        rows = _rows(rng, lanes, bits, stripes)
        address = (0xFF_FFFF_0000 if number % 2 else 0x10000) + 8192 * number
        address += step * int(rng.integers(8))
        streams.append((address, rows))
        expected |= _bytes(address, rows, bits)

    async def bench(ctx):
        return await _write(ctx, dut, streams, rng, pause=pause, stall=stall)

    done = simulate(dut, bench)
    assert done.memory == expected
    assert not done.empty
    assert not done.errors
    for address, beats in done.bursts:
        assert address // 512 == (address + link * beats - 1) // 512


def test_throughput(simulate, rng):
    """A row of two beats a cycle comes: the port never waits, and bursts are whole in the end."""
    dut = StreamWriter(32, 16, 32, 8, 32)
    rows = _rows(rng, 8, 32, [2048])

    async def bench(ctx):
        return await _write(ctx, dut, [(0, rows)], rng, delay=200)

    done = simulate(dut, bench)
    assert done.beats == list(range(done.beats[0], done.beats[0] + 512))
    assert {beats for _, beats in done.bursts[-8:]} == {32}


def test_words_do_not_wait_while_the_port_has_nothing_to_do(simulate, rng):
    """A row in ten cycles: bursts of 128 bytes."""
    dut = StreamWriter(32, 16, 32, 8, 32)
    rows = _rows(rng, 8, 32, [512])

    async def bench(ctx):
        return await _write(ctx, dut, [(0, rows)], rng, pause=0.9)

    assert {beats for _, beats in simulate(dut, bench).bursts} == {8}


@pytest.mark.parametrize("burst", [0, 3])
def test_an_error_has_the_tag_and_the_address_of_its_burst(simulate, rng, burst):
    dut = StreamWriter(32, 16, 32, 8, 16)
    rows = _rows(rng, 8, 32, [1024])

    async def bench(ctx):
        return await _write(ctx, dut, [(0x1000, rows)], rng, fault=burst)

    done = simulate(dut, bench)
    address = done.bursts[burst][0]
    assert done.errors == [(burst, Status.HOST_DECERR, address, LINK, 1)]


def test_discard(simulate, rng):
    """Nothing is issued any more, and all that was issued is sent."""
    dut = StreamWriter(32, 16, 32, 8, 16)
    rows = _rows(rng, 8, 32, [1024])

    async def bench(ctx):
        return await _write(ctx, dut, [(0x1000, rows)], rng, quit_at=60)

    done = simulate(dut, bench)
    sent = sum(beats for _, beats in done.bursts)
    assert 0 < sent < 256
    assert done.memory == dict(list(_bytes(0x1000, rows, 32).items())[: 16 * sent])
