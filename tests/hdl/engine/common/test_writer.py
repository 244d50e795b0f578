"""Beats collected to bursts: where they end, what is dropped, whose errors."""

import pytest

from cdma.engine_codes import Status
from cdma.hdl.engine.common.writer import BurstWriter

SIZE, DEPTH = 64, 16  # a burst is 8 beats
NO_HALT = {"all": 0, "above": 0, "number": 0}


def _beats(first, count, number=0, last=True):
    return [
        {
            "address": first + SIZE * k,
            "data": first // SIZE + k,
            "strobe": (1 << SIZE) - 1,
            "tag": {"number": number, "offset": 10 * number},
            "last": int(last and k == count - 1),
        }
        for k in range(count)
    ]


@pytest.fixture
def write(exchange, begin):
    """Function that writes beats; each burst is answered with its response of
    ``responses``, ``delay`` cycles after its last beat."""

    def run(
        beats, bursts, sent, responses=(), errors=0, stalls="never", then=None, outstanding=16,
        delay=0, **values,
    ):  # fmt: skip
        dut = BurstWriter(32, SIZE, DEPTH, Status.DEVICE_SLVERR, outstanding)
        dut.aw, dut.w = dut.client.aw, dut.client.w
        answers = iter(responses)
        answered = 0

        def each(ctx, cycle, passed):
            nonlocal answered
            beats_out = zip(passed["w"].payloads, passed["w"].cycles, strict=True)
            complete = sum(beat["last"] for beat, at in beats_out if at + delay <= cycle)
            due = answered < min(complete, len(passed["aw"].cycles))
            ctx.set(dut.client.b.valid, due)
            if due:
                ctx.set(dut.client.b.payload, next(answers, 0))
                answered += 1
            if then:
                then(ctx, dut, cycle, passed)

        receives = {"aw": bursts, "w": sent, "o_error": errors}
        values = {"halt": NO_HALT, "channel": 5, **values}
        each = begin(dut, each, **values)
        sends, idle = {"i": beats}, 30 + delay
        passed = exchange(dut, sends, receives, stalls=stalls, each=each, idle=idle)
        assert answered == bursts
        return passed

    return run


@pytest.mark.parametrize("stall", [pytest.param("never", marks=pytest.mark.slow), "bernoulli:0.5"])
@pytest.mark.parametrize(
    ("first", "count", "lengths"),
    [(0, 1, [1]), (0, 8, [8]), (0, 20, [8, 8, 4]), (192, 20, [5, 8, 7]), (4096 - 64, 2, [1, 1])],
)
def test_bursts_end_at_boundaries(write, first, count, lengths, stall):
    beats = _beats(first, count)
    passed = write(beats, len(lengths), count, stalls=stall)
    assert [request["beats"] for request in passed["aw"].payloads] == lengths
    starts = [first + SIZE * sum(lengths[:k]) for k in range(len(lengths))]
    assert [request["address"] for request in passed["aw"].payloads] == starts
    assert [beat["data"] for beat in passed["w"].payloads] == [beat["data"] for beat in beats]
    ends = {sum(lengths[: k + 1]) - 1 for k in range(len(lengths))}
    assert {k for k, beat in enumerate(passed["w"].payloads) if beat["last"]} == ends


def test_an_address_waits_for_all_of_its_beats(write):
    beats = _beats(0, 8)
    passed = write(beats, 1, 8, stalls={"i": "alternating"})
    assert passed["aw"].cycles[0] > passed["i"].cycles[-1]
    assert passed["w"].cycles == list(range(passed["w"].cycles[0], passed["w"].cycles[0] + 8))


def test_throughput(write):
    passed = write(_beats(0, 64), 8, 64)
    assert passed["w"].cycles[-1] - passed["w"].cycles[0] == 63


@pytest.mark.parametrize(("outstanding", "is_full"), [(16, True), (4, False)])
def test_bursts_outstanding_cover_the_latency(write, outstanding, is_full):
    """Of 8 beats each: 16 are 128 cycles of work, 4 are 32."""
    passed = write(_beats(0, 256), 32, 256, delay=90, outstanding=outstanding)
    cycles = passed["w"].cycles[-1] - passed["w"].cycles[0] + 1
    assert (cycles == 256) == is_full


def test_flush_ends_a_burst(write):
    def flush(ctx, dut, cycle, passed):
        ctx.set(dut.flush, len(passed["i"].cycles) == 3)

    passed = write(_beats(0, 3, last=False), 1, 3, then=flush)
    assert passed["aw"].payloads[0]["beats"] == 3


def test_bursts_above_a_stripe_are_dropped(write):
    beats = [beat for number in range(6) for beat in _beats(512 * number, 8, number)]
    halt = {"all": 0, "above": 1, "number": 3}
    passed = write(beats, 4, 32, halt=halt)
    assert [request["address"] for request in passed["aw"].payloads] == [0, 512, 1024, 1536]


@pytest.mark.parametrize("how", ["halt", "discard"])
def test_all_is_dropped(write, how):
    values = {"halt": {**NO_HALT, "all": 1}} if how == "halt" else {"discard": 1}
    write(_beats(0, 40), 0, 0, **values)


def test_the_first_error_is_reported(write):
    beats = [beat for number in range(4) for beat in _beats(512 * number, 8, number)]
    passed = write(beats, 4, 32, responses=[0, 3, 2, 0], errors=1, stalls={"o_error": "paused:200"})
    assert passed["o_error"].payloads == [
        {
            "tag": {"job": 0, "number": 1, "offset": 10},
            "status": Status.DEVICE_DECERR,
            "where": 512,
            "channel": 5,
            "halts": 1,
        }
    ]
