"""Reading ranges: bursts, reserved room, pieces that come late, beats after a stop."""

import itertools

import pytest

from cdma.hdl.engine.common.bursts import RangeReader

SIZE, DEPTH = 64, 16
BURST = 8  # beats


@pytest.fixture
def read(exchange):
    """Function that reads ranges, each an address and its pieces in bytes, one behind the other.

    ``pieces(cycle)`` says how many pieces may be taken. Gives what passed at each port.
    """

    def run(
        ranges,
        beats,
        *,
        stalls="never",
        latency=5,
        pieces=None,
        depth=DEPTH,
        at_once=False,
        then=None,
        **values,
    ):
        dut = RangeReader(32, SIZE, depth, 12, at_once=at_once)
        dut.ar = dut.client.ar
        asked, queue, most, cycle, started = [], [], 0, -1, 0
        sizes = [
            {"size": size, "last": k == len(sizes) - 1}
            for _, sizes in ranges
            for k, size in enumerate(sizes)
        ]
        ends = [0]
        for _, each in ranges:
            ends.append(ends[-1] + len(each))

        def each(ctx, passed):
            nonlocal most, cycle, started
            cycle += 1
            for name, value in values.items():
                ctx.set(getattr(dut, name), value)
            for request in passed["ar"].payloads[len(asked) :]:
                asked.append(request)
                first = request["address"] // SIZE
                queue.extend((cycle + latency, first + k) for k in range(request["beats"]))
            due = bool(queue) and queue[0][0] <= cycle
            ctx.set(dut.client.r.valid, due)
            if due:
                data = {"data": queue.pop(0)[1], "resp": 2, "last": 0}
                ctx.set(dut.client.r.payload, data)
                assert ctx.get(dut.client.r.ready)
            most = max(most, sum(each["beats"] for each in asked) - len(passed["o"].cycles))
            taken = len(passed["i"].cycles)
            starts = started < len(ranges) and ctx.get(dut.asked) and taken == ends[started]
            ctx.set(dut.start, starts)
            if starts:
                ctx.set(dut.address, ranges[started][0])
                started += 1
            if pieces and taken >= pieces(cycle):
                ctx.set(dut.i.valid, 0)
            if then:
                then(ctx, dut, cycle, passed)

        receives = {"ar": beats[0], "o": beats[1]}
        passed = exchange(dut, {"i": sizes}, receives, stalls=stalls, each=each)
        assert most <= depth
        return passed

    return run


def beats_of(passed):
    return [beat["data"] for beat in passed["o"].payloads]


RANGES = [
    (0, [1], [1]),
    (3, [61], [1]),
    (60, [10], [2]),
    (0, [512], [8]),
    (500, [1000], [1, 8, 8]),
    (500, [10, 0, 2, 500, 488], [1, 8, 8]),
    (4000, [1100], [2, 8, 8]),
    (4000, [1100, 0], [2, 8, 8]),
    (4000, [0], []),
    (4000, [0, 0, 33, 0], [2]),
]


@pytest.mark.parametrize("stall", ["never", "bernoulli:0.5", "paused:60"])
@pytest.mark.parametrize(("address", "pieces", "lengths"), RANGES)
def test_bursts(read, address, pieces, lengths, stall):
    passed = read([(address, pieces)], (len(lengths), sum(lengths)), stalls={"o": stall})
    assert [request["beats"] for request in passed["ar"].payloads] == lengths
    first = address // SIZE
    assert beats_of(passed) == list(range(first, first + sum(lengths)))


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize("stall", ["never", "bernoulli:0.5"])
def test_ranges_follow_each_other(read, stall, at_once):
    """The beats of one range wait for room while those of others wait to be taken."""
    ranges = [(address, pieces) for address, pieces, _ in RANGES]
    lengths = [length for _, _, lengths in RANGES for length in lengths]
    beats = (len(lengths), sum(lengths))
    passed = read(ranges, beats, stalls={"o": stall}, at_once=at_once)
    assert [request["beats"] for request in passed["ar"].payloads] == lengths
    expected = []
    for address, pieces, _ in RANGES:
        if sum(pieces):
            expected += range(address // SIZE, -(-(address + sum(pieces)) // SIZE))
    assert beats_of(passed) == expected


@pytest.mark.parametrize("final", [0, 1])
def test_pieces_that_come_late(read, final):
    """Whole bursts are asked for only, unless nothing more will come for now."""
    ends = [-(-100 * (k + 1) // SIZE) for k in range(16)] if final else []
    borders = sorted({*ends, 0, 8, 16, 24, 25})
    lengths = [end - start for start, end in itertools.pairwise(borders)]
    ranges, beats = [(0, [100] * 16)], (len(lengths), 25)
    passed = read(ranges, beats, pieces=lambda cycle: cycle // 20, final=final)
    assert [request["beats"] for request in passed["ar"].payloads] == lengths
    assert beats_of(passed) == list(range(25))
    assert passed["ar"].cycles[-1] >= 320


def test_latency_and_throughput(read):
    """A burst of 8 beats leaves little time for the next one: some cycles are lost here."""
    passed = read([(0, [512] * 12)], (12, 96), latency=1, depth=64, final=1)
    asked = passed["ar"].cycles
    assert asked[0] - passed["i"].cycles[0] == 5
    assert max(late - early for early, late in itertools.pairwise(asked)) <= BURST
    cycles = passed["o"].cycles
    assert cycles[-1] - cycles[0] + 1 == 96


@pytest.mark.parametrize(
    ("address", "size", "final", "beats"),
    [(0, 512, 0, 8), (60, 10, 1, 2), (500, 1000, 0, 1), (64, 64, 1, 1), (448, 100, 1, 1)],
)
def test_the_first_burst_at_once(simulate, address, size, final, beats):
    """With a piece right behind the start, an address is valid in the cycle after the piece."""
    dut = RangeReader(32, SIZE, DEPTH, 12, at_once=True)

    async def bench(ctx):
        ctx.set(dut.start, 1)
        ctx.set(dut.address, address)
        ctx.set(dut.final, final)
        await ctx.tick()
        ctx.set(dut.start, 0)
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.i.payload.size, size)
        assert ctx.get(dut.i.ready)
        await ctx.tick()
        ctx.set(dut.i.valid, 0)
        request = dut.client.ar
        return (
            ctx.get(request.valid),
            ctx.get(request.payload.address),
            ctx.get(request.payload.beats),
        )

    assert simulate(dut, bench) == (1, address // SIZE * SIZE, beats)


@pytest.mark.parametrize("address", [0, 30])
def test_beats_after_a_stop(read, address):
    """As many as the range has, without error."""

    def stop(ctx, dut, cycle, passed):
        ctx.set(dut.stop, len(passed["ar"].cycles) >= 1)

    passed = read([(address, [1000, 30, 250])], (1, 20 + (address > 0)), then=stop)
    assert beats_of(passed)[:BURST] == list(range(BURST))
    responses = [beat["resp"] for beat in passed["o"].payloads]
    assert responses == [2] * BURST + [0] * (len(responses) - BURST)


@pytest.mark.parametrize("cycle", range(2, 16))
def test_a_range_that_is_abandoned(simulate, cycle):
    """What was asked for is given; nothing else is, and the next range can begin."""
    dut = RangeReader(32, SIZE, DEPTH, 12)

    async def bench(ctx):
        asked = read = given = 0
        ctx.set(dut.client.ar.ready, 1)
        ctx.set(dut.o.ready, 1)
        ctx.set(dut.i.payload.size, 1100)
        for now in range(80):
            ctx.set(dut.start, now in (0, 60))
            ctx.set(dut.i.valid, 1)
            ctx.set(dut.abandon, cycle <= now < 50)
            ctx.set(dut.client.r.valid, read < asked)
            read += read < asked
            if ctx.get(dut.client.ar.valid):
                asked += ctx.get(dut.client.ar.payload.beats)
                assert now < cycle + 2 or now > 60
            given += ctx.get(dut.o.valid)
            if now == 59:
                assert ctx.get(dut.idle)
                assert given == asked
            await ctx.tick()
        return asked

    assert simulate(dut, bench) >= BURST
