"""The compressor, compiled, against the golden encoder: streams, statuses, cycles, stalls."""

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from zvcplus_cases import random_words

from cdma.golden import zvcplus
from cdma.hdl.axi.stream import AxiTop
from cdma.hdl.emit.verilog import converted
from cdma.hdl.zvc.config import Config as ByteConfig
from cdma.hdl.zvcplus.compressor import Compressor
from cdma.hdl.zvcplus.config import Config
from cdma.sim.backpressure import per_port
from cdma.sim.compiled.run import Fed
from cdma.sim.compiled.unit import ModelUnit

TYPES = ("fp32", "fp16", "bf16", "int8", "fp32-left", "bf16-left", "int8-left")


@cache
def model(config: Config) -> ModelUnit:
    """The unit's Verilog with the C++ loop of a compressor of as many words of as many bits."""
    text = converted(AxiTop(Compressor(config)), "cdma_compressor")
    return ModelUnit("compressor", ByteConfig.of(config.lanes, config.word.bits), text)


def play(config: Config, packets: list, *, stall: str = "never", seed: int = 1) -> dict:
    """Compare streams and statuses with the golden ones; gives what passed each port."""
    ends = np.cumsum([0] + [words.nbytes for words in packets]).astype(np.int64)
    content = np.frombuffer(b"".join(words.tobytes() for words in packets), np.uint8)
    fed = Fed(content, ends, None, per_port(stall, "compressor"), seed, is_dirty=True)
    played = model(config).play(fed)
    assert not played.failure
    expected = [zvcplus.compress(words, config.format).tobytes() for words in packets]
    out = played.ports["m_axis"]
    ends = [0, *out.packets["end"].tolist()]
    found = [out.data[start:end].tobytes() for start, end in pairwise(ends)]
    for words, stream, due in zip(packets, found, expected, strict=True):
        assert stream == due, f"stream of {len(words)} words"
    statuses = played.ports["m_axis_sts"].data.view("<u4").reshape(-1, 2).tolist()
    assert statuses == [
        [len(words), len(due)] for words, due in zip(packets, expected, strict=True)
    ]
    return played.ports


def excess(config: Config, words: np.ndarray) -> int:
    """Cycles of a packet, first beat in to last beat out, beyond its beats.

    A block takes the cycles of its beats, or more where its control and payload have more rows.
    """
    ports = play(config, [words])
    (sent,), (given,) = ports["s_axis"].packets, ports["m_axis"].packets
    cycles = given["last_cycle"] - sent["first_cycle"] + 1
    return int(cycles - max(sent["beats"], given["beats"]))


@pytest.mark.slow
@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("density", [0, 0.5, 1])
def test_packets_of_every_length_around_beats_and_blocks(rng, type_, density):
    config = Config.parse(f"zvcplus-{type_}")
    size, lanes = config.word.block_words, config.lanes
    lengths = [0, 0, 1, 1, *range(lanes + 2), *range(size - 2, size + lanes + 2), 2 * size, 0]
    lengths += [2 * size + 1, 9 * size, 9 * size - 1, 1, 0]
    for is_noise in (False, True):
        packets = []
        for length in lengths:
            words = rng.integers(1, 1 << config.word.bits, length)
            if not is_noise:  # near exponents, positive
                high = 0x3F << config.word.mantissa if config.word.is_float else 0
                words = high >> (config.type == "fp16") | words % 256
            packets.append((words * (rng.random(length) < density)).astype(config.format.dtype))
        play(config, packets)


@pytest.mark.slow
@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize(
    "stall",
    ["never", "bernoulli:0.1", "bernoulli:0.6", "sink=bernoulli:0.5", "source=bernoulli:0.5"],
)
def test_random_packets_back_to_back(rng, type_, stall):
    """Zeros in runs and whole blocks, dense and raw blocks, near and far bases, signs."""
    config = Config.parse(f"zvcplus-{type_}")
    size, lanes = config.word.block_words, config.lanes
    for seed in range(60):
        packets = []
        for _ in range(int(rng.integers(1, 20))):
            parts = [rng.integers(12 * size), size * rng.integers(5), lanes * rng.integers(6)]
            packets.append(random_words(rng, config.format, int(rng.choice([*parts, 1]))))
        play(config, packets, stall=stall, seed=seed)


def blocks_of(rng, config: Config, name: str, number: int) -> np.ndarray:
    """Words of blocks of one kind, or of a mixture."""
    size, word = config.word.block_words, config.word
    noise = rng.integers(1, 1 << word.bits, (number, size))
    kinds = {
        "zeros": np.zeros((number, size), int),
        "raw": noise,
        "dense": 1 << word.mantissa | noise % (1 << word.mantissa),
        "sparse": noise * (rng.random((number, size)) < 0.3),
        # Much in the first beat, where the next control is, and nothing behind it.
        "front": noise * (np.arange(size) < config.lanes),
    }
    if name != "mixed":
        return kinds[name]
    chosen = rng.integers(len(kinds), size=number)
    return np.choose(chosen[:, np.newaxis], list(kinds.values()))


@pytest.mark.slow
@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("name", ["zeros", "raw", "dense", "sparse", "front", "mixed"])
def test_a_packet_takes_its_beats_and_the_latency(rng, type_, name):
    config = Config.parse(f"zvcplus-{type_}")
    most = Compressor.latency(config)
    found = []
    for number in [*range(1, 6), *range(6, 60, 7)] * 3:
        blocks = blocks_of(rng, config, name, number)
        words = blocks.reshape(-1)[: blocks.size - int(rng.integers(config.word.block_words))]
        found.append(excess(config, words.astype(config.format.dtype)))
    assert max(found) <= most
    if name == "mixed":  # neither is the latency stated too high
        assert max(found) >= most - 1


@pytest.mark.slow
def test_a_raw_block_behind_one_base_is_coded_behind_another(rng):
    """31 words of 32 bits: 1,023 bits with a near base, 1,031 with one that is sent."""
    config = Config("fp32")
    size, packets = config.word.block_words, []
    for top in (0x90, 0xFF):
        first = np.full(size, top << 23, np.uint32)
        block = rng.integers(1 << 23, 1 << 32, size).astype(np.uint32)
        block[:2] = 0xFF << 23, 1 << 31
        block[size // 2] = 0
        packets.append(np.concatenate([first, block]))
    play(config, packets)
    sizes = [len(zvcplus.compress(words, config.format)) for words in packets]
    assert len(set(sizes)) == 2
