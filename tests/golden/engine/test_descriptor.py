"""Descriptors and completions as bytes."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdma.engine_codes import LINK, Op, Raw, Status
from cdma.golden.engine.descriptor import (
    COMPLETION,
    DESCRIPTOR,
    Completion,
    Descriptor,
    describe,
    phase,
)

U64 = st.integers(0, 2**64 - 1)
DESCRIPTORS = st.builds(
    Descriptor,
    op=st.integers(0, 15),
    device=U64,
    host=U64,
    index=U64,
    row_bytes=U64,
    rows=st.integers(0, 2**32 - 1),
    pitch=st.integers(-(2**63), 2**63 - 1),
    limit=U64,
    cookie=U64,
    word_bytes=st.sampled_from([1, 2, 4, 8]),
    raw=st.integers(0, 3),
    with_index=st.booleans(),
    crc=st.booleans(),
    interrupt=st.booleans(),
    fence=st.booleans(),
    append=st.booleans(),
    codec=st.integers(0, 255),
    reserved=st.integers(0, 1023),
)


@given(DESCRIPTORS, st.integers(0, 1))
def test_a_descriptor_comes_back(descriptor, bit):
    packed = descriptor.pack(bit)
    assert packed.shape == (64,)
    assert Descriptor.unpack(packed) == (descriptor, bit)


def test_bytes_of_a_descriptor():
    descriptor = Descriptor(
        Op.OFFLOAD,
        device=0x1000,
        host=0x2000,
        index=0x3000,
        row_bytes=4096,
        rows=3,
        pitch=-8192,
        limit=0x4000,
        cookie=0xC0FFEE,
        word_bytes=4,
        raw=Raw.AUTO,
        with_index=True,
        crc=True,
        interrupt=True,
        fence=True,
        append=True,
    )
    control = 1 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 | 2 << 10 | 1 << 20 | 1 << 31
    expected = struct.pack(
        "<IIQQQQQqQ", control, 3, 0x1000, 0x2000, 0x3000, 4096, 0x4000, -8192, 0xC0FFEE
    )
    assert descriptor.pack(1).tobytes() == expected


@given(
    st.builds(
        Completion,
        status=st.integers(0, 255),
        cookie=U64,
        stream_bytes=U64,
        where=U64,
        stripe=st.integers(0, 2**32 - 1),
        head=st.integers(0, 65535),
        channel=st.integers(0, 127),
    ),
    st.integers(0, 1),
)
def test_a_completion_comes_back(completion, bit):
    packed = completion.pack(bit)
    assert packed.shape == (32,)
    assert Completion.unpack(packed) == (completion, bit)


def test_bytes_of_a_completion():
    completion = Completion(
        Status.CRC, cookie=7, stream_bytes=100, where=96, stripe=2, head=9, channel=LINK
    )
    expected = struct.pack("<QQQIHBB", 7, 100, 96, 2, 9, 18, 0xFF)
    assert completion.pack(1).tobytes() == expected


def test_an_ok_completion_has_raw_stripes_and_cycles():
    completion = Completion(Status.OK, where=1234 << 32 | 5)
    assert (completion.raw_stripes, completion.cycles, completion.is_ok) == (5, 1234, True)


def test_rings_are_arrays_of_the_types():
    ring = np.zeros(4, DESCRIPTOR)
    ring.view(np.uint8).reshape(4, 64)[2] = Descriptor(Op.NOP, cookie=5).pack(0)
    assert ring["cookie"].tolist() == [0, 0, 5, 0]
    assert np.zeros(4, COMPLETION).view(np.uint8).size == 128


def test_the_phase_changes_with_each_turn_of_the_ring():
    assert [phase(count, 1) for count in range(8)] == [1, 1, 0, 0, 1, 1, 0, 0]
    assert [phase(count, 0) for count in range(4)] == [1, 0, 1, 0]
    assert phase(32767, 15) == 1
    assert phase(32768, 15) == 0


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"^op must have at most 4 bits, not 16$"):
        Descriptor(16).pack(0)
    with pytest.raises(ValueError, match=r"^field of a descriptor does not fit"):
        Descriptor(1, device=1 << 64).pack(0)


def test_descriptions():
    assert describe(Completion(0, stream_bytes=8, stripe=1)) == "OK: 8 bytes, 1 stripe"
    text = describe(Completion(Status.CRC, where=0x40, stripe=2, channel=LINK))
    assert text == "CRC at stripe 2, channel the link or no channel, address or offset 0x40"
    assert describe(Completion(99, channel=1)).startswith("status 99 at stripe 0, channel 1")
