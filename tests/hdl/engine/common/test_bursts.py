"""Reading a range: bursts, reserved room, an end that moves, zeros after a stop."""

import pytest

from cdma.hdl.engine.common.bursts import RangeReader

SIZE, DEPTH = 64, 16


@pytest.fixture
def read(exchange, begin):
    """Function that reads a range; gives the addresses asked for and the beats given."""

    def run(address, end, beats, *, stalls="never", latency=5, then=None, **values):
        dut = RangeReader(32, SIZE, DEPTH)
        dut.ar = dut.client.ar
        asked, queue, most = [], [], 0

        def each(ctx, cycle, passed):
            nonlocal most
            for request in passed["ar"].payloads[len(asked) :]:
                asked.append(request)
                first = request["address"] // SIZE
                queue.extend((cycle + latency, first + k) for k in range(request["beats"]))
            due = bool(queue) and queue[0][0] <= cycle
            ctx.set(dut.client.r.valid, due)
            if due:
                data = {"data": queue.pop(0)[1], "resp": 0, "last": 0}
                ctx.set(dut.client.r.payload, data)
                assert ctx.get(dut.client.r.ready)
            most = max(most, sum(each["beats"] for each in asked) - len(passed["o"].cycles))
            ctx.set(dut.enable, cycle > 0)
            if then:
                then(ctx, dut, cycle, passed)

        values = {"address": address, "end": end, "final": 1, **values}
        receives = {"ar": beats[0], "o": beats[1]}
        driver = begin(dut, each, **values)
        passed = exchange(dut, {}, receives, stalls=stalls, each=driver)
        assert most <= DEPTH
        return passed

    return run


@pytest.mark.parametrize("stall", ["never", "bernoulli:0.5", "paused:60"])
@pytest.mark.parametrize(
    ("address", "end", "lengths"),
    [
        (0, 1, [1]),
        (3, 64, [1]),
        (60, 70, [2]),
        (0, 512, [8]),
        (500, 1500, [1, 8, 8]),
        (4000, 5100, [2, 8, 8]),
    ],
)
def test_bursts(read, address, end, lengths, stall):
    passed = read(address, end, (len(lengths), sum(lengths)), stalls={"o": stall})
    assert [request["beats"] for request in passed["ar"].payloads] == lengths
    first = address // SIZE
    assert [beat["data"] for beat in passed["o"].payloads] == list(
        range(first, first + sum(lengths))
    )


def test_a_moving_end_is_read_in_whole_bursts(read):
    def move(ctx, dut, cycle, passed):
        ctx.set(dut.end, min(1600, 100 * (cycle // 10)))
        ctx.set(dut.final, cycle >= 200)

    passed = read(0, 0, (4, 25), then=move)
    assert [request["beats"] for request in passed["ar"].payloads] == [8, 8, 8, 1]
    assert passed["ar"].cycles[0] >= 50
    assert passed["ar"].cycles[-1] >= 200


def test_zeros_after_a_stop(read):
    def stop(ctx, dut, cycle, passed):
        ctx.set(dut.stop, len(passed["ar"].cycles) >= 1)

    passed = read(0, 64 * 20, (1, 20), then=stop)  # before the second address is planned
    data = [beat["data"] for beat in passed["o"].payloads]
    assert data == [*range(8), *[0] * 12]


def test_nothing_is_asked_for_when_it_is_not_enabled(read):
    def disable(ctx, dut, cycle, passed):
        ctx.set(dut.enable, 0)

    read(0, 4096, (0, 0), then=disable)
