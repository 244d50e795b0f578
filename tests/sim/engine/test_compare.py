"""The first difference from the golden engine is named: completion, then memory."""

from dataclasses import replace

import numpy as np
import pytest

from cdma.engine_codes import LINK, Op, Status
from cdma.engine_config import EngineConfig
from cdma.golden import engine as golden
from cdma.golden.engine.descriptor import Completion, Descriptor
from cdma.sim.engine.compare import offload_difference, prefetch_difference
from cdma.sim.engine.engine import DEVICE, HOST, Buffer
from cdma.sim.engine.model import Job

CONFIG = EngineConfig(channels=2, lanes=4, stripe_bytes=1024, link_bytes=8)
#: Two rows of two stripes, of channels 0, 1, 1 and 0.
ROW, PITCH = 2048, 3 * 1024
WORDS = (np.arange(2 * ROW // 4) % 3).astype("<u4")
SENT = golden.offload(WORDS, CONFIG)
TENSOR, STREAM, INDEX = 0x10000, 0x20000, 0x30000


def buffers(words, stream, index):
    yield Buffer(DEVICE, TENSOR, words.view(np.uint8).copy())
    yield Buffer(HOST, STREAM, np.append(stream, np.zeros(16, np.uint8)))
    yield Buffer(HOST, INDEX, index.copy())


def job_of(op, found, before, after, **fields):
    """A job with the completion of a golden result, and its memory before and after."""
    descriptor = Descriptor(
        op, device=TENSOR, host=STREAM, index=INDEX, row_bytes=ROW, rows=2, pitch=PITCH, cookie=7
    )
    completion = Completion(
        found.status,
        cookie=7,
        stream_bytes=found.bytes,
        where=found.raw_stripes if found.status is Status.OK else found.where,
        stripe=found.stripe,
        channel=LINK,
    )
    completion = replace(completion, **fields)
    tensor, host, index = buffers(*after)
    return Job(
        descriptor,
        completion,
        0,
        tensor=tensor,
        host=host,
        index_buffer=index,
        before=tuple(buffer.data for buffer in buffers(*before)),
    )


def offloaded(found=SENT, **fields):
    before = WORDS, np.zeros_like(SENT.stream), np.zeros_like(SENT.index)
    stream = np.zeros_like(SENT.stream)
    stream[: found.stream.size] = found.stream
    return job_of(Op.OFFLOAD, found, before, (WORDS, stream, found.index), **fields)


def fetched(found, **fields):
    sent = SENT.stream, SENT.index
    words = found.words.copy()
    words[found.written :] = 0
    return job_of(Op.PREFETCH, found, (np.zeros_like(WORDS), *sent), (words, *sent), **fields)


def salvaged(**options):
    return golden.salvage_stripes(SENT.stream, SENT.index, WORDS.size, CONFIG, crc=False, **options)


def test_equal_is_silent():
    assert offload_difference(offloaded(), SENT, CONFIG) == ""
    assert prefetch_difference(fetched(salvaged()), salvaged(), CONFIG) == ""


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"status": 16}, "status 16, expected 0 (OK)"),
        ({"cookie": 8}, "cookie 0x8, expected 0x7"),
        ({"stream_bytes": 4}, f"4 stream bytes, expected {SENT.bytes:,}"),
        ({"stripe": 3}, "stripe 3, expected 4"),
        ({"where": 1}, "1 raw stripes, expected 0"),
        ({"channel": 1}, "channel 1, expected 127"),
    ],
)
def test_fields_of_the_completion(fields, message):
    assert offload_difference(offloaded(**fields), SENT, CONFIG) == message


def test_limit_of_an_overflow():
    found = golden.offload(WORDS, CONFIG, "never", 64)
    assert offload_difference(offloaded(found), found, CONFIG) == ""
    wrong = offloaded(found, where=65)
    assert offload_difference(wrong, found, CONFIG) == "at 0x41, expected 0x40"
    wrong = offloaded(found, channel=0)
    assert offload_difference(wrong, found, CONFIG) == "channel 0, expected 127"


@pytest.mark.parametrize(("stripe", "channel"), [(0, 0), (1, 1), (2, 1), (3, 0)])
@pytest.mark.parametrize("status", [Status.TRUNCATED, Status.MASK_PAST_END])
def test_channel_of_a_stream_error_is_that_of_its_stripe(stripe, channel, status):
    found = replace(salvaged(fault=(stripe, Status.HOST_SLVERR)), status=status)
    right = fetched(found, channel=channel)
    assert prefetch_difference(right, found, CONFIG) == ""
    for wrong in (1 - channel, LINK):
        difference = prefetch_difference(fetched(found, channel=wrong), found, CONFIG)
        assert difference == f"channel {wrong}, expected {channel}"


def test_channel_of_a_bus_error():
    """That of the address on the device; the link's for the host; any after a timeout."""
    found = salvaged(fault=(1, Status.DEVICE_SLVERR))
    at = {"where": TENSOR + 1024}
    assert prefetch_difference(fetched(found, channel=1, **at), found, CONFIG) == ""
    difference = prefetch_difference(fetched(found, channel=LINK, **at), found, CONFIG)
    assert difference == "channel 127, expected 1"
    found = salvaged(fault=(1, Status.HOST_DECERR))
    assert prefetch_difference(fetched(found), found, CONFIG) == ""
    difference = prefetch_difference(fetched(found, channel=0), found, CONFIG)
    assert difference == "channel 0, expected 127"
    found = salvaged(fault=(1, Status.TIMEOUT))
    for channel in (0, 1, LINK):
        assert prefetch_difference(fetched(found, channel=channel), found, CONFIG) == ""


def test_bytes_of_memory():
    job = offloaded()
    job.host.data[5] ^= 1
    value = job.host.data[5]
    difference = offload_difference(job, SENT, CONFIG)
    assert difference == f"stream: byte 5 of {SENT.bytes:,} is {value}, expected {value ^ 1}"
    job = offloaded()
    job.host.data[SENT.bytes] ^= 1
    difference = offload_difference(job, SENT, CONFIG)
    assert difference == f"stream: byte {SENT.bytes:,} was written, past its end"
    job = offloaded()
    job.tensor.data[9] ^= 1
    assert offload_difference(job, SENT, CONFIG) == "tensor: byte 9 was written"
    job = fetched(salvaged())
    job.host.data[3] ^= 1
    assert prefetch_difference(job, salvaged(), CONFIG) == "stream: byte 3 was written"
