"""Rules for descriptors. The engine checks them before any access to the tensor."""

from dataclasses import dataclass

from cdma.engine_codes import CODED_OPS, RING_OPS, Op, Raw
from cdma.engine_config import HOST_ALIGNMENT, INDEX_BYTES, EngineConfig
from cdma.golden.engine.descriptor import Descriptor

_OUT = (Op.OFFLOAD, Op.COPY_OUT)
_MOST_STRIPES = 1 << 32


@dataclass(frozen=True)
class Window:
    """Addresses ``base`` to ``limit`` (excluded); empty when ``limit <= base``."""

    base: int = 0
    limit: int = 0

    def holds(self, first: int, last: int) -> bool:
        """Whether bytes ``first`` to ``last`` (excluded) lie inside. An empty range always does."""
        return first >= last or (self.base <= first and last <= self.limit)


@dataclass(frozen=True)
class Bounds:
    """Memory that the descriptors of a ring may access.

    Parameters
    ----------
    device, host : Window
        Windows from the registers of the ring.
    arena_limit, arena_pointer : int
        Arena of streams with APPEND: address of the next stream, and the first byte past the arena.
    """

    device: Window
    host: Window
    arena_limit: int = 0
    arena_pointer: int = 0


def stripes_of(descriptor: Descriptor, config: EngineConfig) -> int:
    """Number of stripes of all rows, equal to the entries of the index."""
    return descriptor.row_count * config.stripes(descriptor.row_bytes)


def capacity(descriptor: Descriptor, bounds: Bounds) -> int:
    """Capacity of the stream in host memory: the limit, with APPEND at most the arena's rest."""
    if not descriptor.append:
        return descriptor.limit
    room = max(0, bounds.arena_limit - bounds.arena_pointer)
    return min(descriptor.limit, room)


def stream_address(descriptor: Descriptor, bounds: Bounds) -> int:
    """Address of the stream in host memory."""
    return bounds.arena_pointer if descriptor.append else descriptor.host


def refusal(descriptor: Descriptor, ring: int, config: EngineConfig, bounds: Bounds) -> str | None:
    """Reason why a descriptor gets BAD_DESCRIPTOR; None for a valid descriptor.

    The rules are checked in this order. For NOP, only the first two apply.

    1. Codec bits and reserved bits are 0. The ring supports the operation.
    2. INDEX, CRC and the raw policy are 0 for NOP and copies. The raw policy is 0 for PREFETCH and
       VERIFY, and never 3. PREFETCH and VERIFY, and OFFLOAD with AUTO or ALWAYS, have INDEX. Only
       OFFLOAD may have APPEND.
    3. The word width equals the engine's.
    4. The device address is aligned to a stripe; with one channel, to a beat. The host address is
       aligned to 64 bytes for OFFLOAD without APPEND and for COPY_OUT, and to words for all others
       except MEASURE. With INDEX, the index address is aligned to 8 bytes.
    5. Bytes per row and limit (except for MEASURE) are whole words. With more than one row, bytes
       per row and pitch are whole stripes. There are fewer than 2**32 stripes.
    6. The rows lie in the device window. Except for MEASURE, the stream lies in the host window: it
       starts at the host address and has limit bytes (with APPEND, at most the rest of the arena).
       With INDEX, the index lies in the host window: 8 bytes per stripe from the index address. All
       addresses are below ``2**address_bits``. A descriptor without bytes accesses no memory.
    """
    checks = (_check_control, _check_format, _check_alignment, _check_sizes, _check_ranges)
    for check in checks[:1] if descriptor.op == Op.NOP else checks:
        reason = check(descriptor, ring, config, bounds)
        if reason:
            return reason
    return None


def _check_control(descriptor, ring, config, bounds) -> str | None:
    if descriptor.codec or descriptor.reserved:
        return "reserved bits must be 0"
    if descriptor.op not in RING_OPS[ring]:
        return f"ring {ring} does not take operation {descriptor.op}"
    coded = descriptor.op in CODED_OPS
    if not coded and (descriptor.with_index or descriptor.crc):
        return "INDEX and CRC are for compressed tensors"
    raw_allowed = descriptor.op in (Op.OFFLOAD, Op.MEASURE)
    if descriptor.raw not in set(Raw) or (descriptor.raw and not raw_allowed):
        return f"raw policy must not be {descriptor.raw} here"
    needs_index = descriptor.op in (Op.PREFETCH, Op.VERIFY)
    needs_index |= descriptor.op == Op.OFFLOAD and descriptor.raw != Raw.NEVER
    if needs_index and not descriptor.with_index:
        return "the operation needs INDEX"
    if descriptor.append and descriptor.op != Op.OFFLOAD:
        return "APPEND is for OFFLOAD"
    return None


def _check_format(descriptor, ring, config, bounds) -> str | None:
    if descriptor.word_bytes != config.word_bytes:
        return f"words must have {config.word_bytes} bytes, not {descriptor.word_bytes}"
    return None


def _check_alignment(descriptor, ring, config, bounds) -> str | None:
    if descriptor.device % config.alignment:
        return f"device address must be a multiple of {config.alignment}"
    if descriptor.op != Op.MEASURE and not descriptor.append:
        unit = HOST_ALIGNMENT if descriptor.op in _OUT else config.word_bytes
        if descriptor.host % unit:
            return f"host address must be a multiple of {unit}"
    if descriptor.with_index and descriptor.index % INDEX_BYTES:
        return f"index address must be a multiple of {INDEX_BYTES}"
    return None


def _check_sizes(descriptor, ring, config, bounds) -> str | None:
    if descriptor.row_bytes % config.word_bytes:
        return "bytes per row must be whole words"
    if descriptor.op != Op.MEASURE and descriptor.limit % config.word_bytes:
        return "limit must be whole words"
    if descriptor.row_count > 1:
        if descriptor.row_bytes % config.stripe_bytes:
            return "bytes per row must be whole stripes"
        if descriptor.pitch % config.stripe_bytes:
            return "pitch must be whole stripes"
    if stripes_of(descriptor, config) >= _MOST_STRIPES:
        return "there must be fewer than 2**32 stripes"
    return None


def _check_ranges(descriptor, ring, config, bounds) -> str | None:
    if not descriptor.row_bytes:
        return None
    end = 1 << config.address_bits
    far = (descriptor.row_count - 1) * descriptor.pitch
    first = descriptor.device + min(0, far)
    last = descriptor.device + max(0, far) + descriptor.row_bytes
    if first < 0 or last > end or not bounds.device.holds(first, last):
        return "tensor leaves the device window"
    if descriptor.op != Op.MEASURE:
        start = stream_address(descriptor, bounds)
        stop = start + capacity(descriptor, bounds)
        if max(start, stop) > end or not bounds.host.holds(start, stop):
            return "stream leaves the host window"
    if descriptor.with_index:
        stop = descriptor.index + INDEX_BYTES * stripes_of(descriptor, config)
        if stop > end or not bounds.host.holds(descriptor.index, stop):
            return "index leaves the host window"
    return None
