"""Which descriptors are bad."""

from dataclasses import replace

import pytest

from cdma.engine_codes import Op, Raw
from cdma.engine_config import EngineConfig
from cdma.golden.engine.descriptor import Descriptor
from cdma.golden.engine.rules import Bounds, Window, capacity, refusal, stripes_of

CONFIG = EngineConfig()
OPEN = Bounds(Window(0, 1 << 48), Window(0, 1 << 48), 0x30000, 0x20000)
OFFLOAD = Descriptor(
    Op.OFFLOAD, device=0x10000, host=0x40000, index=0x60000, row_bytes=16384, limit=20000
)
PREFETCH = replace(OFFLOAD, op=Op.PREFETCH, with_index=True)
COPY_OUT = replace(OFFLOAD, op=Op.COPY_OUT)
COPY_IN = replace(OFFLOAD, op=Op.COPY_IN)
MEASURE = replace(OFFLOAD, op=Op.MEASURE)
VERIFY = replace(PREFETCH, op=Op.VERIFY)
NOP = Descriptor(Op.NOP)
GOOD = {
    "offload": (0, OFFLOAD),
    "offload-index": (0, replace(OFFLOAD, with_index=True, crc=True, raw=Raw.AUTO)),
    "offload-append": (0, replace(OFFLOAD, append=True, host=1)),
    "offload-rows": (0, replace(OFFLOAD, rows=3, pitch=-8192)),
    "offload-row-ignores-pitch": (0, replace(OFFLOAD, rows=1, pitch=5, row_bytes=4)),
    "copy-out": (0, COPY_OUT),
    "measure": (0, replace(MEASURE, host=3, limit=5, raw=Raw.ALWAYS)),
    "measure-index": (0, replace(MEASURE, with_index=True)),
    "nop": (0, NOP),
    "nop-anything": (0, replace(NOP, device=3, host=5, word_bytes=8, row_bytes=7)),
    "prefetch": (1, PREFETCH),
    "prefetch-stripe": (1, replace(PREFETCH, host=0x40004, limit=4)),
    "copy-in": (1, replace(COPY_IN, host=0x40004)),
    "verify": (1, VERIFY),
    "nop-1": (1, NOP),
    "nothing": (0, replace(OFFLOAD, row_bytes=0, limit=0)),
}
BAD = {
    "codec": (0, replace(OFFLOAD, codec=1), "reserved bits must be 0"),
    "reserved": (0, replace(OFFLOAD, reserved=512), "reserved bits must be 0"),
    "nop-reserved": (1, replace(NOP, reserved=1), "reserved bits must be 0"),
    "op-7": (0, replace(OFFLOAD, op=7), "ring 0 does not take operation 7"),
    "wrong-ring": (1, OFFLOAD, "ring 1 does not take operation 1"),
    "wrong-ring-0": (0, PREFETCH, "ring 0 does not take operation 2"),
    "copy-index": (0, replace(COPY_OUT, with_index=True), "INDEX and CRC are for compressed"),
    "nop-crc": (0, replace(NOP, crc=True), "INDEX and CRC are for compressed tensors"),
    "raw-3": (0, replace(OFFLOAD, raw=3, with_index=True), "raw policy must not be 3 here"),
    "raw-prefetch": (1, replace(PREFETCH, raw=1), "raw policy must not be 1 here"),
    "raw-copy": (0, replace(COPY_OUT, raw=2), "raw policy must not be 2 here"),
    "no-index": (1, replace(PREFETCH, with_index=False), "the operation needs INDEX"),
    "auto-no-index": (0, replace(OFFLOAD, raw=Raw.AUTO), "the operation needs INDEX"),
    "append-measure": (0, replace(MEASURE, append=True), "APPEND is for OFFLOAD"),
    "word": (0, replace(OFFLOAD, word_bytes=2), "words must have 4 bytes, not 2"),
    "device": (0, replace(OFFLOAD, device=32), "device address must be a multiple of 4096"),
    "host": (0, replace(OFFLOAD, host=32), "host address must be a multiple of 64"),
    "host-in": (1, replace(PREFETCH, host=2), "host address must be a multiple of 4"),
    "index": (1, replace(PREFETCH, index=4), "index address must be a multiple of 8"),
    "bytes": (0, replace(OFFLOAD, row_bytes=6), "bytes per row must be whole words"),
    "limit": (0, replace(OFFLOAD, limit=6), "limit must be whole words"),
    "rows": (0, replace(OFFLOAD, rows=2, row_bytes=4100), "bytes per row must be whole stripes"),
    "pitch": (0, replace(OFFLOAD, rows=2, pitch=4), "pitch must be whole stripes"),
    "stripes": (
        0,
        replace(OFFLOAD, rows=2**31, row_bytes=8192, pitch=0),
        "there must be fewer than 2**32 stripes",
    ),
    "wrap": (
        0,
        replace(OFFLOAD, device=(1 << 48) - 4096, row_bytes=8192),
        "tensor leaves the device window",
    ),
    "wrap-64": (
        0,
        replace(OFFLOAD, device=(1 << 64) - 4096, row_bytes=8192),
        "tensor leaves the device window",
    ),
    "pitch-below": (
        0,
        replace(OFFLOAD, rows=6, row_bytes=4096, pitch=-16384),
        "tensor leaves the device window",
    ),
    "host-wrap": (
        0,
        replace(OFFLOAD, host=(1 << 48) - 64),
        "stream leaves the host window",
    ),
    "host-limit": (0, replace(OFFLOAD, limit=1 << 63), "stream leaves the host window"),
    "index-wrap": (
        1,
        replace(PREFETCH, index=(1 << 48) - 24),
        "index leaves the host window",
    ),
}


@pytest.mark.parametrize("case", GOOD)
def test_good_descriptors(case):
    ring, descriptor = GOOD[case]
    assert refusal(descriptor, ring, CONFIG, OPEN) is None


@pytest.mark.parametrize("case", BAD)
def test_bad_descriptors(case):
    ring, descriptor, reason = BAD[case]
    assert refusal(descriptor, ring, CONFIG, OPEN).startswith(reason)


def test_one_channel_takes_any_beat():
    config = EngineConfig(channels=1)
    assert refusal(replace(OFFLOAD, device=0x10020), 0, config, OPEN) is None
    assert refusal(replace(OFFLOAD, device=0x10010), 0, config, OPEN) is not None


@pytest.mark.parametrize("side", ["device", "stream", "index"])
@pytest.mark.parametrize("end", ["first", "last"])
def test_a_window_one_byte_short(side, end):
    descriptor = replace(OFFLOAD, with_index=True)
    start, size = {
        "device": (0x10000, 16384),
        "stream": (0x40000, 20000),
        "index": (0x60000, 4 * 8),
    }[side]
    device, host = [start, start + size], [0x40000, 0x60000 + 32]
    if side == "device":
        short = device
    else:
        device, short = [0, 1 << 48], host
        if side == "index":
            descriptor = replace(descriptor, host=0x60040, limit=0)
            host[0] = 0x60000
        else:
            descriptor = replace(descriptor, index=0x40000)
            host[1] = start + size
    whole = Bounds(Window(*device), Window(*host))
    assert refusal(descriptor, 0, CONFIG, whole) is None
    short[0 if end == "first" else 1] += 1 if end == "first" else -1
    cut = Bounds(Window(*device), Window(*host))
    assert refusal(descriptor, 0, CONFIG, cut).endswith(f"leaves the {whose(side)} window")


def whose(side):
    return "device" if side == "device" else "host"


def test_closed_windows_let_only_nothing_through():
    closed = Bounds(Window(), Window())
    assert refusal(OFFLOAD, 0, CONFIG, closed) == "tensor leaves the device window"
    assert refusal(replace(OFFLOAD, row_bytes=0), 0, CONFIG, closed) is None
    assert refusal(NOP, 0, CONFIG, closed) is None


def test_append_takes_what_the_arena_has():
    append = replace(OFFLOAD, append=True, limit=1 << 62)
    assert capacity(append, OPEN) == 0x10000
    assert refusal(append, 0, CONFIG, OPEN) is None
    full = replace(OPEN, arena_pointer=0x30000)
    assert capacity(append, full) == 0
    outside = replace(OPEN, host=Window(0x21000, 1 << 48))
    assert refusal(append, 0, CONFIG, outside) == "stream leaves the host window"


def test_stripes():
    assert stripes_of(replace(OFFLOAD, row_bytes=4100), CONFIG) == 2
    assert stripes_of(replace(OFFLOAD, rows=3), CONFIG) == 12
    assert stripes_of(replace(OFFLOAD, rows=0), CONFIG) == 4
    assert stripes_of(replace(OFFLOAD, row_bytes=0), CONFIG) == 0
