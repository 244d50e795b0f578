"""Reset in every cycle, and what is in registers and memories before the first one."""

import re

import numpy as np
import pytest

from cdma import golden
from cdma.hdl import emit
from cdma.hdl.zvc.config import Config
from cdma.sim import Scenario, cosim_all, stimulus
from cdma.sim.power_up import randomised

UNIT = pytest.mark.parametrize("unit", ["compressor", "decompressor"])
SMALL = Config.of(4, 16)
STALLS = {
    "never": "never",
    "any port": "bernoulli:0.5",
    "slow sink": {"sink": "always-but-one:5", "status": "always-but-one:9"},
}


def sizes(*quick, slow=()):
    configs = [*quick, *[pytest.param(config, marks=pytest.mark.slow) for config in slow]]
    return pytest.mark.parametrize("config", configs, ids=lambda config: config.name)


def packets_before(unit, config):
    """Packets that a reset interrupts: a few blocks, a short one and one of nothing behind; the
    decompressor's with errors of each kind."""
    fmt = config.format
    rng = np.random.default_rng(11)
    lengths = (max(2 * fmt.block_words, 8 * config.lanes) + config.lanes + 1, 1, 0)
    words = [stimulus.random_words(n, 0.6, fmt, rng) for n in lengths]
    if unit == "compressor":
        return [words]
    good = stimulus.streams(words, config)
    (stream, count), *_ = good
    marked = golden.compress(np.ones(1, fmt.dtype), fmt).tobytes()
    marked = bytes([marked[0] | 2]) + marked[1:]
    return [
        good,
        [(stream[: len(stream) // 2], count), *good[1:]],
        [(stream + rng.bytes(5 * config.beat_bytes), count), (marked, 1)],
    ]


def runs_after(unit, config, stall):
    """Other packets than those before, and their back-pressure: the first shorter than a beat; the
    longest first, from a slow source; the decompressor's first one cut short."""
    fmt = config.format
    rng = np.random.default_rng(12)
    lengths = (1, 2 * fmt.block_words + 1, config.lanes, 0)
    words = [stimulus.random_words(n, 0.4, fmt, rng) for n in lengths]
    words[0][0] = 5
    slow = {"source": "always-but-one:5"}
    if unit == "compressor":
        return [(words, stall), (words[::-1], slow)]
    good = stimulus.streams(words, config)
    stream, count = good[1]
    cut = [(stream[: fmt.mask_bytes], count), *good]
    return [(good, stall), (good[1:], slow), (cut, stall)]


def cycles_of(before, unit, config):
    """Cycles until the last status is taken."""
    (result,) = cosim_all(unit, [before], config, "fast")
    assert result.problem == ""
    return max(packet.status_cycle for packet in result.packets) + 1


def resets(unit, config, stall, is_thorough=False):
    """A reset in every cycle from the first to past the last status, of one cycle and of several;
    half of the runs drive junk, also in reset. What follows changes from cycle to cycle; where it
    is thorough, all of it follows each."""
    scenarios = []
    for index, packets in enumerate(packets_before(unit, config)):
        before = Scenario(packets, stall, seed=index, name=f"before {index}")
        for at in range(cycles_of(before, unit, config) + 3):
            runs = runs_after(unit, config, stall)
            for after, stall_after in runs if is_thorough else [runs[at % len(runs)]]:
                scenarios.append(
                    Scenario(
                        after,
                        stall_after,
                        seed=at,
                        name=f"packets {index}, reset in cycle {at}",
                        reset_at=at,
                        reset_cycles=(1, 1, 4, 2)[at % 4],
                        before=before,
                        is_dirty=at % 2 == 1,
                    )
                )
    return scenarios


@UNIT
@sizes(
    Config.of(8, 32),
    SMALL,
    slow=[Config.of(2, 8, 32), Config.of(16, 16), Config.of(32, 8), Config.of(8, 32, 96)],
)
@pytest.mark.parametrize("stall", STALLS)
def test_reset_in_every_cycle(verify, unit, config, stall):
    scenarios = resets(unit, config, STALLS[stall])
    assert len(scenarios) > 20
    verify(unit, scenarios, config, simulator="fast")


@pytest.mark.slow
@UNIT
@sizes(Config.of(8, 32), Config.of(2, 8, 32), Config.of(32, 8))
@pytest.mark.parametrize("stall", STALLS)
def test_all_that_may_follow_a_reset(verify, unit, config, stall):
    verify(unit, resets(unit, config, STALLS[stall], is_thorough=True), config, simulator="fast")


def test_every_cycle_is_every_phase_of_a_packet():
    # Nothing is out at first, then something is, at last all is, the status included.
    (packets,) = packets_before("compressor", SMALL)
    (result,) = cosim_all("compressor", [Scenario(packets)], SMALL, "fast")
    resets_at = {scenario.reset_at for scenario in resets("compressor", SMALL, "never")}
    last = result.packets[-1]
    assert resets_at == set(range(last.status_cycle + 4))
    assert 0 < result.packets[0].first_cycle < result.packets[0].last_cycle < last.status_cycle


def without_reset(unit):
    """Verilog in which the statuses that wait on their way out are not forgotten in reset."""
    verilog = emit.verilog(unit, SMALL)
    at = verilog.index(f"module cdma_{unit}_core_output_statuses")
    return verilog[:at] + re.sub(r"rst \? 2'h0 : ", "", verilog[at:], count=1)


@pytest.mark.slow
def test_a_register_that_lost_its_reset_is_found():
    scenarios = resets("decompressor", SMALL, STALLS["slow sink"])
    verilog = without_reset("decompressor")
    results = cosim_all("decompressor", scenarios, SMALL, "fast", verilog=verilog)
    assert any(result.problem for result in results)


def power_ups(unit, config, count):
    """Runs from power-up: the first reset lasts for one cycle, a later one interrupts a packet."""
    after, _ = runs_after(unit, config, "never")[0]
    scenarios = [Scenario(after, "bernoulli:0.3", 1, "from power-up", reset_cycles=1)]
    for index, packets in enumerate(packets_before(unit, config)):
        for at in range(2 + index, 60, 60 // count):
            scenarios.append(
                Scenario(
                    after,
                    ("never", "bernoulli:0.4")[at % 2],
                    at,
                    f"packets {index}, reset in cycle {at}",
                    reset_at=at,
                    reset_cycles=1 + at % 3,
                    before=Scenario(packets, "bernoulli:0.2", at),
                    is_dirty=at % 4 > 1,
                )
            )
    return scenarios


@UNIT
@sizes(Config.of(8, 32), slow=[SMALL, Config.of(2, 8, 32), Config.of(32, 8)])
@pytest.mark.parametrize("contents", ["X", "random"])
def test_nothing_of_power_up_reaches_an_output(verify, icarus, unit, config, contents):
    verilog = emit.verilog(unit, config)
    if contents == "random":
        verilog = randomised(verilog, seed=1)
    verify(unit, power_ups(unit, config, 4), config, simulator=icarus, verilog=verilog)


@pytest.mark.slow
@UNIT
@sizes(Config.of(8, 32), Config.of(2, 8, 32))
@pytest.mark.parametrize("seed", range(4))
def test_random_power_up_under_icarus_at_length(verify, icarus, unit, config, seed):
    verilog = randomised(emit.verilog(unit, config), 100 + seed)
    scenarios = power_ups(unit, config, 30)
    packets = stimulus.packets(config, seed)
    if unit == "decompressor":
        packets = stimulus.streams(packets, config)
        packets += stimulus.malformed(config, np.random.default_rng(seed))[::5]
    scenarios.append(Scenario(packets, "bernoulli:0.3", seed, is_dirty=True, reset_cycles=1))
    verify(unit, scenarios, config, simulator=icarus, verilog=verilog)


@UNIT
def test_power_up_gives_every_register_a_value(unit):
    verilog = emit.verilog(unit, SMALL)
    text = randomised(verilog, seed=2)
    registers = re.findall(r"^ *reg .*;$", verilog, re.MULTILINE)
    assert len(registers) > 50
    assert text.count("initial begin") == len(registers)
    assert [line for line in text.splitlines() if "initial" not in line] == verilog.splitlines()
    memory = re.search(r"reg \[\d+:0\] (\w+) \[(\d+):0\];\n  initial begin (.*) end", text)
    values = re.findall(rf"{memory[1]} \[\d+\] = \d+'h[0-9a-f]+;", memory[3])
    assert len(values) == int(memory[2]) + 1
    assert text == randomised(verilog, seed=2) != randomised(verilog, seed=3)


def test_x_at_an_output_would_be_found(icarus):
    first = power_ups("compressor", SMALL, 1)[:1]
    verilog = without_reset("compressor")
    (result,) = cosim_all("compressor", first, SMALL, icarus, verilog=verilog)
    assert result.failure == "m_axis_sts: tvalid is X in reset, expected 0"
