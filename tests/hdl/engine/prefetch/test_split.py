"""The stream of the link cut into the rows of stripes."""

import pytest

from cdma.engine_codes import Status
from cdma.hdl.engine.prefetch.split import Split

SIZES = [5, 64, 1, 1, 2, 31, 8]  # words of the stripes


def _sends(config, stream, address, errors=()):
    """Beats that hold the stream, noise around it; and the cuts."""
    link = config.link_bytes
    before = address % link
    data = b"\xa5" * before + stream
    data += b"\x5a" * (-len(data) % link)
    beats = [
        {
            "data": int.from_bytes(data[k : k + link], "little"),
            "resp": 2 if k // link in errors else 0,
        }
        for k in range(0, len(data), link)
    ]
    cuts = [
        {
            "channel": number % 2,
            "tag": {"job": 1, "slot": number},
            "size": 4 * size,
        }
        for number, size in enumerate(SIZES)
    ]
    return {"i": beats, "i_cut": cuts}


@pytest.mark.parametrize("link_bytes", [8, 16, 64])
@pytest.mark.parametrize("shift", [0, 4, 60])
@pytest.mark.parametrize("stall", ["never", "bernoulli:0.5"])
def test_stripes(exchange, begin, small, noise, words_of, link_bytes, shift, stall):
    config = small(channels=2, lanes=4, link_bytes=link_bytes)
    words = noise(sum(SIZES), 0.9)
    address = 0x4000 + shift
    sends = _sends(config, words.tobytes(), address)
    rows = sum(-(-size // config.lanes) for size in SIZES)
    stalls = {"i": "paused:3", "i_cut": "paused:5", "o": stall}
    each = begin(dut := Split(config), address=address)
    passed = exchange(dut, sends, {"o": rows, "o_error": 0}, stalls=stalls, each=each)
    found = [item["row"] for item in passed["o"].payloads]
    assert words_of(found) == words.tolist()
    ends = [k for k, row in enumerate(found) if row["last"]]
    assert len(ends) == len(SIZES)
    starts = [0, *[k + 1 for k in ends[:-1]]]
    for number, (first, last) in enumerate(zip(starts, ends, strict=True)):
        part = passed["o"].payloads[first : last + 1]
        assert sum(item["row"]["count"] for item in part) == SIZES[number]
        assert {item["channel"] for item in part} == {number % 2}
    for row in found:
        assert not any(row["words"][row["count"] :])


def test_stripes_that_end_inside_a_word(exchange, begin, small, noise):
    """Each next stripe begins with the next word."""
    config = small(lanes=None, codec="zvcplus", link_bytes=16)
    words = noise(sum(SIZES), 0.9)
    sends = _sends(config, words.tobytes(), 0x4004)
    for number, cut in enumerate(sends["i_cut"]):
        cut["channel"] = 0
        cut["size"] -= number % 4
    rows = sum(-(-size // config.lanes) for size in SIZES)
    stalls = {"i": "paused:3", "i_cut": "paused:5", "o": "bernoulli:0.5"}
    each = begin(dut := Split(config), address=0x4004)
    passed = exchange(dut, sends, {"o": rows, "o_error": 0}, stalls=stalls, each=each)
    found = [item["row"] for item in passed["o"].payloads]
    assert [row["missing"] for row in found if row["last"]] == [k % 4 for k in range(len(SIZES))]
    assert not any(row["missing"] for row in found if not row["last"])
    kept = [word for row in found for word in row["words"][: row["count"]]]
    assert kept == words.tolist()


@pytest.mark.parametrize(
    ("link_bytes", "stripe"), [(16, 64), (16, 17), (16, 45), (8, 21), (64, 35)]
)
def test_a_beat_in_each_cycle(exchange, begin, small, noise, link_bytes, stripe):
    """Also over the borders of stripes, wherever these are, while a row has no more words."""
    config, number = small(channels=2, lanes=8, link_bytes=link_bytes), 12
    words = noise(number * stripe, 0.9)
    cuts = [{"channel": 0, "tag": {}, "size": 4 * stripe}] * number
    sends = {"i": _sends(config, words.tobytes(), 0x4000)["i"], "i_cut": cuts}
    rows = number * -(-stripe // config.lanes)
    each = begin(dut := Split(config), address=0x4000)
    passed = exchange(dut, sends, {"o": rows, "o_error": 0}, each=each)
    cycles = passed["i"].cycles
    assert cycles[-1] - cycles[0] + 1 <= max(len(cycles), rows) + 6


@pytest.mark.parametrize("between", [0, 1, 2])
@pytest.mark.parametrize("shift", [0, 4, 12])
def test_the_next_stream_begins_with_the_next_beat(
    exchange, small, noise, words_of, shift, between
):
    """Beats of the next stream wait before it is started; the rest of the last beat is dropped.

    Streams without a stripe, which have no beat, may begin between them.
    """
    config, number = small(channels=2, lanes=4, link_bytes=16), 3
    words = noise(sum(SIZES), 0.9)
    sends = _sends(config, words.tobytes(), 0x4000 + shift)
    sends = {name: number * items for name, items in sends.items()}
    rows = number * sum(-(-size // config.lanes) for size in SIZES)
    dut, started, total, empty = Split(config), 0, len(SIZES), between

    def each(ctx, passed):
        nonlocal started, empty
        done = len(passed["i_cut"].cycles)
        is_between = done == total * started
        starts = is_between and started < number and ctx.get(dut.idle)
        ctx.set(dut.start, starts)
        if is_between:
            ctx.set(dut.i_cut.valid, 0)
        ctx.set(dut.address, 0x5008 if starts and empty else 0x4000 + shift)
        if starts and empty:
            empty -= 1
        elif starts:
            started, empty = started + 1, between

    passed = exchange(dut, sends, {"o": rows, "o_error": 0}, each=each)
    assert words_of([item["row"] for item in passed["o"].payloads]) == number * words.tolist()


@pytest.mark.parametrize("shift", [0, 4])
def test_an_error_is_that_of_the_lowest_stripe_in_the_beat(exchange, begin, small, noise, shift):
    config = small(channels=2, lanes=4, link_bytes=16)
    address = 0x4000 + shift
    words = noise(sum(SIZES), 0.9)
    beat = (4 * sum(SIZES[:2]) + shift) // 16  # with the ends of stripe 1 and all of 2 to 4
    sends = _sends(config, words.tobytes(), address, errors={beat})
    rows = sum(-(-size // config.lanes) for size in SIZES)
    stalls = {"i": "paused:3", "i_cut": "paused:5"}
    each = begin(dut := Split(config), address=address)
    passed = exchange(dut, sends, {"o": rows, "o_error": 1}, stalls=stalls, each=each)
    (first,) = passed["o_error"].payloads
    assert first["status"] == Status.HOST_SLVERR
    assert first["where"] == 0x4000 + 16 * beat
    assert first["tag"] == {"job": 1, "slot": 1}
