"""The way out: beats, what they keep, and when a status follows."""

import pytest

from cdma.hdl.beat import CompressorStatus
from cdma.hdl.config import Config
from cdma.hdl.output import PacketOutput

CONFIG = Config.of(4, 16)


def output(statuses=4, config=CONFIG):
    return PacketOutput(config, CompressorStatus(), statuses)


def row(count, last=True, config=CONFIG):
    top = (1 << config.format.word_bits) - 1
    return {"words": [top - lane for lane in range(config.lanes)], "count": count, "last": last}


def status(index):
    return {"words": index, "bytes": 1000 + index}


def packets_of(rng, number):
    """Rows of packets of 1 to 4 beats, with the words that each beat keeps."""
    rows, kept = [], []
    for _ in range(number):
        for left in reversed(range(int(rng.integers(1, 5)))):
            count = int(rng.integers(CONFIG.lanes + 1))
            rows.append(row(count, last=left == 0))
            kept.append(CONFIG.lanes if left else count)
    return rows, kept


def expected_beat(row, kept, config=CONFIG):
    words = [word if lane < kept else 0 for lane, word in enumerate(row["words"])]
    keep = (1 << kept * config.format.word_bytes) - 1
    return {"words": words, "keep": keep, "last": int(row["last"])}


@pytest.mark.parametrize("config", [CONFIG, Config.of(2, 8), Config.of(32, 8)])
def test_words_that_are_not_kept_leave_as_zero(exchange, config):
    counts = list(range(config.lanes + 1))
    rows = [row(count, config=config) for count in counts]
    sends = {"i": rows, "i_status": [status(count) for count in counts]}
    passed = exchange(output(config=config), sends, {"o": len(rows), "o_status": len(rows)})
    assert passed["o"].payloads == [
        expected_beat(item, count, config) for item, count in zip(rows, counts, strict=True)
    ]


def test_the_count_of_a_beat_that_is_not_last_is_not_looked_at(exchange):
    rows = [row(count, last=False) for count in range(CONFIG.lanes + 1)]
    passed = exchange(output(), {"i": rows, "i_status": []}, {"o": len(rows), "o_status": 0})
    assert passed["o"].payloads == [expected_beat(item, CONFIG.lanes) for item in rows]


def test_one_beat_a_cycle_after_one_cycle(exchange):
    """Packets of one beat with a status each lose no cycle either."""
    rows = [row(3) for _ in range(40)]
    sends = {"i": rows, "i_status": [status(index) for index in range(40)]}
    passed = exchange(output(), sends, {"o": 40, "o_status": 40})
    assert passed["i"].cycles == list(range(40))
    assert passed["o"].cycles == list(range(1, 41))
    assert passed["i_status"].cycles == list(range(40))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("stalls", ["bernoulli:0.5", "alternating", "bursts:5,9"])
def test_a_status_comes_after_its_packets_last_beat(exchange, rng, stalls, seed):
    rows, kept = packets_of(rng, 30)
    statuses = [status(index) for index in range(30)]
    passed = exchange(
        output(),
        {"i": rows, "i_status": statuses},
        {"o": len(rows), "o_status": 30},
        stalls={"i": "bernoulli:0.2", "o": stalls, "o_status": stalls},
        seed=seed,
    )
    assert passed["o"].payloads == [expected_beat(*item) for item in zip(rows, kept, strict=True)]
    assert passed["o_status"].payloads == statuses
    lasts = [
        cycle
        for cycle, beat in zip(passed["o"].cycles, passed["o"].payloads, strict=True)
        if beat["last"]
    ]
    for after, cycle in zip(passed["o_status"].cycles, lasts, strict=True):
        assert after > cycle


def test_a_status_waits_for_a_last_beat_that_is_not_taken(exchange):
    stalls = {"o": "paused:25"}
    sends = {"i": [row(1)], "i_status": [status(9)]}
    passed = exchange(output(), sends, {"o": 1, "o_status": 1}, stalls=stalls)
    assert passed["o"].cycles == [25]
    assert passed["o_status"].cycles == [26]


def test_a_status_may_come_in_after_its_packet_left(exchange):
    sends = {"i": [row(1), row(2)], "i_status": [status(1), status(2)]}
    receives = {"o": 2, "o_status": 2}
    passed = exchange(output(), sends, receives, stalls={"i_status": "paused:25"})
    assert passed["o"].cycles == [1, 2]
    assert passed["o_status"].cycles == [26, 27]
    assert passed["o_status"].payloads == sends["i_status"]


@pytest.mark.parametrize("statuses", [4, 8])
def test_statuses_that_are_not_taken_hold_others_back(exchange, statuses):
    items = [status(index) for index in range(2 * statuses)]
    passed = exchange(
        output(statuses),
        {"i": [row(1)] * statuses, "i_status": items},
        {"o": statuses, "o_status": statuses},
        stalls={"o_status": "paused:60"},
    )
    # The queue takes what it has room for, the next only after one has left; and the statuses of
    # packets that did not leave stay inside.
    assert passed["i_status"].cycles[:statuses] == list(range(statuses))
    assert passed["i_status"].cycles[statuses:] == list(range(61, 61 + statuses))
    assert passed["o_status"].cycles == list(range(60, 60 + statuses))
    assert passed["o_status"].payloads == items[:statuses]


def test_the_beat_is_registered(simulate, cut):
    unit = output()

    async def bench(ctx):
        seen = []
        for valid in (0, 1):
            ctx.set(unit.i.valid, valid)
            ctx.set(unit.i.payload, row(2))
            await ctx.tick()
            inputs = [unit.i.valid, unit.i.payload, unit.o.ready]
            cut(ctx, inputs, [unit.o.valid, unit.o.payload])
            # While a beat stands there, `i.ready` is what `o.ready` is.
            for ready in (0, 1):
                ctx.set(unit.o.ready, ready)
                seen.append(ctx.get(unit.i.ready))
        return seen

    assert simulate(unit, bench) == [1, 1, 0, 1]


@pytest.mark.parametrize("statuses", [0, 2, 3, 12])
def test_room_for_statuses_is_not_a_power_of_two_from_4_on(statuses):
    message = f"^Room for statuses must be a power of two of at least 4, not {statuses}$"
    with pytest.raises(ValueError, match=message):
        output(statuses)
