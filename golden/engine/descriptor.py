"""Descriptors and completions: their layout in host memory.

Both are little-endian. ``DESCRIPTOR`` and ``COMPLETION`` are the NumPy types of ring entries. The
classes are one entry, with a field for each group of bits.
"""

from dataclasses import dataclass

import numpy as np

from cdma.engine_codes import LINK, Op, Raw, Status
from cdma.engine_config import COMPLETION_BYTES, DESCRIPTOR_BYTES
from cdma.tables import counted

DESCRIPTOR = np.dtype(
    [
        ("control", "<u4"),
        ("rows", "<u4"),
        ("device", "<u8"),
        ("host", "<u8"),
        ("index", "<u8"),
        ("row_bytes", "<u8"),
        ("limit", "<u8"),
        ("pitch", "<i8"),
        ("cookie", "<u8"),
    ]
)
COMPLETION = np.dtype(
    [
        ("cookie", "<u8"),
        ("stream_bytes", "<u8"),
        ("where", "<u8"),
        ("stripe", "<u4"),
        ("head", "<u2"),
        ("status", "u1"),
        ("channel", "u1"),
    ]
)
assert DESCRIPTOR.itemsize == DESCRIPTOR_BYTES
assert COMPLETION.itemsize == COMPLETION_BYTES

#: Lowest bit and number of bits of each field in the first word of a descriptor.
CONTROL = {
    "op": (0, 4),
    "interrupt": (4, 1),
    "fence": (5, 1),
    "index": (6, 1),
    "crc": (7, 1),
    "raw": (8, 2),
    "word": (10, 2),
    "codec": (12, 8),
    "append": (20, 1),
    "reserved": (21, 10),
    "phase": (31, 1),
}


def phase(count: int, log2_size: int) -> int:
    """Phase bit of the entry at a free-running count, in a ring of ``2**log2_size`` entries."""
    return ~(count >> log2_size) & 1


@dataclass(frozen=True)
class Descriptor:
    """One job, as software writes it.

    Parameters
    ----------
    op : int
        :class:`~cdma.engine_codes.Op`, or any 4-bit number.
    device, host, index : int
        Byte addresses: tensor, stream, index.
    row_bytes, rows, pitch : int
        Bytes per row, number of rows (0 means one), bytes from the start of a row to the next.
    limit : int
        Capacity of the host buffer (offload), or bytes of the stream (prefetch).
    cookie : int
        Returned unchanged in the completion.
    word_bytes : int
        Bytes in a word: 1, 2, 4 or 8. Must equal the engine's.
    raw : int
        :class:`~cdma.engine_codes.Raw`.
    with_index, crc, interrupt, fence, append : bool
        Flags.
    codec, reserved : int
        Bits that must be 0.
    """

    op: int
    device: int = 0
    host: int = 0
    index: int = 0
    row_bytes: int = 0
    rows: int = 1
    pitch: int = 0
    limit: int = 0
    cookie: int = 0
    word_bytes: int = 4
    raw: int = Raw.NEVER
    with_index: bool = False
    crc: bool = False
    interrupt: bool = False
    fence: bool = False
    append: bool = False
    codec: int = 0
    reserved: int = 0

    def pack(self, phase: int) -> np.ndarray:
        """The 64 bytes with this phase bit, uint8 of shape (64,)."""
        parts = {
            "op": self.op,
            "interrupt": self.interrupt,
            "fence": self.fence,
            "index": self.with_index,
            "crc": self.crc,
            "raw": self.raw,
            "word": self.word_bytes.bit_length() - 1,
            "codec": self.codec,
            "append": self.append,
            "reserved": self.reserved,
            "phase": phase,
        }
        control = 0
        for name, (low, bits) in CONTROL.items():
            value = int(parts[name])
            if value >> bits:
                raise ValueError(f"{name} must have at most {bits} bits, not {value!r}")
            control |= value << low
        record = (control, self.rows, self.device, self.host, self.index)
        record += (self.row_bytes, self.limit, self.pitch, self.cookie)
        try:
            packed = np.array([record], DESCRIPTOR)
        except OverflowError:
            raise ValueError(f"field of a descriptor does not fit: {self!r}") from None
        return packed.view(np.uint8)

    @classmethod
    def unpack(cls, data) -> tuple["Descriptor", int]:
        """Descriptor and phase bit of 64 bytes."""
        record = np.frombuffer(data, DESCRIPTOR, 1)[0]
        control = int(record["control"])
        part = {name: control >> low & ((1 << bits) - 1) for name, (low, bits) in CONTROL.items()}
        numbers = {name: int(record[name]) for name in DESCRIPTOR.names if name != "control"}
        descriptor = cls(
            op=part["op"],
            word_bytes=1 << part["word"],
            raw=part["raw"],
            with_index=bool(part["index"]),
            crc=bool(part["crc"]),
            interrupt=bool(part["interrupt"]),
            fence=bool(part["fence"]),
            append=bool(part["append"]),
            codec=part["codec"],
            reserved=part["reserved"],
            **numbers,
        )
        return descriptor, part["phase"]

    @property
    def row_count(self) -> int:
        """Number of rows; a field of 0 means one row."""
        return self.rows or 1

    @property
    def raw_bytes(self) -> int:
        """Bytes of all rows."""
        return self.row_count * self.row_bytes


@dataclass(frozen=True)
class Completion:
    """The completion of a descriptor, as the engine writes it.

    Parameters
    ----------
    status : int
        :class:`~cdma.engine_codes.Status`.
    cookie : int
        Cookie of the descriptor.
    stream_bytes : int
        Bytes of the stream. On an error, the bytes before its stripe; on OVERFLOW, the required
        bytes.
    where : int
        Place of an error: bus address (status 32 to 36), address of the descriptor (48), or offset
        in the stream (others). With status OK: raw stripes in the lower and cycles in the upper 32
        bits, or with APPEND the address of the stream.
    stripe : int
        Stripe of the error; with status OK, the number of stripes.
    head : int
        SQ HEAD after this completion.
    channel : int
        Channel of the error; ``LINK`` if the error is in no channel.
    """

    status: int
    cookie: int = 0
    stream_bytes: int = 0
    where: int = 0
    stripe: int = 0
    head: int = 0
    channel: int = LINK

    def pack(self, phase: int) -> np.ndarray:
        """The 32 bytes with this phase bit, uint8 of shape (32,)."""
        record = (self.cookie, self.stream_bytes, self.where, self.stripe, self.head, self.status)
        return np.array([(*record, self.channel | phase << 7)], COMPLETION).view(np.uint8)

    @classmethod
    def unpack(cls, data) -> tuple["Completion", int]:
        """Completion and phase bit of 32 bytes."""
        record = np.frombuffer(data, COMPLETION, 1)[0]
        numbers = {name: int(record[name]) for name in COMPLETION.names}
        last = numbers.pop("channel")
        return cls(channel=last & 0x7F, **numbers), last >> 7

    @property
    def raw_stripes(self) -> int:
        """Number of raw stripes, if the descriptor ended with OK and has no APPEND."""
        return self.where & 0xFFFFFFFF

    @property
    def cycles(self) -> int:
        """Cycles, if the descriptor ended with OK and has no APPEND."""
        return self.where >> 32

    @property
    def is_ok(self) -> bool:
        """Whether the status is OK."""
        return self.status == Status.OK


def describe(completion: Completion) -> str:
    """A completion as one line of text."""
    known = completion.status in set(Status)
    name = Status(completion.status).name if known else f"status {completion.status}"
    if completion.is_ok:
        size = counted(completion.stream_bytes, "byte")
        return f"{name}: {size}, {counted(completion.stripe, 'stripe')}"
    where = "the link or no channel" if completion.channel == LINK else f"{completion.channel}"
    return (
        f"{name} at stripe {completion.stripe}, channel {where}, "
        f"address or offset {completion.where:#x}"
    )


__all__ = [
    "COMPLETION",
    "CONTROL",
    "DESCRIPTOR",
    "Completion",
    "Descriptor",
    "Op",
    "describe",
    "phase",
]
