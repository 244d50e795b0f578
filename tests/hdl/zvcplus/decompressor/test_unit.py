"""The decompressor, against the golden model: words, statuses, cycles, wrong streams."""

import numpy as np
import pytest

from cdma.golden import zvcplus
from cdma.golden.zvcplus.errors import StreamError
from cdma.hdl.zvcplus.config import ERROR_CODES, Config
from cdma.hdl.zvcplus.decompressor import Decompressor
from cdma.zvcplus import ErrorCode

pytestmark = pytest.mark.slow


def words_of(rng, config: Config, number: int, density: float, *, noise: bool = False):
    """A packet's words: positive floats, or any bits."""
    bits = config.word.bits
    words = np.abs(rng.normal(size=number)).astype(np.float32).view(np.uint32) >> (32 - bits)
    if noise:
        words = rng.integers(1 << bits, size=number)
    return (words * (rng.random(number) < density)).astype(config.format.dtype)


@pytest.fixture
def decompress(exchange, beats_of, packets_of):
    """Function that sends streams and their numbers of words through a decompressor."""

    def run(config: Config, packets, **options):
        sends = {
            "i": [beat for stream, _ in packets for beat in beats_of(stream, config)],
            "i_command": [{"words": number} for _, number in packets],
        }
        beats = sum(max(1, -(-number // config.lanes)) for _, number in packets)
        owed = {"o": beats, "o_status": len(packets)}
        passed = exchange(Decompressor(config), sends, owed, **options)
        words = packets_of(passed["o"].payloads, config)
        return passed, words, passed["o_status"].payloads

    return run


def stream_of(words, config: Config) -> bytes:
    return zvcplus.compress(words, config.format).tobytes()


@pytest.mark.parametrize(
    ("type_", "stalls"),
    [
        ("fp32", "never"),
        ("fp32", "bernoulli:0.4"),
        ("bf16", "bernoulli:0.3"),
        ("fp16", "never"),
        ("int8", "bernoulli:0.3"),
    ],
)
def test_packets_come_back(decompress, rng, type_, stalls):
    config = Config.parse(f"zvcplus-{type_}")
    sizes = [0, 1, 7, 8, 9, 31, 32, 33, 64, 100, 300]
    packets = [
        words_of(rng, config, number, density, noise=number % 2 == 0 and density > 0.5)
        for number in sizes
        for density in (0, 0.4, 1)
    ]
    if config.has_repeats:
        packets += [np.repeat(words, 3)[: len(words)] for words in packets]
    given = [(stream_of(words, config), len(words)) for words in packets]
    _, found, statuses = decompress(config, given, stalls=stalls)
    assert found == [words.tobytes() for words in packets]
    assert statuses == [{"bytes": len(stream), "error": 0} for stream, _ in given]


@pytest.mark.parametrize("name", ["zeros", "raw", "activations", "bursts"])
def test_a_packet_takes_its_beats_and_the_latency(decompress, rng, name):
    config = Config("fp32")
    size, blocks = config.word.block_words, 40
    words = words_of(rng, config, size * blocks, {"activations": 0.6, "zeros": 0}.get(name, 1))
    if name in ("raw", "bursts"):
        words = rng.integers(1, 1 << 32, size=size * blocks).astype(np.uint32)
    if name == "bursts":
        words = (words.reshape(-1, size) * (np.arange(blocks) // 5 % 2)[:, np.newaxis]).astype(
            "<u4"
        )
        words = words.reshape(-1)
    stream = stream_of(words, config)
    passed, found, _ = decompress(config, [(stream, len(words))])
    assert found == [words.tobytes()]
    cycles = passed["o"].cycles[-1] - passed["i"].cycles[0] + 1
    most = max(len(passed["i"].cycles), len(passed["o"].cycles))
    latency = Decompressor.latency(config)
    assert passed["o"].cycles[0] - passed["i"].cycles[0] + 1 == latency
    assert cycles <= most + latency


@pytest.mark.parametrize("name", ["zvcplus-fp32", "zvcplus-fp32-left"])
def test_a_command_is_taken_before_the_rows(simulate, rng, beats_of, name):
    """Whoever sends a packet may wait until its command is taken, and only then send rows."""
    config = Config.parse(name)
    words = words_of(rng, config, 40, 0.5)
    dut = Decompressor(config)

    async def bench(ctx):
        ctx.set(dut.o.ready, 1)
        ctx.set(dut.o_status.ready, 1)
        for _ in range(3):
            ctx.set(dut.i_command.valid, 1)
            ctx.set(dut.i_command.payload.words, len(words))
            for _ in range(40):
                *_, is_taken = await ctx.tick().sample(dut.i_command.ready)
                if is_taken:
                    break
            assert is_taken
            ctx.set(dut.i_command.valid, 0)
            for beat in beats_of(stream_of(words, config), config):
                ctx.set(dut.i.valid, 1)
                ctx.set(dut.i.payload, beat)
                await ctx.tick().until(dut.i.ready)
            ctx.set(dut.i.valid, 0)

    simulate(dut, bench)


def damaged(rng, stream: bytes, kind: int) -> bytes:
    """A stream with other bits, an end too early or too late, or other bytes altogether."""
    if kind == 0 and stream:
        at = int(rng.integers(len(stream)))
        return stream[:at] + bytes([stream[at] ^ 1 << int(rng.integers(8))]) + stream[at + 1 :]
    if kind == 1:
        return stream[: int(rng.integers(len(stream) + 1))]
    if kind == 2:
        return stream + bytes(int(rng.integers(1, 100)))
    return rng.bytes(int(rng.integers(200)))


@pytest.mark.parametrize("stalls", ["never", "bernoulli:0.3"])
def test_wrong_streams_end_with_the_first_error(decompress, rng, stalls):
    """Every other packet is right. Errors that hardware does not look for give some words."""
    config, packets, expected = Config("fp32"), [], []
    for kind in [0, 1, 2, 3] * 8:
        words = words_of(rng, config, int(rng.integers(150)), rng.random())
        stream = stream_of(words, config)
        wrong = damaged(rng, stream, kind)
        try:
            decoded = zvcplus.decompress(np.frombuffer(wrong, np.uint8), len(words), config.format)
            expected.append((ErrorCode.NONE, decoded.tobytes()))
        except StreamError as error:
            expected.append((error.code, None))
        expected.append((ErrorCode.NONE, words.tobytes()))
        packets += [(wrong, len(words)), (stream, len(words))]
    _, found, statuses = decompress(config, packets, stalls=stalls)
    for (stream, number), (code, content), words, status in zip(
        packets, expected, found, statuses, strict=True
    ):
        assert len(words) == number * config.format.word_bytes
        assert status["bytes"] <= len(stream)
        assert ErrorCode(status["error"]) in ERROR_CODES
        if code in ERROR_CODES:
            assert status["error"] == code
        if content is not None:
            assert words == content
            assert status["bytes"] == len(stream)
    assert {code for code, _ in expected} >= {
        ErrorCode.NONE,
        ErrorCode.TRUNCATED,
        ErrorCode.TRAILING,
    }
