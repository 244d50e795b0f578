"""The table of stripes: what each reader sees, and when slots become free."""

import pytest

from cdma.engine_config import EngineConfig
from cdma.hdl.engine.prefetch.records import stripes_in_work
from cdma.hdl.engine.prefetch.table import StripeTable


def _stripe(number, channel=0, **fields):
    plain = {"end": 0, "job": 3, "channel": channel, "crc": 0, "size": 100 + 4 * number}
    place = {"number": number, "offset": 1000 * number}
    return {**plain, "has_crc": 0, "value": 0, "place": place, **fields}


END = {"end": 1, "job": 3, "channel": 0, "crc": 1, "size": 77, "has_crc": 0, "value": 0}


@pytest.fixture
def fill(exchange, small):
    """Function that puts entries into a table; gives what passes, and events by their cycles.

    ``events`` are cycles in which an input is 1, by its name and, of an array, its bit.
    """

    def run(entries, receives, events=(), *, channels=2, config=None, **values):
        dut = StripeTable(config or small(channels=channels))
        cycle, seen = -1, {"ended": [], "has_room": [], "empty": []}
        events = [(name, at, bit) for name, at, *rest in events for bit in (rest or [0])]

        def each(ctx, passed):
            nonlocal cycle
            cycle += 1
            for name, value in values.items():
                ctx.set(getattr(dut, name), value)
            ctx.set(dut.clear, ("clear", cycle, 0) in events)
            ctx.set(dut.push, cycle < len(entries))
            if cycle < len(entries):
                assert ctx.get(dut.slot) == cycle
                ctx.set(dut.entry, {"place": {}, **entries[cycle]})
            for name in ("decoded", "written", "checked"):
                bits = sum(1 << bit for kind, at, bit in events if (kind, at) == (name, cycle))
                ctx.set(getattr(dut, name), bits)
            for name, found in seen.items():
                if ctx.get(getattr(dut, name)):
                    found.append(cycle)

        stalls = {"o_size": "alternating", "o_cut": "paused:9"}
        passed = exchange(dut, {}, receives, stalls=stalls, each=each, idle=60)
        return passed, seen

    return run


def test_readers_see_what_concerns_them(fill):
    entries = [
        _stripe(0),
        _stripe(1, 1, crc=1, has_crc=1, value=9),
        END,
        _stripe(0, 1, job=4, crc=1),
        {**END, "job": 4},
    ]
    passed, _ = fill(entries, {"o_size": 5, "o_cut": 5, "o_crc": 2})
    sizes = passed["o_size"].payloads
    assert [each["last"] for each in sizes] == [0, 0, 1, 0, 1]
    assert [each["size"] for each in sizes] == [100, 104, 0, 100, 0]
    cuts = passed["o_cut"].payloads
    assert [each["end"] for each in cuts] == [0, 0, 1, 0, 1]
    assert [each["tag"] for each in cuts] == [
        {"job": job, "slot": slot} for slot, job in enumerate([3, 3, 3, 4, 4])
    ]
    assert [(each["channel"], each["size"]) for each in cuts if not each["end"]] == [
        (0, 100),
        (1, 104),
        (1, 100),
    ]
    first, second = passed["o_crc"].payloads
    assert first == {"tag": {"job": 3, "slot": 1}, "has_crc": 1, "crc": 9}
    assert second["tag"] == {"job": 4, "slot": 3}


def test_the_reader_sees_whole_words(fill, small):
    config = small(lanes=None, codec="zvcplus", channels=1)
    passed, _ = fill([_stripe(0, size=101)], {"o_size": 1, "o_cut": 1}, config=config)
    assert passed["o_size"].payloads[0]["size"] == 104
    assert passed["o_cut"].payloads[0]["size"] == 101


@pytest.mark.parametrize(
    ("events", "cycle"),
    [
        ([("decoded", 10, 0), ("written", 12, 0), ("decoded", 20, 1), ("written", 30, 1)], 30),
        ([("decoded", 10, 1), ("written", 12, 1), ("decoded", 20, 0), ("written", 30, 0)], 30),
        ([("decoded", 10, 1), ("written", 12, 1), ("written", 20, 0), ("decoded", 30, 0)], 30),
        ([("decoded", 10, 1), ("written", 12, 1), ("decoded", 20, 0)], None),
        ([("decoded", 10, 1), ("written", 12, 1), ("written", 20, 0)], None),
    ],
)
def test_a_job_ends_when_all_of_its_stripes_are_done(fill, events, cycle):
    entries = [_stripe(0), _stripe(1, 1), END]
    _, seen = fill(entries, {"o_size": 3, "o_cut": 3}, events)
    assert len(seen["ended"]) == (cycle is not None)
    if cycle:
        assert cycle < seen["ended"][0] <= cycle + 3
        assert seen["empty"][-1] > seen["ended"][0]


def test_a_crc_is_waited_for(fill):
    events = [("decoded", 10), ("written", 12), ("checked", 30)]
    _, seen = fill([_stripe(0, crc=1), END], {"o_size": 2, "o_cut": 2, "o_crc": 1}, events)
    assert 30 < seen["ended"][0] <= 33


def test_nothing_ends_while_it_waits(fill):
    events = [("decoded", 10), ("written", 12)]
    _, seen = fill([_stripe(0), END], {"o_size": 2, "o_cut": 2}, events, waits=1)
    assert seen["ended"] == []


def test_what_is_discarded_is_not_written(fill):
    """It becomes free all the same; the job's end is known in another way."""
    events = [("decoded", 10)]
    _, seen = fill([_stripe(0), END], {"o_size": 2, "o_cut": 2}, events, discards=1)
    assert seen["ended"] == []
    assert seen["empty"][-1] > 13


def test_room(fill):
    """Room is left for the ends of jobs."""
    slots = stripes_in_work(EngineConfig(channels=1))
    entries = [_stripe(k) for k in range(slots - 18)]
    events = [(kind, 80 + k) for k in range(4) for kind in ("decoded", "written")]
    count = len(entries)
    _, seen = fill(entries, {"o_size": count, "o_cut": count}, events, channels=1)
    full = slots - 20
    assert set(range(2, full + 1)) <= set(seen["has_room"])
    assert not set(range(full + 3, 80)) & set(seen["has_room"])
    assert seen["has_room"][-1] > 85


def test_clear_forgets_all(fill):
    events = [("decoded", 10), ("clear", 30), ("written", 40)]
    _, seen = fill([_stripe(0), END], {"o_size": 2, "o_cut": 2}, events)
    assert seen["ended"] == []
    assert 29 not in seen["empty"]
    assert 31 in seen["empty"]
