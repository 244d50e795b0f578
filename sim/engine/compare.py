"""Compare the results of the engine with the golden engine, byte for byte."""

import numpy as np

from cdma.engine_codes import LINK, STREAM_ERRORS, Status
from cdma.engine_config import EngineConfig
from cdma.golden.engine import stripes
from cdma.golden.engine.offload import Offload
from cdma.golden.engine.prefetch import Prefetch
from cdma.sim.engine.model import Job

#: Status codes whose ``where`` is a bus address.
_BUS = range(Status.DEVICE_SLVERR, Status.TIMEOUT + 1)
_DEVICE = (Status.DEVICE_SLVERR, Status.DEVICE_DECERR)


def offload_difference(
    job: Job, golden: Offload, config: EngineConfig, *, is_measure: bool = False
) -> str:
    """First difference between an offload and the golden engine. Empty without a difference.

    All host memory is compared: the bytes that the golden engine writes, and all other bytes, which
    must not change. After a bus error, the rest of the job's buffers may have any content.
    """
    is_open = golden.status in _BUS
    stream = golden.stream[: 0 if is_measure else None]
    return (
        _completion(job, golden, config)
        or _memory("stream", job.host, job.before[1], stream, is_open)
        or _memory("index", job.index_buffer, job.before[2], golden.index, is_open)
        or _untouched("tensor", job.tensor, job.before[0])
    )


def prefetch_difference(
    job: Job, golden: Prefetch, config: EngineConfig, *, is_verify: bool = False
) -> str:
    """First difference between a prefetch and the golden engine. Empty without a difference."""
    words = golden.words[: 0 if is_verify else golden.written].copy()
    found = job.tensor.data.view(words.dtype)
    for part in golden.open_words:  # may have any value
        words[part] = found[part][: len(words[part])]
    return (
        _completion(job, golden, config)
        or _memory("tensor", job.tensor, job.before[0], words.view(np.uint8), golden.status in _BUS)
        or _untouched("stream", job.host, job.before[1])
        or _untouched("index", job.index_buffer, job.before[2])
    )


def _completion(job, golden, config):
    found = job.completion
    if found.status != golden.status:
        return f"status {found.status}, expected {int(golden.status)} ({golden.status.name})"
    if found.cookie != job.descriptor.cookie:
        return f"cookie {found.cookie:#x}, expected {job.descriptor.cookie:#x}"
    if found.stream_bytes != golden.bytes:
        return f"{found.stream_bytes:,} stream bytes, expected {golden.bytes:,}"
    if found.stripe != golden.stripe:
        return f"stripe {found.stripe}, expected {golden.stripe}"
    if golden.status is Status.OK:
        if not job.descriptor.append and found.raw_stripes != golden.raw_stripes:
            return f"{found.raw_stripes} raw stripes, expected {golden.raw_stripes}"
    elif golden.status not in _BUS and found.where != golden.where:
        return f"at {found.where:#x}, expected {golden.where:#x}"
    channel = _channel(job, golden, config)
    if channel is not None and found.channel != channel:
        return f"channel {found.channel}, expected {channel}"
    return ""


def _channel(job, golden, config):
    """Channel of a completion. None after a timeout, which any port may have."""
    if golden.status is Status.TIMEOUT:
        return None
    if golden.status in _DEVICE:
        return config.channel(job.completion.where)
    if golden.status in STREAM_ERRORS:
        made = job.descriptor
        rows = made.device, made.row_bytes, made.row_count, made.pitch
        return config.channel(int(stripes.placement(config, *rows)[golden.stripe]))
    return LINK


def _memory(what, buffer, before, expected, is_open):
    """Expected memory: the first bytes, then unchanged bytes, or bytes with any content."""
    data = buffer.data
    at = _first(data[: len(expected)], expected)
    if at is not None:
        return f"{what}: byte {at:,} of {len(expected):,} is {data[at]}, expected {expected[at]}"
    at = None if is_open else _first(data[len(expected) :], before[len(expected) :])
    if at is not None:
        return f"{what}: byte {at + len(expected):,} was written, past its end"
    return ""


def _untouched(what, buffer, before):
    at = _first(buffer.data, before)
    return "" if at is None else f"{what}: byte {at:,} was written"


def _first(found, expected):
    """Position of the first difference."""
    if len(found) < len(expected):
        return len(found)
    wrong = found != expected
    return int(np.argmax(wrong)) if wrong.any() else None
