"""The steps of packets, against the format's order."""

import pytest

from cdma.hdl.zvcplus.config import Config
from cdma.hdl.zvcplus.decompressor.steps import ControlSteps

OUTPUTS = ("phase", "has_control", "is_first", "is_second", "has_block", "is_tail", "is_end")
OUTPUTS += ("shares_tail", "shares_end", "is_last", "is_empty", "words", "starts")
OUTPUTS += ("i_command.ready",)


def steps_of(play, rng, packets, *, repeats="none", can_start=1.0):
    """Outputs in the last phase of each step, and the commands that were taken in it."""
    config, queue, rows = Config("fp32", repeats), list(packets), []
    dut = ControlSteps(config)
    for _ in range(60 + 12 * sum(words // 32 + 4 for words in packets)):
        rows.append({"can_start": bool(rng.random() < can_start)})
    steps, taken = [], []

    async def bench(ctx):
        for row in rows:
            ctx.set(dut.i_command.valid, bool(queue))
            if queue:
                ctx.set(dut.i_command.payload, {"words": queue[0]})
            ctx.set(dut.can_start, row["can_start"])
            kinds = [ctx.get(getattr(dut, name)) for name in ("has_control", "is_tail", "is_end")]
            ctx.set(dut.proceed, any(kinds) and rng.random() < 0.7)
            if ctx.get(dut.phase) == 8:
                steps.append({name: ctx.get(getattr(dut, name)) for name in OUTPUTS[:-1]})
            if ctx.get(dut.i_command.ready):
                taken.append(queue.pop(0))
            await ctx.tick()

    play(dut, bench)
    assert taken == list(packets)
    return steps


@pytest.mark.parametrize("can_start", [1.0, 0.2])
@pytest.mark.parametrize("repeats", ["none", "left"])
def test_packets_have_a_step_for_each_control_and_two_more(simulate, rng, repeats, can_start):
    packets = [0, 1, 31, 32, 33, 100, 0, 0, 64, 65, 1, 1, 1, 200]
    steps = steps_of(simulate, rng, packets, repeats=repeats, can_start=can_start)
    controls = [step for step in steps if step["has_control"]]
    expected = []
    for words in packets:
        blocks = max(1, -(-words // 32))
        for block in range(blocks):
            is_last = block == blocks - 1
            one = {"is_first": block == 0, "is_last": is_last, "is_empty": words == 0}
            expected.append(one | ({"words": words - 32 * block} if is_last else {}))
    found = [
        {name: step[name] for name in names} for step, names in zip(controls, expected, strict=True)
    ]
    assert found == expected
    # What follows from the steps before.
    was_control = was_first = was_tail = was_last = had_shared_tail = False
    for step in steps:
        assert step["is_tail"] == (was_control and was_last)
        assert step["is_end"] == was_tail
        assert step["has_block"] == was_control
        assert step["shares_tail"] == (step["is_tail"] and step["has_control"])
        if step["has_block"]:
            assert step["is_second"] == was_first
        if step["is_end"]:
            is_new = step["has_control"] and step["is_first"]
            assert step["shares_end"] == (had_shared_tail or is_new)
        had_shared_tail = step["shares_tail"]
        was_control, was_tail = step["has_control"], step["is_tail"]
        was_first, was_last = step["is_first"], step["is_last"]
    assert any(step["shares_end"] for step in steps)
    assert any(step["shares_tail"] for step in steps) == (repeats == "none")


def test_a_step_waits_in_its_first_phase(play):
    rows = [{"i_command.valid": 1, "i_command.payload": {"words": 40}, "can_start": 1}]
    rows += [{"proceed": 0}] * 3 + [{"proceed": 1}] + [{"proceed": 0}] * 6
    seen = play(ControlSteps(Config("fp32")), rows, ["phase", "starts", "i_command.ready"])
    assert seen["phase"] == [1, 1, 1, 1, 1, 2, 4, 8, 1, 1, 1]
    assert seen["starts"][:2] == [1, 0]
    assert seen["i_command.ready"].index(1) == 5
