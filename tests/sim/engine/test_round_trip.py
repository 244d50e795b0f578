"""Offload and prefetch against the golden engine: lengths, policies, rows, memories, sizes."""

from dataclasses import replace

import numpy as np
import pytest

from cdma import designs
from cdma.engine_codes import Op, Status
from cdma.engine_config import EngineConfig
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.cosim import round_trip
from cdma.sim.engine.engine import DEVICE, HOST, Buffer
from cdma.sim.engine.memory import PROFILES, Memory
from cdma.sim.engine.model import OFFLOAD, PREFETCH

#: Other sizes of the engine, each a build of its own.
CONFIGS = [
    EngineConfig(channels=1, lanes=4, stripe_bytes=1024, link_bytes=64, latency=60),
    EngineConfig(channels=4),
    EngineConfig(channels=8, word_bits=16, stripe_bytes=2048, link_bytes=32, latency=60),
    EngineConfig(channels=8, lanes=2, stripe_bytes=1024, link_bytes=8, latency=60),
    EngineConfig(channels=2, lanes=8, word_bits=8, stripe_bytes=65536, stage_bytes=4096),
    EngineConfig(channels=1, codec="zvcplus", type="bf16", link_bytes=8, latency=60),
    EngineConfig(channels=1, codec="zvcplus", type="fp16", stripe_bytes=65536, link_bytes=64),
]


def lengths(config):
    """Bytes around every border that matters."""
    word, stripe, beat = config.word_bytes, config.stripe_bytes, config.beat_bytes
    lap = stripe * config.channels
    return [
        0,
        word,
        beat,
        beat + word,
        config.block_bytes,
        stripe - word,
        stripe,
        stripe + word,
        *(lap - word, lap, lap + word, 3 * lap + stripe, 5 * lap + beat),
    ]


def test_every_length(model_of, small, tensor, offload, prefetch):
    model = model_of()
    for size in lengths(small):
        job = offload(model, tensor(small, size))
        prefetch(model, job, channel=1)


@pytest.mark.parametrize("channel", [0, 1])
@pytest.mark.parametrize("density", [0, 1, 0.1, "halves"])
def test_first_stripe_on_each_channel(model_of, small, tensor, offload, prefetch, density, channel):
    model = model_of()
    job = offload(model, tensor(small, 9 * 1024 + 20, density), channel=channel)
    prefetch(model, job, channel=1 - channel)


@pytest.mark.slow
@pytest.mark.parametrize("raw", ["auto", "always"])
@pytest.mark.parametrize("crc", [False, True])
def test_raw_stripes(model_of, small, tensor, offload, prefetch, raw, crc):
    model = model_of()
    for density in (1, 0.5, "halves"):
        # Longer than D stripes, so that AUTO acts.
        size = (small.auto_distance + 9) * small.stripe_bytes
        job = offload(model, tensor(small, size, density), raw, crc=crc)
        prefetch(model, job, crc=crc)


@pytest.mark.slow
def test_auto_at_its_own_period(model_of, small, tensor, offload, prefetch):
    """Dense and sparse in turn every D stripes: AUTO decides wrongly every time."""
    model = model_of()
    stripe, period = small.stripe_words, small.auto_distance
    words = tensor(small, 4 * period * small.stripe_bytes, 1)
    for start in (period * stripe, 3 * period * stripe):
        words[start : start + period * stripe] = 0
    prefetch(model, offload(model, words, "auto"))


def test_no_index(model_of, small, tensor, offload):
    offload(model_of(), tensor(small, 5000), index=False)


def test_measure_and_verify(model_of, small, tensor, offload, prefetch):
    model, words = model_of(), tensor(small, 7004)
    job = model.offload(words, "auto", op=Op.MEASURE, counters=False)
    expected = golden.offload(words, small, "auto")
    assert (job.host.data == job.before[1]).all(), "MEASURE writes no stream"
    assert (job.index == expected.index).all()
    assert job.completion.stream_bytes == expected.bytes
    prefetch(model, offload(model, words), op=Op.VERIFY)


@pytest.mark.parametrize("size", [4, 1024, 5000])
def test_copies(model_of, small, tensor, size):
    model, words = model_of(), tensor(small, size)
    out = model.offload(words, limit=size, index=False, op=Op.COPY_OUT, counters=False)
    assert out.status is Status.OK
    assert (out.host.data == words.view(np.uint8)).all()
    none = np.zeros(0, np.uint8)
    back = model.fetch(out.host.data, none, size, op=Op.COPY_IN, with_index=False)
    assert back.status is Status.OK
    assert (back.output == words).all()
    short = model.offload(words, limit=size - 4, index=False, op=Op.COPY_OUT, counters=False)
    assert (short.status, short.completion.stripe) == (Status.OVERFLOW, 0)
    assert (short.host.data == short.before[1]).all()


def test_more_words_than_32_bits_count(model_of, small):
    """2^32 + 1 words: the error has the whole required size, and nothing is read."""
    model, words = model_of(), (1 << 32) + 1
    fields = {"device": 1 << 40, "host": 0x8000_0000, "limit": 4 * ((1 << 32) - 1)}
    for shape in ({"row_bytes": 4 * words}, {"row_bytes": 1 << 20, "rows": (1 << 14) + 1}):
        found = model.run(OFFLOAD, Descriptor(Op.COPY_OUT, **fields, **shape)).completion
        total = shape["row_bytes"] * shape.get("rows", 1)
        assert (found.status, found.stripe) == (Status.OVERFLOW, 0)
        assert found.stream_bytes == total > 1 << 34
    for channel in range(small.channels):
        assert model.engine.counts(channel)["reads"] == 0


def test_capacity(model_of, small, tensor, offload, prefetch):
    """Every capacity around the size: exact, a word short, far too small, none."""
    model, words = model_of(), tensor(small, 4 * 1024 + 48)
    size = golden.offload(words, small, "never").bytes
    for limit in (size + 4, size, size - 4, size // 2 & -4, 1024, 64, 4, 0):
        job = offload(model, words, "never", limit)
        assert job.status is (Status.OK if limit >= size else Status.OVERFLOW)
    prefetch(model, offload(model, words, "never", size))


@pytest.mark.slow
def test_four_kilobytes_at_every_offset(model_of, small, tensor, offload, prefetch):
    """Streams that begin at each multiple of 64 bytes in a page: no burst crosses one."""
    model, words = model_of(), tensor(small, 3 * 1024, 1)
    job = offload(model, words)
    places = set()
    for offset in range(0, 4096, 64):
        for play in (lambda: prefetch(model, job), lambda: offload(model, words)):
            page = model.allocate(HOST, 0, align=4096)
            # The next buffer begins behind a gap of a page.
            model._next[HOST] = page.address + offset
            back = play()
            assert back.descriptor.host % 4096 == offset
            places.add(back.descriptor.host % 4096)
    assert len(places) == 64


@pytest.mark.slow
def test_prefetch_from_every_word_of_a_page(model_of, small, tensor, offload):
    """Streams that begin at each word, with the end of the page at each of their words."""
    model, words = model_of(), tensor(small, 1024 + small.word_bytes, 1)
    job = offload(model, words)
    for offset in range(0, 4096, small.word_bytes):
        target = model.allocate(DEVICE, words.nbytes, align=2048)
        host = model.allocate(HOST, job.stream.size, align=4096, offset=offset, writable=False)
        index = model.allocate(HOST, job.index.size, offset=8 * (offset % 8), writable=False)
        host.data[:], index.data[:] = job.stream, job.index
        fields = {"device": target.address, "host": host.address, "index": index.address}
        fields |= {"row_bytes": words.nbytes, "limit": host.data.size, "with_index": True}
        assert model.run(PREFETCH, Descriptor(Op.PREFETCH, **fields)).status is Status.OK
        assert (target.data == words.view(np.uint8)).all()
        model.free(target, host, index)


@pytest.mark.parametrize("end", [512, 4096])
@pytest.mark.parametrize("change", [-1, 0, 1])
def test_an_end_at_a_burst_and_at_a_page(model_of, small, tensor, end, change):
    """Streams that end there, a word before, a word behind, which is the capacity too."""
    model = model_of()
    for size in (1024, 4096, 3 * 1024 + 512):
        words = tensor(small, size + change * small.word_bytes, 1)
        total = words.nbytes
        page = model.allocate(HOST, 0, align=4096).address + 8192
        host = page + (-size) % end + 3584 * (end == 512)
        model.engine.add(stream := Buffer(HOST, host, np.zeros(total, np.uint8)))
        model._next[HOST] = stream.end
        source, target = model.place_tensor(words), model.allocate(DEVICE, total, align=2048)
        fields = {"row_bytes": total, "limit": total, "host": host}
        out = Descriptor(Op.COPY_OUT, device=source.address, **fields)
        assert model.run(OFFLOAD, out).status is Status.OK
        assert (stream.end - change * small.word_bytes) % end == 0
        assert (stream.data == source.data).all()
        back = Descriptor(Op.COPY_IN, device=target.address, **fields)
        assert model.run(PREFETCH, back).status is Status.OK
        assert (target.data == source.data).all()


def test_prefetch_of_one_stripe(model_of, small, tensor, offload):
    """Any stripe can be fetched alone: the stream's address is aligned to words."""
    model, words = model_of(), tensor(small, 8 * 1024)
    job = offload(model, words)
    sizes = small.padded((job.index.view("<u4")[::2] & 0xFFFFFF).astype(int))
    ends = np.cumsum(sizes)
    for stripe in range(8):
        part = job.stream[ends[stripe] - sizes[stripe] : ends[stripe]]
        entry = job.index[8 * stripe : 8 * stripe + 8]
        back = model.fetch(part, entry, 1024, channel=stripe % 2)
        assert back.status is Status.OK
        assert (back.output == words[256 * stripe : 256 * stripe + 256]).all()


ROWS = [(2048, pitch) for pitch in (0, 1024, 2048, 3072, 8192, -1024, -4096)]
#: With two channels, all rows lie on one of them.
ONE_CHANNEL = [(1024, pitch) for pitch in (2048, 4096, -2048)]


@pytest.mark.parametrize(("row", "pitch"), ROWS + ONE_CHANNEL)
def test_rows(model_of, small, tensor, row, pitch):
    """Rows with any pitch, also one that hits a single channel, and a negative one."""
    model, rows = model_of(), 5
    span = abs(pitch) * (rows - 1) + row
    buffer = model.place_tensor(tensor(small, span))
    first = buffer.address + (span - row if pitch < 0 else 0)
    starts = [first - buffer.address + pitch * k for k in range(rows)]
    words = np.concatenate([buffer.data[at : at + row] for at in starts]).view(np.uint32)
    expected = golden.offload(words, small, "never")
    host = model.allocate(HOST, expected.bytes)
    index = model.allocate(HOST, expected.index.size)
    fields = {"device": first, "rows": rows, "row_bytes": row, "pitch": pitch, "with_index": True}
    fields |= {"host": host.address, "index": index.address, "limit": expected.bytes}
    job = model.run(OFFLOAD, Descriptor(Op.OFFLOAD, **fields), host=host)
    assert job.status is Status.OK
    reads = [model.engine.counts(channel)["reads"] for channel in range(small.channels)]
    is_used = [read > 0 for read in reads]
    assert is_used == [True, (row, pitch) not in ONE_CHANNEL][: small.channels]
    assert (host.data == expected.stream).all()
    assert (index.data == expected.index).all()
    if abs(pitch) < row:
        return  # rows overlap
    target = model.allocate(DEVICE, span, align=2048)
    before = target.data.copy()
    at = target.address + (span - row if pitch < 0 else 0)
    back = model.run(1, Descriptor(Op.PREFETCH, **{**fields, "device": at}))
    assert back.status is Status.OK
    for start in starts:
        before[start : start + row] = buffer.data[start : start + row]
    assert (target.data == before).all()


def test_append(model_of, small, tensor):
    """Streams lie behind each other in the arena, each aligned to 64 bytes."""
    model = model_of()
    model.write("RING", "CTRL", 0)
    arena = model.allocate(HOST, 8192, align=64)
    before = arena.data.copy()
    values = {"ARENA_BASE": arena.address, "ARENA_LIMIT": arena.end, "ARENA_POINTER": arena.address}
    model.program(OFFLOAD, **values)
    model.write("RING", "CTRL", 1)
    at = 0
    for number in range(9):
        words = tensor(small, 1024 * (number % 3 + 1), seed=number)
        buffer = model.place_tensor(words)
        expected = golden.offload(words, small, "never", limit=8192 - at)
        fields = {"device": buffer.address, "row_bytes": words.nbytes}
        limit = 1 << 20 + 5 * number  # by any bit beyond the arena, whose rest is the capacity
        job = model.run(OFFLOAD, Descriptor(Op.OFFLOAD, append=True, limit=limit, **fields))
        assert job.status is expected.status
        before[at : at + expected.stream.size] = expected.stream
        assert (arena.data == before).all()
        if job.status is Status.OK:
            assert job.completion.where == arena.address + at
            at = at + expected.bytes + 63 & -64
    assert at > 6000
    assert job.status is Status.OVERFLOW, "the arena was filled"
    assert model.read("RING", "ARENA_POINTER_LO") == arena.address + at


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_memories(model_of, small, tensor, offload, prefetch, profile):
    model = model_of(device=PROFILES[profile], host=PROFILES[profile], seed=5)
    for size in (1028, 20_000):
        job = offload(model, tensor(small, size), "auto", crc=True)
        prefetch(model, job, crc=True)


@pytest.mark.parametrize("order", ["address-first", "data-first"])
def test_order_of_address_and_data(model_of, small, tensor, offload, prefetch, order):
    memory = Memory(latency=5, order=order)
    model = model_of(device=memory, host=memory)
    prefetch(model, offload(model, tensor(small, 9000), crc=True), crc=True)


@pytest.mark.slow
@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_other_sizes(model_with, tensor, offload, prefetch, config):
    for seed, profile in enumerate(("ideal", "far", "rough")):
        model = model_with(config, PROFILES[profile], PROFILES[profile], seed)
        for size in lengths(config):
            for density in (0, 0.4, 1):
                words = tensor(config, size, density)
                job = offload(model, words, "auto", crc=True, channel=config.channels - 1)
                prefetch(model, job, crc=True)


def test_given_verilog_of_another_size(small_zvc):
    verilog = designs.engine(small_zvc)
    words = np.arange(100, dtype=np.uint32)
    assert not round_trip(words, small_zvc, verilog=verilog).problem
    longer = replace(small_zvc, stripe_bytes=2 * small_zvc.stripe_bytes)
    problem = round_trip(words, longer, verilog=verilog).problem
    log2 = small_zvc.stripe_bytes.bit_length() - 1
    assert f"CAP0.STRIPE (log2 of the bytes in a stripe) is {log2}, expected {log2 + 1}" in problem
