"""Descriptors and completions as they lie in host memory."""

from amaranth.hdl import signed, unsigned
from amaranth.lib import data

from cdma.engine_config import COMPLETION_BYTES, DESCRIPTOR_BYTES


class Descriptor(data.StructLayout):
    """A descriptor, 64 bytes (``docs/engine.md``)."""

    def __init__(self):
        super().__init__(
            {
                "op": unsigned(4),
                "interrupt": unsigned(1),
                "fence": unsigned(1),
                "index": unsigned(1),
                "crc": unsigned(1),
                "raw": unsigned(2),
                "word": unsigned(2),
                "codec": unsigned(8),
                "append": unsigned(1),
                "reserved": unsigned(10),
                "phase": unsigned(1),
                "rows": unsigned(32),
                "device": unsigned(64),
                "host": unsigned(64),
                "index_address": unsigned(64),
                "row_bytes": unsigned(64),
                "limit": unsigned(64),
                "pitch": signed(64),
                "cookie": unsigned(64),
            }
        )
        assert self.size == 8 * DESCRIPTOR_BYTES


class Completion(data.StructLayout):
    """A completion, 32 bytes (``docs/engine.md``)."""

    def __init__(self):
        super().__init__(
            {
                "cookie": unsigned(64),
                "stream_bytes": unsigned(64),
                "where": unsigned(64),
                "stripe": unsigned(32),
                "head": unsigned(16),
                "status": unsigned(8),
                "channel": unsigned(7),
                "phase": unsigned(1),
            }
        )
        assert self.size == 8 * COMPLETION_BYTES
