"""The Verilog of units of several types: each packet has its own."""

import numpy as np
import pytest

from cdma.errors import UserError
from cdma.golden.codecs import codec_of
from cdma.hdl import emit
from cdma.hdl.zvcplus.mixed import MixedDecompressor
from cdma.hdl.zvcplus.mixed.config import NAMED, MixedConfig
from cdma.sim import RtlModel, Scenario, stimulus
from cdma.sim.throughput import packet_beats
from cdma.sim.typed import Typed, config_for, part_of, shuffled, untyped
from cdma.sim.units import bench_of


def has_decompressor(config):
    """Whether there is a decompressor of each type, with these repeats."""
    try:
        return bool(MixedDecompressor(config))
    except ValueError:
        return False


TWO = NAMED["zvcplus-fp32+bf16"]
UNITS = pytest.mark.parametrize("unit", ["compressor", "decompressor", "roundtrip"])
BOTH = pytest.mark.parametrize("unit", ["compressor", "decompressor"])
#: Units, and configurations that there are of them: of a roundtrip, those of a decompressor.
EACH = [
    (unit, config)
    for unit in ("compressor", "decompressor", "roundtrip")
    for config in NAMED.values()
    if unit == "compressor" or has_decompressor(config)
]
EVERY = pytest.mark.parametrize(
    ("unit", "config"), EACH, ids=lambda each: getattr(each, "name", each)
)
ALONE = pytest.mark.parametrize(
    ("unit", "config"),
    [each for each in EACH if each[0] != "roundtrip"],
    ids=lambda each: getattr(each, "name", each),
)
STALLS = ["never", "bernoulli:0.4", {"sink": "bursts:4,9"}, {"status": "always-but-one:9"}]
STALLS += [{"command": "bernoulli:0.8"}, {"source": "paused:60", "command": "always-but-one:5"}]


def fed(unit, config, seed, count=None):
    """Packets of all types in a random order; a roundtrip takes words, as the compressor."""
    first = "compressor" if unit == "roundtrip" else unit
    return shuffled(
        {
            number: stimulus.fed(first, stimulus.packets(part, seed)[:count], part)
            for number, part in config.parts.items()
        },
        np.random.default_rng(seed),
    )


def model(unit, config):
    return RtlModel(unit, [part.format for part in config.parts.values()])


def test_what_a_number_counts_as():
    words = np.ones(3, np.uint16)
    packet = Typed(2, words)
    assert config_for(TWO, packet).type == part_of(TWO, 2).type == "bf16"
    assert {part_of(TWO, number).type for number in range(256) if number != 2} == {"fp32"}
    assert untyped(packet) is words
    assert untyped(words) is words
    one = TWO.parts[0]
    assert config_for(one, words) is one


def test_shuffled_packets_keep_the_order_of_their_type():
    packets = {0: list(range(9)), 3: list(range(5))}
    found = shuffled(packets, np.random.default_rng(0))
    assert [packet.packet for packet in found] != [*packets[0], *packets[3]]
    for number, each in packets.items():
        assert [packet.packet for packet in found if packet.type == number] == each


@pytest.mark.parametrize(
    ("unit", "packets", "message"),
    [
        ("compressor", [np.ones(3, np.uint32)], "Packet 0 of a compressor of several types must"),
        ("decompressor", [Typed(0, b"")], "Packet 0 of the decompressor must be a pair"),
    ],
)
def test_a_packet_needs_its_type(unit, packets, message):
    with pytest.raises(UserError, match=f"^{message}"):
        bench_of(unit, TWO).checked(packets)


@pytest.mark.slow
@EVERY
def test_packets_under_back_pressure(verify, unit, config):
    scenarios = [
        Scenario(fed(unit, config, seed), stall, seed, str(stall), is_dirty=seed % 2 == 1)
        for seed, stall in enumerate(STALLS)
    ]
    verify(unit, scenarios, config, simulator="fast")


@pytest.mark.slow
@UNITS
@pytest.mark.parametrize(("simulator", "count"), [("verilator", 12), ("icarus", 2)])
def test_under_cocotb(request, verify, unit, simulator, count):
    """Few packets: Icarus Verilog needs minutes for a thousand cycles of wide rows."""
    if simulator == "icarus":
        request.getfixturevalue("icarus")
    packets = fed(unit, TWO, seed=5, count=count)
    scenarios = [Scenario(packets), Scenario(packets, "bernoulli:0.3", 7, is_dirty=True)]
    verify(unit, scenarios, TWO, simulator=simulator)


@pytest.mark.slow
@BOTH
def test_a_type_that_the_unit_does_not_have_counts_as_its_first(verify, unit):
    packets = [each for each in fed(unit, TWO, seed=2, count=4) if each.type == 0]
    others = [Typed(number, each.packet) for number in (1, 3, 4, 255) for each in packets]
    verify(unit, [Scenario(others)], TWO, simulator="fast")


@pytest.mark.slow
@BOTH
def test_commands(unit):
    """Before the packet, with its first beat, late; the next one while a packet is inside."""
    two, words = model(unit, TWO), np.tile(np.arange(1, 129, dtype="<u4"), 4)
    fmt = TWO.parts[0].format
    packets = [words, words[:3], words]
    if unit == "decompressor":
        packets = [codec_of(fmt).compress(each, fmt) for each in packets]
    counts = [512, 3, 512] if unit == "decompressor" else None
    content = np.concatenate([each.view(np.uint8) for each in packets])
    ends = np.cumsum([0, *(each.nbytes for each in packets)])
    for stall in ("never", {"source": "paused:40"}, {"command": "paused:40"}):
        types = ["fp32"] * 3
        found = two.run_packets(content, ends, stall, 1, counts=counts, types=types)
        commands, beats = found.ports["s_axis_cmd"], found.ports["s_axis"]
        if unit == "decompressor":  # rows may come before their command
            assert beats["first_cycle"][0] <= commands["first_cycle"][0] + 40
            assert commands["first_cycle"][1] < found.ports["m_axis"]["last_cycle"][0]
            continue
        # Without a command no beat is taken; with one, from the next cycle on.
        assert (commands["first_cycle"] < beats["first_cycle"]).all()
        if stall == "never" or "command" in stall:
            assert beats["first_cycle"][0] == commands["first_cycle"][0] + 1
        else:
            assert beats["first_cycle"][0] > commands["first_cycle"][0] + 30
        # The next command is taken while the packet before is inside.
        assert commands["first_cycle"][1] < found.ports["m_axis"]["last_cycle"][0]


@pytest.mark.slow
@BOTH
def test_with_three_statuses_unread_the_output_stalls(unit):
    two = model(unit, TWO)
    types = ["fp32", "bf16", "bf16", "fp32", "bf16"]
    parts = {part.type: part.format for part in TWO.parts.values()}
    words = [np.arange(1, 100, dtype=parts[each].dtype) for each in types]
    packets = words
    if unit == "decompressor":
        packets = [
            codec_of(parts[each]).compress(data, parts[each])
            for each, data in zip(types, words, strict=True)
        ]
    content = np.concatenate([np.ascontiguousarray(each).view(np.uint8) for each in packets])
    ends = np.cumsum([0, *(each.nbytes for each in packets)])
    counts = [99] * 5 if unit == "decompressor" else None
    how = {"counts": counts, "types": types}
    found = two.run_packets(content, ends, {"status": "paused:900"}, **how)
    first = found.ports["m_axis_sts"]["first_cycle"][0]
    assert first >= 900
    assert found.ports["m_axis"]["last_cycle"][2] < first
    assert found.ports["m_axis"]["first_cycle"][3] > first
    sizes = [each.size for each in packets]
    expected = [[size, 0] for size in sizes]
    if unit == "compressor":
        expected = [
            [99, codec_of(parts[each]).compress(data, parts[each]).size]
            for each, data in zip(types, words, strict=True)
        ]
    assert found.status.tolist() == expected


@pytest.mark.slow
@pytest.mark.parametrize("stall", STALLS[:3], ids=str)
def test_errors_do_not_reach_packets_of_other_types(verify, stall):
    rng = np.random.default_rng(3)
    malformed = {number: stimulus.malformed(part, rng) for number, part in TWO.parts.items()}
    scenario = Scenario(shuffled(malformed, rng), stall, seed=3, is_dirty=True)
    (result,) = verify("decompressor", [scenario], TWO, simulator="fast")
    codes = {packet.status[1] for packet in result.packets}
    assert codes == {*TWO.error_codes}


@pytest.mark.slow
@ALONE
def test_a_packet_of_each_type_takes_its_latency(unit, config):
    """In the compressor all types take that of the unit, as they pass the same line."""
    mixed, rng = model(unit, config), np.random.default_rng(5)
    for part in config.parts.values():
        for blocks in (1, 3, 40):
            fmt = part.format
            words = stimulus.random_words(blocks * fmt.block_words, 0.5, fmt, rng)
            given, count = words, None
            if unit == "decompressor":
                given, count = codec_of(fmt).compress(words, fmt), words.size
            found = mixed.run(given, count=count, type=part.type)
            latency = emit.latency(unit, config if unit == "compressor" else part)
            assert found.cycles <= packet_beats(words, part) + latency


@pytest.mark.slow
@ALONE
@pytest.mark.parametrize("blocks", [0.2, 1, 3.5, 30])
def test_types_in_turn_back_to_back(verify, unit, config, blocks):
    """The bound of a run is that of its packets, and the latency once."""
    rng, packets = np.random.default_rng(6), []
    for density in (0.2, 0.5, 0.9) * 4:
        for number, part in config.parts.items():
            count = int(blocks * part.format.block_words)
            words = stimulus.random_words(count, density, part.format, rng)
            (packet,) = stimulus.fed(unit, [words], part)
            packets.append(Typed(number, packet))
    (result,) = verify(unit, [Scenario(packets)], config, simulator="fast")
    assert result.is_fast_enough


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("blocks", [0.2, 1.5, 4])
def test_packets_of_one_type_overlap(unit, blocks):
    """In turn with others they pause; among themselves no longer than in a unit of that type."""
    two, rng = model(unit, TWO), np.random.default_rng(8)
    for part in TWO.parts.values():
        fmt = part.format
        words = [
            stimulus.random_words(int(blocks * fmt.block_words), 0.5, fmt, rng) for _ in range(20)
        ]
        packets = words
        if unit == "decompressor":
            packets = [codec_of(fmt).compress(each, fmt) for each in words]
        content = np.concatenate([each.view(np.uint8) for each in packets])
        ends = np.cumsum([0, *(each.nbytes for each in packets)])
        counts = [each.size for each in words] if unit == "decompressor" else None
        found = two.run_packets(content, ends, counts=counts, types=[part.type] * 20)
        cycles = found.ports["m_axis"]["last_cycle"][-1] - found.ports["s_axis"]["first_cycle"][0]
        beats = sum(packet_beats(each, part) for each in words)
        assert cycles < beats + emit.latency(unit, TWO) + 19 * emit.pause(unit, part)


@pytest.mark.slow
@BOTH
def test_reset_in_any_cycle(verify, unit):
    packets = fed(unit, TWO, seed=6, count=8)
    scenarios = [
        Scenario(packets, "bernoulli:0.2", at, f"reset at {at}", reset_at=at, is_dirty=at % 2 == 0)
        for at in range(1, 90)
    ]
    verify(unit, scenarios, TWO, simulator="fast")


@pytest.mark.slow
def test_model_on_arrays():
    two = model("roundtrip", TWO)
    array = np.maximum(np.random.default_rng(7).normal(size=(5, 70)), 0).astype(np.float32)
    assert two.run(array, type="fp32").output.tobytes() == array.tobytes()
    with pytest.raises(UserError, match=r"^Type of a packet must be one of fp32, bf16, not 'int8'"):
        two.run(array, type="int8")
    with pytest.raises(UserError, match=r"^Types must be 1 names, one for each packet$"):
        two.run_packets(array.reshape(-1).view(np.uint8), [0, 4])
    with pytest.raises(TypeError, match=r"must be bytes or an array of uint8, not of 'float32'$"):
        two.run_packets(array, [0, 4], types=["fp32"])
    one = RtlModel("compressor", TWO.parts[0].format)
    with pytest.raises(UserError, match=r"^Types of packets are for units of several types, not"):
        one.run(array, type="fp32")


def test_left_of_int8_is_a_type_too():
    assert MixedConfig.parse("zvcplus-all-left").parts[3].has_repeats
