"""The order of controls and payloads."""

import numpy as np
import pytest
from zvcplus_plans import plans_of

from cdma.hdl.zvcplus.compressor.order import StreamOrder
from cdma.hdl.zvcplus.config import Config

CONFIG = Config("fp32")
BLANK = {"behind": [0] * 8, "total": 0, "mask": 0, "coding": {}, "words": 0}


def order_of(blocks: list[int]) -> list[tuple]:
    """Controls and beats of a packet in the order of the stream; blocks by their beats."""
    found = [("C", 0)]
    for block, beats in enumerate(blocks):
        if block + 1 < len(blocks):
            found.append(("C", block + 1))
        found += [("P", block, beat) for beat in range(beats)]
    return found


@pytest.mark.parametrize(
    "share", [1, *(pytest.param(each, marks=pytest.mark.slow) for each in (0.3, 0.7))]
)
def test_controls_and_payloads_come_in_the_order_of_the_stream(simulate, rng, share):
    order = StreamOrder(CONFIG)
    packets = [[4, 4, 4, 1], [1], [2], [4, 3], [4, 4], [1], [1], [4] * 6, [4, 1], [3]]
    plans, beats, expected = [], [], []
    for number, packet in enumerate(packets):
        words = np.ones(8 * sum(packet), np.uint32)
        plans += [(number, block, plan) for block, plan in enumerate(plans_of(words, CONFIG))]
        for block, count in enumerate(packet):
            final = block == len(packet) - 1
            beats += [
                (number, block, beat, BLANK | {"end": beat == count - 1, "final": final})
                for beat in range(count)
            ]
        expected += [(number, *item) for item in order_of(packet)]

    async def bench(ctx):
        found, copied, cycles = [], 0, 0
        planned = sent = 0  # plans that have left, beats that were sent
        ctx.set(order.o_plan.ready, 1)
        while len(found) < len(expected):
            is_offered = planned < len(plans) and rng.random() < share
            ctx.set(order.i_plan.valid, is_offered)
            if is_offered:
                ctx.set(order.i_plan.payload, plans[planned][2])
            # A beat is there when its plan was copied.
            has_beat = sent < len(beats) and beats[sent][:2] in {p[:2] for p in plans[:copied]}
            ctx.set(order.i_payload.valid, has_beat)
            if has_beat:
                ctx.set(order.i_payload.payload, beats[sent][3])
            ctx.set(order.has_beat, rng.random() < share)
            enable = rng.random() < share
            ctx.set(order.enable, enable)
            has_control = enable and ctx.get(order.has_control)
            has_payload = enable and ctx.get(order.has_payload)
            assert ctx.get(order.i_payload.ready) == has_payload
            item = []
            if has_control:
                number, block, _ = plans[planned]
                item.append((number, "C", block))
            if has_payload:
                number, block, beat, record = beats[sent]
                is_last = record["end"] and record["final"]
                assert ctx.get(order.last) == is_last
                item.append((number, "P", block, beat))
            if has_control and has_payload and ctx.get(order.is_after):
                assert is_last
                item.reverse()
            found += item
            copied += ctx.get(order.o_plan.valid)
            planned += is_offered and ctx.get(order.i_plan.ready)
            sent += has_payload
            cycles += 1
            assert cycles < 1000
            await ctx.tick()
        return found, cycles

    found, cycles = simulate(order, bench)
    assert found == expected
    if share == 1:  # a cycle for each beat, and where a plan or its first beat comes later
        assert cycles <= len(beats) + len(packets) + 2
