"""Rows of several channels in the order of their stripes."""

import pytest

from cdma.hdl.engine.offload.gather import Gather, row_words, unit_words
from cdma.sim.backpressure import parse


def _aliases(dut, channels):
    for k in range(channels):
        setattr(dut, f"i{k}", dut.i[k])
        setattr(dut, f"s{k}", dut.i_status[k])
    return dut


@pytest.fixture
def gather(exchange, begin, rows_of, noise):
    """Function that sends stripes of so many words each, and gives what comes and when."""

    def run(config, order, sizes, stall="never", hold="never", **values):
        channels = config.channels
        sends = {f"i{k}": [] for k in range(channels)} | {f"s{k}": [] for k in range(channels)}
        words = [noise(size, 1.0, seed=size + k) for k, size in enumerate(sizes)]
        for number, channel in enumerate(order):
            sends[f"i{channel}"] += rows_of(words[number], config)
            assert number < 16
            bits = {"error": number & 3, "raw": number >> 2 & 1, "exceeds": number >> 3}
            sends[f"s{channel}"].append(bits)
        dut, rows, units = _aliases(Gather(config), channels), [], []
        willing = parse(hold).willing(7)

        def watch(ctx, cycle, passed):
            ctx.set(dut.hold, not next(willing))
            ctx.set(dut.kept, ctx.get(dut.count))
            row = dut.o
            size = row_words(config)
            given = [ctx.get(row.words[k]) for k in range(size)]
            if ctx.get(dut.valid):
                count = ctx.get(row.count)
                last = ctx.get(row.last)
                error, raw, exceeds = (
                    int(ctx.get(row.status[name])) for name in ("error", "raw", "exceeds")
                )
                status = error | raw << 2 | exceeds << 3 if last else None
                rows.append((cycle, given[:count], ctx.get(row.channel), status))
            if ctx.get(dut.works):
                unit = unit_words(config)
                first = unit * ctx.get(dut.unit)
                part = given[first : min(first + unit, ctx.get(row.count))]
                units.append((cycle, part, bool(ctx.get(dut.ends))))

        sends["order"] = order
        exchange(dut, sends, {}, stalls=stall, each=begin(dut, watch, **values))
        return words, rows, units

    return run


@pytest.mark.parametrize("channels", [1, 2, 4])
@pytest.mark.parametrize("stall", ["never", "bernoulli:0.6"])
def test_order(gather, small, channels, stall):
    order = [(k * 5 + k // 3) % channels for k in range(12)]
    sizes = [1 + 3 * (k % 4) for k in range(12)]
    words, rows, _ = gather(small(channels=channels), order, sizes, stall, hold=stall)
    found = [[] for _ in order]
    number = 0
    for _, part, channel, status in rows:
        assert channel == order[number]
        found[number] += part
        if status is not None:
            assert status == number
            number += 1
    assert found == [list(map(int, each)) for each in words]
    if stall == "never":
        cycles = [row[0] for row in rows]
        assert cycles == list(range(cycles[0], cycles[0] + len(rows)))


@pytest.mark.parametrize(
    ("lanes", "link_bytes"), [(2, 8), (8, 8), (8, 16), (8, 64), (32, 16), (32, 64)]
)
def test_units(gather, small, lanes, link_bytes):
    """While slow, a unit a cycle; rows have 64 bytes at most."""
    config = small(lanes=lanes, link_bytes=link_bytes)
    sizes = [5, 64, 1, 40, 3 * lanes]
    words, rows, units = gather(config, [0] * 5, sizes, slow=1)
    found, number = [[] for _ in sizes], 0
    for _, part, is_end in units:
        found[number] += part
        number += is_end
    assert found == [list(map(int, each)) for each in words]
    assert [w for row in rows for w in row[1]] == [w for each in found for w in each]
    cycles = [each[0] for each in units]
    assert cycles == list(range(cycles[0], cycles[0] + len(units)))
    assert len(units) == sum(-(-size // unit_words(config)) for size in sizes)


def test_rows_are_short(gather, small):
    """A beat of 128 bytes is two rows of 64."""
    config = small(lanes=32, link_bytes=16)
    words, rows, units = gather(config, [0, 0], [40, 64])
    assert not units
    assert [len(row[1]) for row in rows] == [16, 16, 8, 16, 16, 16, 16]
    assert [w for row in rows for w in row[1]] == [int(w) for each in words for w in each]


def test_a_last_row_is_held(exchange, begin, small, rows_of, noise):
    dut, gone = _aliases(Gather(small()), 1), []

    def watch(ctx, cycle, passed):
        ctx.set(dut.hold_last, cycle < 20)
        if ctx.get(dut.takes):
            gone.append(cycle)

    sends = {"i0": rows_of(noise(6, 1.0), small()), "s0": [{"error": 1}], "order": [0]}
    exchange(dut, sends, {}, each=begin(dut, watch))
    assert gone == [0, 1, 20]


def test_rows_are_dropped(simulate, small):
    dut = Gather(small())

    async def bench(ctx):
        for port in (dut.order, dut.i[0], dut.i_status[0]):
            ctx.set(port.valid, 1)
        ctx.set(dut.i[0].payload, {"words": [1, 2], "count": 2, "last": 0})
        ctx.set(dut.kept, 2)
        found = []
        for drops in (0, 1):
            ctx.set(dut.drops, drops)
            await ctx.tick()
            found.append([ctx.get(dut.o[name]) for name in ("count", "kept", "live")])
        return found

    assert simulate(dut, bench) == [[2, 2, 1], [2, 0, 0]]
