"""AUTO looks back over D stripes."""

import numpy as np
import pytest

from cdma.engine_codes import Raw
from cdma.golden.engine import stripes
from cdma.hdl.engine.offload.policy import RawDecision


def _decide(exchange, begin, config, policy, exceeds, lag):
    dut = RawDecision(config)
    sends = [{"address": 0, "bytes": 4, "number": k, "raw": 0} for k in range(len(exceeds))]
    known = 0

    def report_size(ctx, cycle, passed):
        nonlocal known
        went = passed["o"].cycles
        # The size of a stripe is known some cycles after its transfer.
        is_known = known < len(went) and went[known] + lag <= cycle
        ctx.set(dut.clear, cycle == 0)
        ctx.set(dut.known, is_known)
        ctx.set(dut.exceeds, is_known and exceeds[known])
        known += is_known

    stalls = {"i": "paused:3"}  # `clear` comes first
    each = begin(dut, report_size, policy=int(policy))
    passed = exchange(dut, {"i": sends}, {"o": len(sends)}, stalls=stalls, each=each)
    return [item["raw"] for item in passed["o"].payloads]


@pytest.mark.parametrize("lag", [3, 50])
def test_auto(exchange, begin, small, rng, lag):
    config = small(stripe_bytes=1024)
    count = 3 * config.auto_distance
    exceeds = rng.random(count) < 0.5
    memory = np.full(count, config.stripe_bytes)
    expected = stripes.raw_stripes(memory + exceeds, memory, Raw.AUTO, config.auto_distance)
    found = _decide(exchange, begin, config, Raw.AUTO, exceeds.tolist(), lag)
    assert found == expected.astype(int).tolist()


@pytest.mark.parametrize(("policy", "raw"), [(Raw.NEVER, 0), (Raw.ALWAYS, 1)])
def test_fixed_policies(exchange, begin, small, policy, raw):
    found = _decide(exchange, begin, small(), policy, [True, False] * 20, 3)
    assert found == [raw] * 40
