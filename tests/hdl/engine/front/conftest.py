"""Descriptors that tests of the front end share."""

import numpy as np
import pytest

from cdma.engine_codes import Op, Raw
from cdma.golden.engine.descriptor import Descriptor
from cdma.golden.engine.rules import Bounds, Window


def _around(rng, points):
    """A number at one of the points, or next to it."""
    return max(0, int(points[rng.integers(len(points))]) + int(rng.integers(-1, 2)) * 8)


def _descriptor(rng, config, bounds, is_wild):
    """A random descriptor; a wild one breaks rules often."""
    stripe, end = config.stripe_bytes, 1 << config.address_bits
    farthest = (1 << 63) - stripe
    ring_ops = [int(op) for op in Op]
    rows = int(rng.choice([0, 1, 1, 2, 3, 7, 64]))
    row_bytes = stripe * int(rng.integers(0, 6))
    if rows < 2:
        row_bytes += config.word_bytes * int(rng.integers(0, 3))
    op = int(rng.choice(ring_ops))
    raw = int(rng.choice(list(Raw)))
    fields = {
        "op": op,
        "rows": rows,
        "row_bytes": row_bytes,
        "pitch": stripe * int(rng.integers(-8, 9)),
        "device": bounds.device.base + stripe * int(rng.integers(0, 64)),
        "host": bounds.host.base + 64 * int(rng.integers(0, 64)),
        "index": bounds.host.base + 8 * int(rng.integers(0, 64)),
        "limit": config.word_bytes * int(rng.integers(0, 4096)),
        "word_bytes": config.word_bytes,
        "raw": raw if op in (Op.OFFLOAD, Op.MEASURE) else 0,
        "with_index": op not in (Op.NOP, Op.COPY_IN, Op.COPY_OUT),
        "append": op == Op.OFFLOAD and bool(rng.random() < 0.3),
        "cookie": int(rng.integers(1 << 63)),
    }
    points = [0, end, bounds.device.base, bounds.device.limit, bounds.host.base]
    points += [bounds.host.limit, (1 << 64) - 64, end >> 1, end << 1 if end < 1 << 63 else 0]
    wild = {
        "op": lambda: int(rng.integers(16)),
        "rows": lambda: int(rng.choice([0, 1, 2, (1 << 32) - 1, int(rng.integers(1 << 32))])),
        "row_bytes": lambda: _around(rng, [*points, stripe << 32, (stripe << 32) - stripe]),
        "pitch": lambda: int(
            rng.choice([-(1 << 63), farthest, min(end >> 1, farthest), -stripe, 12])
        ),
        "device": lambda: _around(rng, [each & ~(stripe - 1) for each in points]),
        "host": lambda: _around(rng, points),
        "index": lambda: _around(rng, points),
        "limit": lambda: _around(rng, points),
        "word_bytes": lambda: int(rng.choice([1, 2, 4, 8])),
        "raw": lambda: int(rng.integers(4)),
        "with_index": lambda: bool(rng.integers(2)),
        "crc": lambda: bool(rng.integers(2)),
        "append": lambda: bool(rng.integers(2)),
        "codec": lambda: int(rng.integers(256)),
        "reserved": lambda: 1 << int(rng.integers(10)),
    }
    if is_wild:
        for name in rng.choice(list(wild), int(rng.integers(1, 3)), replace=False):
            fields[name] = min(wild[name](), (1 << 64) - 1)
    return Descriptor(**fields)


@pytest.fixture(scope="session")
def descriptor_of():
    """Function that draws a descriptor: ``rng, config, bounds, is_wild``."""
    return _descriptor


@pytest.fixture(scope="session")
def bounds_of():
    """Function that gives windows around the middle of the address space."""

    def bounds(config, rng: np.random.Generator) -> Bounds:
        middle, stripe = 1 << (config.address_bits - 1), config.stripe_bytes
        device = Window(middle, middle + stripe * int(rng.integers(1, 80)))
        host = Window(middle // 2, middle // 2 + 64 * int(rng.integers(1, 2000)))
        pointer = host.base + 64 * int(rng.integers(0, 64))
        return Bounds(device, host, pointer + 64 * int(rng.integers(-2, 300)), pointer)

    return bounds
