"""Plans of rows: in which words of which beats they lie."""

import pytest

from cdma.hdl.engine.prefetch.rows import RowPlanner, beat_words

SIZES = [5, 64, 1, 1, 2, 31, 8, 16]  # words of the stripes


def _cuts(config):
    return [
        {"channel": k % 2, "tag": {"job": 1, "slot": k}, "size": config.word_bytes * size}
        for k, size in enumerate(SIZES)
    ]


def _plans(config, first):
    """Rows by their words, counted from the beat that the stream begins in."""
    place, beat, words = first, 0, beat_words(config)
    for k, size in enumerate(SIZES):
        for start in range(0, size, config.lanes):
            count = min(config.lanes, size - start)
            end = place + count
            yield {
                "first": place - beat * words,
                "count": count,
                "needs": -(-end // words) - beat - 1,
                "drops": end // words - beat,
                "last": int(start + count == size),
                "channel": k % 2,
                "slot": k,
            }
            place, beat = end, end // words


def _seen(plan):
    return {
        **{name: plan[name] for name in ("first", "count", "last", "channel")},
        "needs": plan["needs"].bit_count(),
        "drops": plan["drops"].bit_length() - 1,
        "slot": plan["tag"]["slot"],
    }


@pytest.mark.parametrize("stall", ["never", "bernoulli:0.5"])
@pytest.mark.parametrize("link_bytes", [8, 16, 64])
@pytest.mark.parametrize("first", [0, 1, 3])
def test_plans(exchange, begin, small, link_bytes, first, stall):
    config = small(channels=2, lanes=4, link_bytes=link_bytes)
    first %= beat_words(config)
    plans = list(_plans(config, first))
    each = begin(dut := RowPlanner(config), first=first)
    stalls = {"i_cut": "paused:2", "o": stall}
    passed = exchange(dut, {"i_cut": _cuts(config)}, {"o": len(plans)}, stalls=stalls, each=each)
    assert [_seen(plan) for plan in passed["o"].payloads] == plans
    for plan in passed["o"].payloads:
        assert plan["keep"] == (1 << plan["count"]) - 1
        assert plan["needs"] & (plan["needs"] + 1) == 0
        assert plan["drops"].bit_count() == 1


def test_a_row_a_cycle(exchange, begin, small):
    """Also from stripe to stripe, where these have two rows or more."""
    config = small(channels=2, lanes=4, link_bytes=16)
    cuts = [{"channel": 0, "tag": {}, "size": 4 * size} for size in (9, 64, 8, 7, 30)]
    rows = 3 + 16 + 2 + 2 + 8
    each = begin(dut := RowPlanner(config))
    passed = exchange(dut, {"i_cut": cuts}, {"o": rows}, stalls={"i_cut": "paused:2"}, each=each)
    cycles = passed["o"].cycles
    assert cycles[0] - passed["i_cut"].cycles[0] == 3
    assert cycles[-1] - cycles[0] + 1 == rows


@pytest.mark.parametrize(("words", "skips"), [(6, 0), (8, 1), (9, 1)])
def test_the_rest_of_a_beat_is_skipped(exchange, small, words, skips):
    config = small(channels=2, lanes=4, link_bytes=16)
    cuts = [{"channel": 0, "tag": {}, "size": 4 * words}] * 2
    dut, starts = RowPlanner(config), 0

    def each(ctx, passed):
        nonlocal starts
        taken = len(passed["i_cut"].cycles)
        if taken == starts:
            ctx.set(dut.i_cut.valid, 0)
        can = taken == starts < 2 and ctx.get(dut.idle)
        ctx.set(dut.start, can)
        ctx.set(dut.first, 2)
        starts += can

    rows = 2 * -(-words // 4) + skips
    passed = exchange(dut, {"i_cut": cuts}, {"o": rows}, each=each)
    empty = [plan for plan in passed["o"].payloads if plan["count"] == 0]
    assert [(plan["drops"], plan["needs"], plan["keep"]) for plan in empty] == [(2, 0, 0)] * skips
