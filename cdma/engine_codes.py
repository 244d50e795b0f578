"""Codes that descriptors, completions and registers of the DMA engine carry."""

from enum import IntEnum


class Op(IntEnum):
    """What a descriptor asks for."""

    NOP = 0
    OFFLOAD = 1
    PREFETCH = 2
    COPY_OUT = 3
    COPY_IN = 4
    MEASURE = 5
    VERIFY = 6


#: Numbers of the two rings.
OFFLOAD_RING, PREFETCH_RING = 0, 1
#: Operations that each ring takes.
RING_OPS = (
    frozenset({Op.NOP, Op.OFFLOAD, Op.COPY_OUT, Op.MEASURE}),
    frozenset({Op.NOP, Op.PREFETCH, Op.COPY_IN, Op.VERIFY}),
)
#: Operations that compress or decompress.
CODED_OPS = frozenset({Op.OFFLOAD, Op.MEASURE, Op.PREFETCH, Op.VERIFY})


class Raw(IntEnum):
    """Which stripes an offload sends as they are."""

    NEVER = 0
    AUTO = 1
    ALWAYS = 2


class Status(IntEnum):
    """How a descriptor ended."""

    OK = 0
    TRUNCATED = 1
    TRAILING = 2
    MASK_PAST_END = 3
    RESERVED = 6
    TOO_LONG = 8
    OVERFLOW = 16
    INDEX = 17
    CRC = 18
    DEVICE_SLVERR = 32
    DEVICE_DECERR = 33
    HOST_SLVERR = 34
    HOST_DECERR = 35
    TIMEOUT = 36
    BAD_DESCRIPTOR = 48
    ABORTED = 49


#: Error codes of a decompressor, of any codec: the stripe's words are as it gives them.
STREAM_ERRORS = (
    Status.TRUNCATED,
    Status.TRAILING,
    Status.MASK_PAST_END,
    Status.RESERVED,
    Status.TOO_LONG,
)

#: Channel number of a completion that means the link, or no channel.
LINK = 0x7F


class State(IntEnum):
    """State of a ring."""

    STOPPED = 0
    RUNNING = 1
    HALTED = 2
    ABORTING = 3
    ERROR = 4


class Wait(IntEnum):
    """What a channel waits for."""

    IDLE = 0
    CREDIT = 1
    RATE = 2
    ADDRESS = 3
    DATA = 4
    TURN = 5
    LINK = 6
