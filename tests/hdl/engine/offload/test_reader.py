"""Stripes read in bursts as far as credits go."""

import pytest

from cdma.hdl.engine.common.errors import ReadError
from cdma.hdl.engine.offload.reader import StripeReader

NO_HALT = {"all": 0, "above": 0, "number": 0}
FREE = 256  # words


@pytest.fixture
def read(exchange, begin, small):
    """Function that reads stripes; memory gives the address of each beat as its data."""

    def run(
        stripes,
        beats,
        bursts,
        *,
        errors=None,
        lost=None,
        free=FREE,
        then=None,
        channels=1,
        stalls="never",
        **values,
    ):
        config = small(channels=channels)
        dut = StripeReader(config)
        dut.ar = dut.client.ar
        queue, asked, charges = [], 0, []
        size = config.beat_bytes

        def each(ctx, cycle, passed):
            nonlocal asked
            for request in passed["ar"].payloads[asked:]:
                asked += 1
                for k in range(request["beats"]):
                    address = request["address"] + size * k
                    queue.append((cycle + 4, address, k == request["beats"] - 1))
            due = bool(queue) and queue[0][0] <= cycle
            ctx.set(dut.client.r.valid, due)
            if due:
                _, address, last = queue[0]
                resp = (errors or {}).get(address, 0)
                ctx.set(dut.client.r.payload, {"data": address, "resp": resp, "last": last})
                if ctx.get(dut.client.r.ready):
                    queue.pop(0)
            ctx.set(dut.free, free)
            ctx.set(dut.lost, lost is not None and cycle >= lost)
            if then:
                then(ctx, dut, cycle, passed)
            if ctx.get(dut.charges):
                charges.append(ctx.get(dut.charge))

        values = {"halt": NO_HALT, "has_slot": 1, **values}
        receives = {"ar": bursts, "o": beats}
        passed = exchange(
            dut, {"i": stripes}, receives, each=begin(dut, each, **values), stalls=stalls
        )
        return passed, charges

    return run


def _stripe(number, address, size, raw=0):
    return {"address": address, "bytes": size, "number": number, "raw": raw}


def test_bursts_counts_and_charges(read):
    stripes = [_stripe(0, 0x1000, 1024), _stripe(1, 0x10C0, 1020, raw=1), _stripe(2, 0x2000, 4)]
    passed, charges = read(stripes, 128 + 128 + 1, 2 + 3 + 1)
    found = [(request["address"], request["beats"]) for request in passed["ar"].payloads]
    expected = [(0x1000, 64), (0x1200, 64), (0x10C0, 40), (0x1200, 64), (0x1400, 24), (0x2000, 1)]
    assert found == expected
    beats = passed["o"].payloads
    assert [k for k, beat in enumerate(beats) if beat["last"]] == [127, 255, 256]
    assert [beats[k]["count"] for k in (127, 255, 256)] == [2, 1, 1]
    assert beats[255]["words"][1] == 0
    assert {beat["raw"] for beat in beats[128:256]} == {1}
    # Words of two a beat, a mask for each 32 words but of raw stripes, and a row once a stripe.
    assert charges == [128 + 4 + 2, 128 + 4, 80 + 2, 128, 48, 2 + 1 + 2]


def test_aligned_stripes_of_several_channels(read):
    stripes = [_stripe(0, 0xFFFF_FC00, 1024), _stripe(1, 0x1400, 1000), _stripe(2, 0x2000, 1024)]
    passed, _ = read(stripes, 128 + 125 + 128, 6, channels=2)
    found = [(request["address"], request["beats"]) for request in passed["ar"].payloads]
    starts = [stripe["address"] + 512 * k for stripe in stripes for k in range(2)]
    assert found == list(zip(starts, [64, 64, 64, 61, 64, 64], strict=True))
    words = [address + 8 * k for address, beats in found for k in range(beats)]
    assert [beat["words"][0] for beat in passed["o"].payloads] == words


@pytest.mark.parametrize("lacks", ["free", "has_slot"])
def test_waits_for_credits_and_a_slot(read, lacks):
    values = {"free": 133} if lacks == "free" else {"has_slot": 0}
    read([_stripe(0, 0x1000, 1024)], 0, 0, **values)


def test_the_first_error_of_a_stripe(read):
    stripes = [_stripe(k, 0x1000 + 1024 * k, 1024) for k in range(3)]
    errors = {0x1400 + 8 * 70: 3, 0x1400 + 8 * 90: 2, 0x1800: 2}
    places = []

    def watch(ctx, dut, cycle, passed):
        places.append(ctx.get(dut.where))

    passed, _ = read(stripes, 384, 6, errors=errors, then=watch)
    lasts = [beat["error"] for beat in passed["o"].payloads if beat["last"]]
    assert lasts == [ReadError.NONE, ReadError.DECERR, ReadError.SLVERR]
    assert places[-1] == 0x1400 + 8 * 70


def test_halted_stripes_are_zeros_without_access(read):
    stripes = [_stripe(k, 0x1000 + 1024 * k, 1024) for k in range(3)]
    passed, _ = read(stripes, 384, 2, halt={"all": 0, "above": 1, "number": 0})
    beats = passed["o"].payloads
    assert all(beat["words"] == [0, 0] for beat in beats[128:])
    assert not any(beat["error"] for beat in beats)


def test_a_lost_channel_gives_zeros_and_timeout(read):
    stripes = [_stripe(k, 0x1000 + 1024 * k, 1024) for k in range(2)]
    passed, _ = read(stripes, 256, 0, lost=0)
    lasts = [beat["error"] for beat in passed["o"].payloads if beat["last"]]
    assert lasts == [ReadError.TIMEOUT] * 2


def test_a_quarantine_does_not_end_before_all_beats_were_given(read):
    """The memory's late answers are dropped: bursts that wait then would wait for ever."""
    quarantine = {"lost": 0, "quiet": 0}

    def then(ctx, dut, cycle, passed):
        is_quiet = ctx.get(dut.outstanding) == 0
        quarantine["quiet"] += is_quiet and quarantine["lost"]
        if cycle == 5:
            quarantine["lost"] = 1
        elif cycle > 5 and is_quiet and ctx.get(dut.drained):
            quarantine["lost"] = 0
        ctx.set(dut.lost, quarantine["lost"])

    stripes = [_stripe(k, 0x1000 + 1024 * k, 1024) for k in range(2)]
    passed, _ = read(stripes, 256, 2, then=then, stalls={"o": "paused:400"})
    assert quarantine["quiet"] > 100
    lasts = [beat["error"] for beat in passed["o"].payloads if beat["last"]]
    assert lasts == [ReadError.TIMEOUT] * 2


def test_throughput(read):
    stripes = [_stripe(k, 0x1000 + 1024 * k, 1024) for k in range(2)]
    passed, _ = read(stripes, 256, 4)
    cycles = passed["o"].cycles
    assert cycles[-1] - cycles[0] == 255
