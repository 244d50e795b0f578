"""Stimulus of full rings: jobs of both directions behind each other, which overlap."""

import numpy as np

from cdma.engine_codes import Op, Raw
from cdma.errors import SimulationError
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Descriptor
from cdma.sim.engine.engine import DEVICE, HOST
from cdma.sim.engine.model import OFFLOAD, PREFETCH, EngineModel

#: Rounds, and jobs of each ring in a round.
_ROUNDS, _JOBS = 5, 10
_POLICIES = {Raw.NEVER: "never", Raw.AUTO: "auto", Raw.ALWAYS: "always"}


def queues(model: EngineModel) -> list:
    """Offloads and prefetches of many lengths at once, and copies in between."""
    seen = []
    rng = np.random.default_rng(15)
    for number in range(_ROUNDS):
        made = [_offload(model, rng, number) for _ in range(_JOBS)]
        back = [_prefetch(model, rng) for _ in range(_JOBS)]
        model.submit(PREFETCH, *(job for job, *_ in back))
        model.submit(OFFLOAD, *(job for job, *_ in made))
        for ring, jobs in ((OFFLOAD, made), (PREFETCH, back)):
            for completion, (job, *parts) in zip(model.collect(ring, _JOBS), jobs, strict=True):
                seen.append(str(completion))
                if completion.status:
                    raise SimulationError(f"{completion} of {job}")
                for buffer, expected in parts:
                    data = buffer.data[: expected.size]
                    if (data != expected).any():
                        raise SimulationError(f"{job}: byte {int(np.argmax(data != expected))}")
        seen.append(model.engine.cycle)
    return [*seen, sorted(model.counters().items())]


def _words(config, rng):
    count = int(rng.integers(1, 1 + int(rng.choice([4, 1, 3]) * config.stripe_words)))
    words = rng.integers(1, 1 << min(63, config.word_bits), count).astype(config.format.dtype)
    return words * (rng.random(count) < rng.choice([0, 0.3, 0.9, 1])).astype(words.dtype)


def _offload(model, rng, number):
    """A job, and what is to be in its buffers."""
    config, words = model.config, _words(model.config, rng)
    is_copy = rng.random() < 0.1
    raw = Raw.NEVER if is_copy else Raw(int(rng.integers(3)))
    tensor = model.place_tensor(words, channel=int(rng.integers(config.channels)))
    made = golden.offload(words, config, _POLICIES[raw], crc=not is_copy)
    stream = words.view(np.uint8) if is_copy else made.stream
    host = model.allocate(HOST, max(config.bound(words.nbytes), words.nbytes))
    index = model.allocate(HOST, made.index.size)
    job = Descriptor(
        Op.COPY_OUT if is_copy else Op.OFFLOAD,
        device=tensor.address,
        host=host.address,
        index=0 if is_copy else index.address,
        row_bytes=words.nbytes,
        limit=host.data.size,
        word_bytes=config.word_bytes,
        raw=raw,
        with_index=not is_copy,
        crc=not is_copy,
        fence=number == 2 and bool(rng.integers(2)),
        cookie=int(rng.integers(1 << 63)),
    )
    return job, (host, stream), *([] if is_copy else [(index, made.index)])


def _prefetch(model, rng):
    config, words = model.config, _words(model.config, rng)
    kind = rng.choice([Op.PREFETCH, Op.VERIFY, Op.COPY_IN], p=[0.8, 0.1, 0.1])
    is_copy = kind == Op.COPY_IN
    raw = _POLICIES[Raw(int(rng.integers(3)))]
    made = golden.offload(words, config, raw, crc=bool(rng.integers(2)))
    stream = words.view(np.uint8) if is_copy else made.stream
    lap = config.channels * config.stripe_bytes
    tensor = model.allocate(DEVICE, words.nbytes, align=lap)
    host = model.allocate(HOST, stream.size, offset=config.word_bytes * int(rng.integers(16)))
    index = model.allocate(HOST, made.index.size, offset=8 * int(rng.integers(8)))
    host.data[:], index.data[:] = stream, made.index
    job = Descriptor(
        Op(int(kind)),
        device=tensor.address,
        host=host.address,
        index=0 if is_copy else index.address,
        row_bytes=words.nbytes,
        limit=stream.size,
        word_bytes=config.word_bytes,
        with_index=not is_copy,
        crc=not is_copy,
        cookie=int(rng.integers(1 << 63)),
    )
    return job, *([] if kind == Op.VERIFY else [(tensor, words.view(np.uint8))])
