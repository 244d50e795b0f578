"""Counters, against plain sums."""

import pytest

from cdma.hdl.lib import counter
from cdma.hdl.lib.counter import Counter, LateCounter, StepCounter


def check(play, rng, width, step_bits, boundaries):
    """Go near each boundary in big steps and past it in small ones, and begin anew in between."""
    most = (1 << step_bits) - 1
    rows, sums, total = [], [], 0

    def add(step, restart=False, enable=True):
        nonlocal total
        rows.append({"enable": enable, "restart": restart, "step": step})
        sums.append(total)  # seen before the edge
        if enable:
            total = ((0 if restart else total) + step) % (1 << width)

    for boundary in boundaries:
        add(int(rng.integers(most + 1)), restart=True)
        while boundary - total > most:
            add(most)
            if rng.random() < 0.1:
                add(int(rng.integers(most + 1)), bool(rng.integers(2)), enable=False)
        add(max(boundary - total - int(rng.integers(20)), 0))
        for _ in range(30):
            add(int(rng.integers(min(most, 4) + 1)))
    add(0)
    seen = play(Counter(width, step_bits), rows, ["value"])["value"]
    assert seen == sums


@pytest.mark.parametrize(
    ("width", "step_bits", "boundaries"),
    [
        (32, 4, [1 << 8, 1 << 10]),
        (32, 10, [1 << 10, 1 << 16, 1 << 18]),
        (32, 14, [1 << 14, 1 << 22]),
        (32, 22, [1 << 22, 1 << 30, 1 << 32]),
        (29, 21, [1 << 29]),
        (28, 1, [1 << 8]),
        (9, 8, [1 << 8, 1 << 9, 1 << 9]),
    ],
)
def test_sum_goes_past_the_ends_of_its_parts(play, rng, width, step_bits, boundaries):
    check(play, rng, width, step_bits, boundaries)


@pytest.mark.parametrize(("width", "part"), [(8, 1), (9, 2), (11, 3), (10, 4)])
def test_a_carry_goes_through_many_parts(play, rng, monkeypatch, width, part):
    """As above, with parts so short that the sum runs through all its values."""
    monkeypatch.setattr(counter, "PART_BITS", part)
    check(play, rng, width, 2, [1 << width, 1 << width, *(1 << k for k in range(2, width))])


def test_counts_only_when_enabled(play):
    rows = [
        {"enable": 1, "step": 3},
        {"enable": 0, "step": 7},
        {"restart": 1},
        {"enable": 1, "step": 5},
        {"restart": 0, "step": 0},
    ]
    assert play(Counter(12, 3), rows, ["value"])["value"] == [0, 3, 3, 3, 5]


@pytest.mark.parametrize("step_bits", [0, 12, 13, -1])
def test_bits_of_a_step_out_of_range(step_bits):
    message = f"^Bits of a step must be positive and fewer than the 12 of the sum, not {step_bits}$"
    with pytest.raises(ValueError, match=message):
        Counter(12, step_bits)


@pytest.mark.parametrize("down", [False, True], ids=["up", "down"])
@pytest.mark.parametrize("first", [0, 1, 254, 255, 256, 65534, 65536, (1 << 20) - 2])
def test_a_step_counter_passes_its_parts(play, down, first):
    rows, values, value = [{"load": 1, "load_value": first, "step": 0}], [0], first
    for step in (0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0):
        rows.append({"load": 0, "step": step})
        values.append(value)
        value = (value + (-step if down else step)) % (1 << 20)
    found = play(StepCounter(20, down=down), rows, ["value", "is_end"])
    assert found["value"] == values
    last = 0 if down else (1 << 20) - 1
    settled = [k for k in range(3, len(rows)) if not any(rows[k - n]["step"] for n in (1, 2))]
    assert len(settled) > 2
    assert all(found["is_end"][k] == (values[k] == last) for k in settled)


@pytest.mark.parametrize(("width", "step_bits"), [(20, 8), (40, 12), (30, 17)])
def test_a_late_sum_has_its_latency(play, rng, width, step_bits):
    dut = LateCounter(width, step_bits)
    latency, rows, sums, total = dut.latency, [], [], 0
    for cycle in range(300):
        enable, step = int(rng.random() < 0.7), int(rng.integers(1 << step_bits))
        rows.append({"enable": enable, "step": step, "clear": int(cycle == 200)})
        sums.append(total)
        total = 0 if cycle == 200 else (total + enable * step) % (1 << width)
    found = play(dut, rows, ["value"])["value"]
    expected = [0] * (latency - 1) + sums
    assert found[:200] == expected[:200]
    assert found[201 + latency :] == expected[201 + latency : len(rows)]
    assert found[201] == 0
