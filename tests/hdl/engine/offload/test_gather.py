"""Rows of several channels in the order of their stripes."""

import pytest

from cdma.hdl.engine.offload.gather import Gather


def _aliases(dut, channels):
    for k in range(channels):
        setattr(dut, f"i{k}", dut.i[k])
        setattr(dut, f"s{k}", dut.i_status[k])
    return dut


@pytest.mark.parametrize("channels", [1, 2, 4])
@pytest.mark.parametrize("stall", ["never", "bernoulli:0.6"])
def test_order(exchange, small, rows_of, noise, channels, stall):
    config = small(channels=channels)
    order = [(k * 5 + k // 3) % channels for k in range(12)]
    sends = {f"i{k}": [] for k in range(channels)} | {f"s{k}": [] for k in range(channels)}
    expected, rows = [], 0
    for number, channel in enumerate(order):
        words = noise(1 + 3 * (number % 4), seed=number)
        part = rows_of(words, config)
        status = {"raw": number % 2, "exceeds": 0, "error": number}
        sends[f"i{channel}"] += part
        sends[f"s{channel}"].append(status)
        rows += len(part)
        expected += [(row["words"], channel, number if row["last"] else None) for row in part]
    dut = _aliases(Gather(config), channels)
    passed = exchange(dut, {"order": order, **sends}, {"o": rows}, stalls=stall)
    found = [
        (
            item["row"]["words"],
            item["channel"],
            item["status"]["error"] if item["row"]["last"] else None,
        )
        for item in passed["o"].payloads
    ]
    expected = [(list(map(int, words)), channel, error) for words, channel, error in expected]
    assert found == expected
    if stall == "never":
        assert passed["o"].cycles == list(range(rows))
