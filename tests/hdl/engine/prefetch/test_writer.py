"""Stripes written in bursts: where these end, what is dropped, whose errors."""

import itertools

import pytest

from cdma.engine_codes import Status
from cdma.hdl.engine.prefetch.writer import StripeWriter

SIZE = 64  # a burst is 8 beats
FULL = (1 << SIZE) - 1


@pytest.fixture
def write(exchange, small):
    """Function that writes stripes, each an address and a number of beats.

    Each burst is answered with its response of ``responses``, ``delay`` cycles after its last beat.
    """

    def run(
        stripes,
        lengths,
        responses=(),
        *,
        errors=0,
        stalls="never",
        then=None,
        delay=0,
        channels=1,
        **values,
    ):
        config = small(lanes=16, stripe_bytes=2048, stage_bytes=4096, channels=channels)
        dut = StripeWriter(config)
        dut.aw, dut.w = dut.client.aw, dut.client.w
        cycle, answers, answered, written = -1, iter(responses), 0, []
        places = [
            {"address": address, "tag": {"job": 1, "slot": slot}}
            for slot, (address, _) in enumerate(stripes)
        ]
        beats = [
            {"words": [slot, k] + [0] * 14, "keep": FULL, "last": k == count - 1}
            for slot, (_, count) in enumerate(stripes)
            for k in range(count)
        ]

        def each(ctx, passed):
            nonlocal answered, cycle
            cycle += 1
            for name, value in values.items():
                ctx.set(getattr(dut, name), value)
            beats_out = zip(passed["w"].payloads, passed["w"].cycles, strict=True)
            complete = sum(beat["last"] for beat, at in beats_out if at + delay <= cycle)
            due = answered < min(complete, len(passed["aw"].cycles))
            ctx.set(dut.client.b.valid, due)
            if due:
                ctx.set(dut.client.b.payload, next(answers, 0))
                answered += 1
            if ctx.get(dut.written):
                written.append(cycle)
            if then:
                then(ctx, dut, cycle, passed)

        sends = {"i_place": places, "i": beats}
        receives = {"aw": len(lengths), "w": sum(lengths), "o_error": errors}
        passed = exchange(dut, sends, receives, stalls=stalls, each=each, idle=30 + delay)
        assert answered == len(lengths)
        return passed, written

    return run


def test_aligned_stripes_of_several_channels(write):
    stripes = [(0x1000, 32), (0xFFFF_F800, 20), (0x2800, 32), (0x3800, 1)]
    lengths = [8] * 4 + [8, 8, 4] + [8] * 4 + [1]
    passed, written = write(stripes, lengths, channels=2)
    requests = [(request["address"], request["beats"]) for request in passed["aw"].payloads]
    expected = [
        (address + SIZE * first, min(count - first, 8))
        for address, count in stripes
        for first in range(0, count, 8)
    ]
    assert requests == expected
    assert len(written) == len(stripes)
    cycles = passed["w"].cycles
    assert cycles[-1] - cycles[0] < len(cycles) + 8 * len(stripes)


@pytest.mark.parametrize("stall", [pytest.param("never", marks=pytest.mark.slow), "bernoulli:0.5"])
@pytest.mark.parametrize(
    ("stripes", "lengths"),
    [
        ([(0, 1)], [1]),
        ([(0, 8)], [8]),
        ([(0, 20)], [8, 8, 4]),
        ([(192, 20), (0x1000, 16), (0x5000, 1)], [5, 8, 7, 8, 8, 1]),
        ([(4096 - 64, 2)], [1, 1]),
        ([(0xFFFF_FE00 - 64, 10)], [1, 8, 1]),
        ([(0x40 * k, 1) for k in range(12)], [1] * 12),
        ([(0x3FFC0 + 0x1000 * k, 2) for k in range(4)], [1, 1] * 4),
    ],
)
def test_bursts_end_at_boundaries_and_with_stripes(write, stripes, lengths, stall):
    passed, written = write(stripes, lengths, stalls=stall)
    assert [request["beats"] for request in passed["aw"].payloads] == lengths
    starts, ends = [], set()
    for address, count in stripes:
        for k in range(count):
            if k == 0 or (address + SIZE * k) % 512 == 0:
                starts.append(address + SIZE * k)
    for total in itertools.accumulate(lengths):
        ends.add(total - 1)
    assert [request["address"] for request in passed["aw"].payloads] == starts
    expected = [slot | k << 32 for slot, (_, count) in enumerate(stripes) for k in range(count)]
    assert [beat["data"] for beat in passed["w"].payloads] == expected
    assert {k for k, beat in enumerate(passed["w"].payloads) if beat["last"]} == ends
    assert {beat["strobe"] for beat in passed["w"].payloads} == {FULL}
    assert len(written) == len(stripes)


def test_an_address_waits_for_all_of_its_beats(write):
    passed, _ = write([(0, 8)], [8], stalls={"i": "alternating"})
    assert passed["aw"].cycles[0] > passed["i"].cycles[-1]
    assert passed["w"].cycles == list(range(passed["w"].cycles[0], passed["w"].cycles[0] + 8))


def test_throughput(write):
    """A beat a cycle, over borders of bursts and of stripes."""
    passed, _ = write([(2048 * k, 32) for k in range(4)], [8] * 16)
    assert passed["w"].cycles[-1] - passed["w"].cycles[0] == 127


def test_few_bursts_are_outstanding(write):
    """Answers come late: no address is issued beyond the most that wait."""
    most = 0

    def look(ctx, dut, cycle, passed):
        nonlocal most
        most = max(most, ctx.get(dut.outstanding))

    passed, _ = write([(64 * k, 1) for k in range(40)], [1] * 40, delay=200, then=look)
    assert most == 16
    assert passed["aw"].cycles[16] - passed["aw"].cycles[15] > 100


@pytest.mark.parametrize("response", [2, 3])
def test_the_first_error_is_reported(write, response):
    stripes = [(0, 16), (2048, 16)]
    responses, stalls = (0, response, response, 2), {"o_error": "paused:200"}
    passed, written = write(stripes, [8] * 4, responses, errors=1, stalls=stalls)
    (report,) = passed["o_error"].payloads
    assert report["status"] == (Status.DEVICE_SLVERR if response == 2 else Status.DEVICE_DECERR)
    assert (report["tag"], report["where"]) == ({"job": 1, "slot": 0}, 512)
    assert len(written) == 2


@pytest.mark.parametrize(
    "halt",
    [
        {"above": 1, "slot": 0},
        {"younger": 1, "oldest": 15, "age": 1},
        {"younger": 1, "oldest": 0, "age": 0},
        {"all": 1},
    ],
)
def test_what_is_halted_is_dropped(write, halt):
    """Slot 1 is behind slot 0; job 1 has the age 2 or 1."""
    is_all = not halt.get("above")
    passed, written = write([(0, 9), (2048, 9)], [] if is_all else [8, 1], halt=halt)
    assert len(written) == (0 if is_all else 1)
    assert len(passed["i"].cycles) == 18


@pytest.mark.parametrize("cycle", range(2, 40, 3))
def test_quarantine(simulate, small, cycle):
    """From then on nothing new is issued, all beats are taken, and the first stripe is a TIMEOUT.

    The address that waits stays.
    """
    dut = StripeWriter(small(lanes=16, stripe_bytes=2048, stage_bytes=4096))

    async def bench(ctx):
        stripe = beat = asked = 0
        reports = []
        for now in range(90):
            ctx.set(dut.lost, now >= cycle)
            ctx.set(dut.client.aw.ready, now < cycle)
            ctx.set(dut.client.w.ready, now < cycle)
            ctx.set(dut.i_place.valid, stripe < 3)
            ctx.set(
                dut.i_place.payload, {"address": 2048 * stripe, "tag": {"job": 1, "slot": stripe}}
            )
            ctx.set(dut.i.valid, beat < 48)
            ctx.set(dut.i.payload, {"words": [beat] * 16, "keep": FULL, "last": beat % 16 == 15})
            ctx.set(dut.o_error.ready, 1)
            stripe += ctx.get(dut.i_place.ready) and stripe < 3
            beat += ctx.get(dut.i.ready) and beat < 48
            asked += ctx.get(dut.client.aw.valid) and now < cycle
            if ctx.get(dut.o_error.valid):
                report = dut.o_error.payload
                reports.append((ctx.get(report.status), ctx.get(report.tag.slot)))
            waited = ctx.get(dut.client.aw.valid)
            await ctx.tick()
            if now >= cycle:
                assert ctx.get(dut.client.aw.valid) == waited
        assert beat == 48
        assert ctx.get(dut.idle)
        assert not ctx.get(dut.drained) or not asked
        return reports

    reports = simulate(dut, bench)
    assert {status for status, _ in reports} == {Status.TIMEOUT}
    slots = [slot for _, slot in reports]
    assert slots == sorted(slots)
    assert slots[0] <= 1
